#include "lib/inspect/flows.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "lib/base/utf8.h"
#include "lib/engine/attach/attachment.h"
#include "lib/engine/attach/pipeline.h"
#include "lib/inspect/messages.h"

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

// The megaflows of an attachment.
struct Megaflows {
  struct Kept {
    v1::Megaflow::Direction direction;
    Megaflow flow;
    uint64_t packets() const { return flow.packets; }
  };
  std::vector<Kept> kept;  // those with the most packets, as a heap with the least on top
  uint32_t total = 0;

  void Keep(v1::Megaflow::Direction direction, const Megaflow& flow) {
    ++total;
    if (kept.size() == kMostMegaflows) {
      if (flow.packets <= kept.front().packets()) return;
      std::ranges::pop_heap(kept, std::ranges::greater(), &Kept::packets);
      kept.pop_back();
    }
    kept.push_back({direction, flow});
    std::ranges::push_heap(kept, std::ranges::greater(), &Kept::packets);
  }

  void Write(const Datapath& datapath, v1::AttachmentFlows& message) {
    message.set_megaflows_total(total);
    std::ranges::sort(kept, std::ranges::greater(), &Kept::packets);
    for (const auto& [direction, flow] : kept) {
      v1::Megaflow& megaflow = *message.add_megaflows();
      megaflow.set_direction(direction);
      megaflow.set_match(ValidUtf8(flow.match));
      megaflow.set_actions(ValidUtf8(flow.actions));
      megaflow.set_packets(flow.packets);
      megaflow.set_bytes(flow.bytes);
      megaflow.set_used(ValidUtf8(flow.used));
      megaflow.set_place(flow.place);
      megaflow.set_why_not(ValidUtf8(WhyNotInHardware(flow, datapath)));
    }
  }
};

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

Result<v1::ListFlowsResponse> ReadFlows(const std::vector<const AttachmentView*>& attachments,
                                        const config::NodeConfig& config, engine::Connections& connections) {
  v1::ListFlowsResponse response;
  std::vector<Megaflows> megaflows(attachments.size());
  std::map<std::string, Megaflows*> by_port;
  for (size_t i = 0; i < attachments.size(); ++i) {
    const state::Attachment& attachment = attachments[i]->attachment;
    v1::AttachmentFlows& message = *response.add_attachments();
    *message.mutable_attachment() = ToMessage(*attachments[i]);
    RAIL_ASSIGN(const std::vector<ovs::RuleStats> rules, RulesOf(attachment, config, connections));
    for (const ovs::RuleStats& stats : rules) {
      v1::RuleStats& rule = *message.add_rules();
      rule = ToMessage(stats.rule);
      rule.set_packets(stats.packets);
      rule.set_bytes(stats.bytes);
    }
    if (!attachment.representor.empty()) by_port[attachment.representor] = &megaflows[i];
  }
  Masks in_hardware;
  const Status read = EachMegaflow(config, connections, connections.CallDeadline(), [&](Megaflow&& flow) {
    if (flow.place == v1::Megaflow::HARDWARE) in_hardware.Add(flow);
    if (const auto from = by_port.find(flow.in_port); from != by_port.end())
      from->second->Keep(v1::Megaflow::FROM_POD, flow);
    for (const std::string& output : flow.outputs) {
      if (output == flow.in_port) continue;
      if (const auto to = by_port.find(output); to != by_port.end())
        to->second->Keep(v1::Megaflow::TO_POD, flow);
    }
  });
  if (!read) {
    response.set_datapath_problem(ValidUtf8(read.error().message));
    return response;
  }
  response.set_masks_in_hardware(static_cast<uint32_t>(in_hardware.Count()));
  response.set_most_masks(kMostMasks);
  Datapath datapath{.kernel = config.ovs.datapath == "system"};
  if (const auto db = connections.Ovsdb()) {
    const auto told = (*db)->OtherConfig(connections.CallDeadline());
    datapath.hw_offload = told && told->contains("hw-offload") && told->at("hw-offload") == "true";
  }
  for (size_t i = 0; i < attachments.size(); ++i)
    megaflows[i].Write(datapath, *response.mutable_attachments(static_cast<int>(i)));
  return response;
}

}  // namespace rail::inspect
