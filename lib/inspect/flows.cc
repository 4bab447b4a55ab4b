#include "lib/inspect/flows.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "lib/engine/attach/attachment.h"
#include "lib/pipeline/pipeline.h"

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
    std::ranges::copy_if(dumped, std::back_inserter(rules), [](const ovs::RuleStats& stats) {
      return !pipeline::RefusesForgedMac(stats.rule);  // table 6 counts what these refuse
    });
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

uint64_t PacketsOf(const AttachmentMegaflow& each) {
  return each.flow.packets;
}

// Keeps those with the most packets, as a heap with the least on top.
void Keep(AttachmentFlows& of, AttachmentMegaflow::Direction direction, const Megaflow& flow) {
  ++of.megaflows_total;
  std::vector<AttachmentMegaflow>& kept = of.megaflows;
  if (kept.size() == kMostMegaflows) {
    if (flow.packets <= kept.front().flow.packets) return;
    std::ranges::pop_heap(kept, std::ranges::greater(), PacketsOf);
    kept.pop_back();
  }
  kept.push_back({direction, flow, ""});
  std::ranges::push_heap(kept, std::ranges::greater(), PacketsOf);
}

}  // namespace

Result<ovs::DatapathCounts> CountMegaflows(const config::NodeConfig& config, engine::Connections& connections,
                                           Deadline deadline) {
  RAIL_ASSIGN(const std::string text, connections.AskVswitchd("upcall/show", {}, deadline));
  const std::string name = DatapathName(config);
  for (ovs::DatapathCounts& counts : ovs::ParseUpcallShow(text)) {
    if (counts.name == name) return std::move(counts);
  }
  return Fail(Code::kInvalid, "ovs-vswitchd has no datapath " + name + ": it has no bridge of that type");
}

Status EachMegaflow(const config::NodeConfig& config, engine::Connections& connections, Deadline deadline,
                    const std::function<void(Megaflow&&)>& each) {
  RAIL_ASSIGN(const std::string text,
              connections.AskVswitchd("dpctl/dump-flows", {"-m", "--names", DatapathName(config)}, deadline));
  ForEachMegaflow(text, each);
  return {};
}

Result<std::vector<Megaflow>> ReadMegaflows(const config::NodeConfig& config,
                                            engine::Connections& connections, Deadline deadline) {
  std::vector<Megaflow> flows;
  RAIL_TRY(EachMegaflow(config, connections, deadline,
                        [&](Megaflow&& flow) { flows.push_back(std::move(flow)); }));
  return flows;
}

Result<Flows> ReadFlows(const std::vector<const AttachmentView*>& attachments,
                        const config::NodeConfig& config, engine::Connections& connections) {
  Flows flows;
  for (const AttachmentView* shown : attachments) {
    AttachmentFlows& of = flows.attachments.emplace_back(AttachmentFlows{.shown = *shown});
    RAIL_ASSIGN(of.rules, RulesOf(shown->attachment, config, connections));
  }
  std::map<std::string, AttachmentFlows*> by_port;
  for (AttachmentFlows& of : flows.attachments) {
    if (const std::string& port = of.shown.attachment.representor; !port.empty()) by_port[port] = &of;
  }
  using Direction = AttachmentMegaflow::Direction;
  const Status read = EachMegaflow(config, connections, connections.CallDeadline(), [&](Megaflow&& flow) {
    if (const auto from = by_port.find(flow.in_port); from != by_port.end())
      Keep(*from->second, Direction::kFromPod, flow);
    for (const std::string& output : flow.outputs) {
      if (output == flow.in_port) continue;
      if (const auto to = by_port.find(output); to != by_port.end())
        Keep(*to->second, Direction::kToPod, flow);
    }
  });
  if (!read) {
    flows.datapath_problem = read.error().message;
    return flows;
  }
  Datapath datapath{.kernel = config.ovs.datapath == "system"};
  if (const auto db = connections.Ovsdb()) {
    const auto told = (*db)->OtherConfig(connections.CallDeadline());
    datapath.hw_offload = told && told->contains("hw-offload") && told->at("hw-offload") == "true";
  }
  for (AttachmentFlows& of : flows.attachments) {
    std::ranges::sort(of.megaflows, std::ranges::greater(), PacketsOf);
    for (AttachmentMegaflow& each : of.megaflows) each.why_not = WhyNotInHardware(each.flow, datapath);
  }
  return flows;
}

}  // namespace rail::inspect
