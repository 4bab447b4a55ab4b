#include "lib/inspect/sample.h"

#include <algorithm>

#include "lib/pipeline/pipeline.h"

namespace rail::inspect {
namespace {

using RailAndTenant = std::pair<std::string, std::string>;

Status DropsOf(const config::Rail& rail, const engine::NodeView& view, engine::Edges& edges,
               std::vector<DropRule>& drops) {
  RAIL_ASSIGN(ovs::OpenFlow * bridge, edges.OpenFlow(rail.bridge));
  RAIL_ASSIGN(const auto misses,
              bridge->Dump(ovs::CookieMatch::Kind(ovs::CookieKind::kPipeline), edges.CallDeadline()));
  for (const ovs::RuleStats& miss : misses) {
    if (miss.rule.actions == "drop") drops.push_back({rail.name, miss.rule.table, 0, "", miss.packets});
  }
  std::map<uint64_t, const state::Attachment*> owners;
  for (const engine::AttachmentView& shown : view.attachments) {
    if (shown.attachment.rail != rail.name) continue;
    owners[ovs::Cookie(ovs::CookieKind::kAttachment, static_cast<uint64_t>(shown.attachment.id))] =
        &shown.attachment;
  }
  if (owners.empty()) return {};
  RAIL_ASSIGN(const auto rules,
              bridge->Dump(ovs::CookieMatch::Kind(ovs::CookieKind::kAttachment), edges.CallDeadline()));
  for (const ovs::RuleStats& of_a_pod : rules) {
    const auto owner = owners.find(of_a_pod.rule.cookie);  // a younger one than the view: next time
    if (of_a_pod.rule.actions != "drop" || owner == owners.end()) continue;
    drops.push_back(
        {rail.name, of_a_pod.rule.table, owner->second->id, owner->second->tenant, of_a_pod.packets});
  }
  return {};
}

void Count(TenantFlows& flows, const Megaflow& flow, bool from_pod) {
  if (flow.actions == "drop") {
    flows.dropping += from_pod ? 1 : 0;
    return;
  }
  switch (flow.place) {
    case Place::kHardware:
      ++flows.in_hardware;
      return;
    case Place::kTc:
      ++flows.in_tc;
      return;
    case Place::kSoftware:
      ++flows.in_software;
      return;
  }
}

}  // namespace

SwitchSample TakeSample(const engine::NodeView& view, const config::NodeConfig& config, engine::Edges& edges,
                        const AskVswitchd& ask) {
  SwitchSample sample;
  for (const config::Rail& rail : config.rails) {
    if (const Status told = DropsOf(rail, view, edges, sample.drops); !told) {
      sample.rules_problem = told.error().message;
      break;
    }
  }
  std::map<std::string, RailAndTenant> ports;
  for (const engine::AttachmentView& shown : view.attachments) {
    const state::Attachment& a = shown.attachment;
    if (a.representor.empty()) continue;
    ports[a.representor] = {a.rail, a.tenant};
    sample.flows[{a.rail, a.tenant}];
  }
  const auto megaflows = ReadMegaflows(config, ask, edges.CallDeadline());
  if (!megaflows) {
    sample.datapath_problem = megaflows.error().message;
    return sample;
  }
  for (const Megaflow& flow : *megaflows) {
    if (const auto from = ports.find(flow.in_port); from != ports.end()) {
      Count(sample.flows[from->second], flow, true);
      continue;
    }
    const auto to =
        std::ranges::find_if(flow.outputs, [&](const std::string& port) { return ports.contains(port); });
    if (to != flow.outputs.end()) Count(sample.flows[ports[*to]], flow, false);
  }
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
