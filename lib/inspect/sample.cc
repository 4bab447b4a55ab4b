#include "lib/inspect/sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lib/engine/attach/pipeline.h"

namespace rail::inspect {
namespace {

using RailAndTenant = std::pair<std::string, std::string>;

Status DropsOf(const config::Rail& rail, const engine::NodeView& view, engine::Connections& connections,
               std::vector<DropRule>& drops) {
  RAIL_ASSIGN(guard::Guard * guard, connections.Guard());
  RAIL_ASSIGN(ovs::OpenFlow * bridge, connections.OpenFlow(rail.bridge));
  RAIL_ASSIGN(const auto misses, bridge->Dump(ovs::CookieMatch::Exact(ovs::CookieKind::kPipeline, 0),
                                              connections.CallDeadline()));
  std::map<uint8_t, uint64_t> by_table;  // some have several rules that drop
  for (const ovs::RuleStats& miss : misses) {
    if (const auto table = pipeline::DropsOf(miss.rule)) by_table[*table] += miss.packets;
  }
  for (const auto& [table, packets] : by_table) drops.push_back({rail.name, table, 0, "", packets});
  for (const engine::AttachmentView& shown : view.attachments) {
    const state::Attachment& pod = shown.attachment;
    if (pod.rail != rail.name) continue;
    const auto its_cookie =
        ovs::CookieMatch::Exact(ovs::CookieKind::kAttachment, static_cast<uint64_t>(pod.id));
    RAIL_ASSIGN(const auto rules, bridge->Dump(its_cookie, connections.CallDeadline()));
    const auto refused = guard->Count(pod.representor);
    if (!refused && refused.error().code != Code::kNotFound) return tl::make_unexpected(refused.error());
    for (uint8_t reason = 0; refused && reason < guard::kReasons; ++reason) {
      const uint64_t frames = refused->frames.at(reason);
      if (frames > 0)
        drops.push_back({rail.name, static_cast<uint8_t>(kOfGuard + reason), pod.id, pod.tenant, frames});
    }
    for (const ovs::RuleStats& its : rules) {
      if (its.rule.actions == "drop")
        drops.push_back({rail.name, its.rule.table, pod.id, pod.tenant, its.packets});
    }
  }
  return {};
}

void Count(TenantFlows& flows, const Megaflow& flow, bool from_pod) {
  if (flow.actions == "drop") {
    flows.dropping += from_pod ? 1 : 0;
    return;
  }
  const bool in_hardware = flow.place == v1::Megaflow::HARDWARE;
  ++(in_hardware ? flows.in_hardware : flow.place == v1::Megaflow::TC ? flows.in_tc : flows.in_software);
}

}  // namespace

SwitchSample TakeSample(const engine::NodeView& view, const config::NodeConfig& config,
                        engine::Connections& connections, Clock::duration flows_time) {
  SwitchSample sample;
  for (const config::Rail& rail : config.rails) {
    if (const Status told = DropsOf(rail, view, connections, sample.drops); !told) {
      sample.rules_problem = told.error().message;
      break;
    }
  }
  auto counted = CountMegaflows(config, connections, connections.CallDeadline());
  if (!counted) {
    sample.datapath_problem = sample.flows_problem = counted.error().message;
    return sample;
  }
  sample.datapath = std::move(*counted);
  if (sample.datapath.flows > kMostFlowsRead) {
    sample.flows_problem = fmt::format("{} datapath flows are not read one by one, only up to {} are",
                                       sample.datapath.flows, kMostFlowsRead);
    return sample;
  }
  std::map<std::string, RailAndTenant> ports;
  for (const engine::AttachmentView& shown : view.attachments) {
    const state::Attachment& a = shown.attachment;
    if (a.representor.empty()) continue;
    ports[a.representor] = {a.rail, a.tenant};
    sample.flows[{a.rail, a.tenant}];
  }
  Masks masks;
  const Status read = EachMegaflow(config, connections, After(flows_time), [&](const Megaflow& flow) {
    masks.Add(flow);
    if (const auto from = ports.find(flow.in_port); from != ports.end()) {
      Count(sample.flows[from->second], flow, true);
      return;
    }
    const auto to =
        std::ranges::find_if(flow.outputs, [&](const std::string& port) { return ports.contains(port); });
    if (to != flow.outputs.end()) Count(sample.flows[ports[*to]], flow, false);
  });
  if (!read) sample.flows_problem = read.error().message;
  sample.masks = masks.Counts();
  return sample;
}

void DropTotals::Add(const SwitchSample& sample) {
  if (!sample.rules_problem.empty()) return;
  std::map<Key, uint64_t> totals;
  std::map<std::tuple<std::string, uint8_t, int64_t>, uint64_t> now;
  for (const DropRule& rule : sample.drops) {
    const std::tuple rule_is(rule.rail, rule.table, rule.attachment);
    const auto before = last_.find(rule_is);
    uint64_t more = began_ ? rule.packets : 0;
    if (before != last_.end() && rule.packets >= before->second) more = rule.packets - before->second;
    now[rule_is] = rule.packets;
    const Key key{rule.rail, rule.table, rule.tenant};
    const auto [total, is_new] = totals.try_emplace(key, 0);
    if (is_new) {
      const auto known = totals_.find(key);
      if (known != totals_.end()) total->second = known->second;
    }
    total->second += more;
  }
  totals_ = std::move(totals);
  last_ = std::move(now);
  began_ = true;
}

}  // namespace rail::inspect
