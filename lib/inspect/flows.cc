#include "lib/inspect/flows.h"

#include <algorithm>

#include "lib/engine/attachment.h"

namespace rail::inspect {
namespace {

using engine::AttachmentView;

Result<std::vector<ovs::RuleStats>> RulesOf(const state::Attachment& attachment,
                                            const config::NodeConfig& config,
                                            engine::Connections& connections) {
  RAIL_ASSIGN(const config::Rail* rail, engine::RailOf(config, attachment.rail));
  RAIL_ASSIGN(ovs::OpenFlow * bridge, connections.OpenFlow(rail->bridge));
  std::vector<ovs::RuleStats> rules;
  const auto id = static_cast<uint64_t>(attachment.id);
  std::vector<ovs::CookieMatch> whose = {ovs::CookieMatch::Exact(ovs::CookieKind::kAttachment, id),
                                         ovs::CookieMatch::Exact(ovs::CookieKind::kTenant, id)};
  if (!attachment.tenant_id.is_none()) {
    whose.push_back(ovs::CookieMatch::Exact(ovs::CookieKind::kCompare, attachment.tenant_id.low));
  }
  for (const ovs::CookieMatch& which : whose) {
    RAIL_ASSIGN(const auto dumped, bridge->Dump(which, connections.CallDeadline()));
    rules.insert(rules.end(), dumped.begin(), dumped.end());
  }
  std::ranges::sort(rules, {}, [](const ovs::RuleStats& stats) {
    return std::tuple(stats.rule.table, -stats.rule.priority, stats.rule.match);
  });
  return rules;
}

// All bridges of one type share one datapath, which has a fixed name.
std::string DatapathName(const config::NodeConfig& config) {
  return config.ovs.datapath == "netdev" ? "netdev@ovs-netdev" : "system@ovs-system";
}

void AddMegaflows(AttachmentFlows& of, const std::vector<Megaflow>& all, const Datapath& datapath) {
  const std::string& port = of.shown.attachment.representor;
  if (port.empty()) return;
  using Direction = AttachmentMegaflow::Direction;
  for (const Megaflow& flow : all) {
    const bool from = flow.in_port == port;
    if (!from && !flow.outputs.contains(port)) continue;
    of.megaflows.push_back(
        {from ? Direction::kFromPod : Direction::kToPod, flow, WhyNotInHardware(flow, datapath)});
  }
  of.megaflows_total = of.megaflows.size();
  std::ranges::sort(of.megaflows, std::ranges::greater(),
                    [](const AttachmentMegaflow& each) { return each.flow.packets; });
  if (of.megaflows.size() > kMostMegaflows) of.megaflows.resize(kMostMegaflows);
}

}  // namespace

Result<DatapathCounts> CountMegaflows(const config::NodeConfig& config, const AskVswitchd& ask,
                                      Deadline deadline) {
  RAIL_ASSIGN(const std::string text, ask("upcall/show", {}, deadline));
  const std::string name = DatapathName(config);
  for (DatapathCounts& counts : ParseUpcallShow(text)) {
    if (counts.name == name) return std::move(counts);
  }
  return Fail(Code::kInvalid, "ovs-vswitchd has no datapath " + name + ": it has no bridge of that type");
}

Status EachMegaflow(const config::NodeConfig& config, const AskVswitchd& ask, Deadline deadline,
                    const std::function<void(Megaflow&&)>& each) {
  RAIL_ASSIGN(const std::string text,
              ask("dpctl/dump-flows", {"-m", "--names", DatapathName(config)}, deadline));
  ForEachMegaflow(text, each);
  return {};
}

Result<std::vector<Megaflow>> ReadMegaflows(const config::NodeConfig& config, const AskVswitchd& ask,
                                            Deadline deadline) {
  std::vector<Megaflow> flows;
  RAIL_TRY(EachMegaflow(config, ask, deadline, [&](Megaflow&& flow) { flows.push_back(std::move(flow)); }));
  return flows;
}

Result<Flows> ReadFlows(const std::vector<const AttachmentView*>& attachments,
                        const config::NodeConfig& config, engine::Connections& connections,
                        const AskVswitchd& ask) {
  Flows flows;
  for (const AttachmentView* shown : attachments) {
    AttachmentFlows& of = flows.attachments.emplace_back(AttachmentFlows{.shown = *shown});
    RAIL_ASSIGN(of.rules, RulesOf(shown->attachment, config, connections));
  }
  const auto megaflows = ReadMegaflows(config, ask, connections.CallDeadline());
  if (!megaflows) {
    flows.datapath_problem = megaflows.error().message;
    return flows;
  }
  Datapath datapath{.kernel = config.ovs.datapath == "system"};
  if (const auto db = connections.Ovsdb()) {
    const auto told = (*db)->OtherConfig(connections.CallDeadline());
    datapath.hw_offload = told && told->contains("hw-offload") && told->at("hw-offload") == "true";
  }
  for (AttachmentFlows& of : flows.attachments) AddMegaflows(of, *megaflows, datapath);
  return flows;
}

}  // namespace rail::inspect
