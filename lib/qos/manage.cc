#include "lib/qos/manage.h"

#include <fmt/core.h>

#include <algorithm>

#include "lib/qos/compare.h"

namespace rail::qos {
namespace {

using netlink::DcbApp;
using netlink::DcbState;

DcbApp EntryOf(uint16_t dscp, uint8_t priority) {
  return {.selector = DcbApp::kDscp, .priority = priority, .protocol = dscp};
}

std::vector<uint8_t> PrioritiesOf(const DcbState& now, uint16_t dscp) {
  std::vector<uint8_t> priorities;
  for (const DcbApp& app : now.apps)
    if (app.selector == DcbApp::kDscp && app.protocol == dscp) priorities.push_back(app.priority);
  return priorities;
}

// The steps that give `dscp` these priorities and no others.
void Make(Plan& plan, uint16_t dscp, const std::vector<uint8_t>& wanted, const DcbState& now) {
  const std::vector<uint8_t> has = PrioritiesOf(now, dscp);
  for (const uint8_t priority : wanted)
    if (std::ranges::find(has, priority) == has.end()) plan.add.push_back(EntryOf(dscp, priority));
  for (const uint8_t priority : has)
    if (std::ranges::find(wanted, priority) == wanted.end()) plan.remove.push_back(EntryOf(dscp, priority));
}

}  // namespace

void Merge(Before& known, const Before& more) {
  if (!known.pfc) known.pfc = more.pfc;
  known.dscp.insert(more.dscp.begin(), more.dscp.end());
}

Plan PlanFor(const config::Lossless& wanted, const DcbState& now) {
  Plan plan;
  if (wanted.pfc && (!now.pfc || now.pfc->enabled != MaskOf(*wanted.pfc))) plan.pfc = MaskOf(*wanted.pfc);
  for (const auto& [dscp, priority] : wanted.dscp_to_priority) Make(plan, dscp, {priority}, now);
  if (wanted.trust != config::Trust::kPcp) return plan;
  std::ranges::copy_if(now.apps, std::back_inserter(plan.remove),
                       [](const DcbApp& app) { return app.selector == DcbApp::kDscp; });
  return plan;
}

Plan PlanBack(const Before& before, const DcbState& now) {
  Plan plan;
  if (before.pfc && (!now.pfc || now.pfc->enabled != *before.pfc)) plan.pfc = before.pfc;
  for (const auto& [dscp, priorities] : before.dscp) Make(plan, dscp, priorities, now);
  return plan;
}

Before BeforeOf(const Plan& plan, const DcbState& now) {
  Before before;
  if (plan.pfc && now.pfc) before.pfc = now.pfc->enabled;
  for (const auto* steps : {&plan.add, &plan.remove})
    for (const DcbApp& app : *steps) before.dscp[app.protocol] = PrioritiesOf(now, app.protocol);
  return before;
}

Result<std::vector<std::string>> Apply(const Plan& plan, const std::string& uplink, netlink::Dcb& dcb) {
  std::vector<std::string> done;
  if (plan.pfc) {
    RAIL_TRY(dcb.SetPfc(uplink, *plan.pfc));
    done.push_back("PFC for priority " + Priorities(*plan.pfc));
  }
  for (const DcbApp& app : plan.add) {
    RAIL_TRY(dcb.AddApp(uplink, app));
    done.push_back(fmt::format("DSCP {} to priority {}", app.protocol, app.priority));
  }
  for (const DcbApp& app : plan.remove) {
    RAIL_TRY(dcb.DeleteApp(uplink, app));
    done.push_back(fmt::format("DSCP {} no more to priority {}", app.protocol, app.priority));
  }
  return done;
}

}  // namespace rail::qos
