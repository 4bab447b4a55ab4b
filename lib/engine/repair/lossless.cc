#include "lib/engine/repair/lossless.h"

#include <algorithm>

#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/base/utf8.h"
#include "lib/engine/repair/origin.h"

namespace rail::engine {
namespace {

Result<std::unique_ptr<netlink::Dcb>> Open(const Openers& openers) {
  if (!openers.dcb) return Fail(Code::kUnsupported, "priorities are not read here");
  return openers.dcb();
}

}  // namespace

qos::Seen LookAtQos(const Openers& openers, const config::Rail& rail) {
  auto dcb = Open(openers);
  if (dcb) return openers.look_at_qos(rail.pf, **dcb);
  qos::Seen seen;
  seen.dcb = tl::make_unexpected(dcb.error());
  for (uint8_t priority = 0; priority < netlink::kPriorities; ++priority) seen.ecn[priority] = {};
  return seen;
}

Status GiveQosBack(const Openers& openers, const std::map<std::string, qos::Before>& before,
                   std::vector<std::string>& done, const std::function<Status(const std::string&)>& forget) {
  Status result;
  for (const auto& [uplink, had] : before) {
    const auto give_back = [&, &uplink = uplink, &had = had]() -> Status {
      RAIL_ASSIGN(const auto dcb, Open(openers));
      const auto now = dcb->Get(uplink);
      // Its device is gone, and its settings with it.
      if (!now && now.error().code == Code::kNotFound) return forget(uplink);
      if (!now) return tl::make_unexpected(now.error());
      RAIL_ASSIGN(const std::vector<std::string> changed, qos::Apply(qos::PlanBack(had, *now), uplink, *dcb));
      if (!changed.empty()) done.push_back("uplink " + uplink + ", as it was: " + Join(changed, ", "));
      return forget(uplink);
    };
    if (const Status given = give_back(); !given && result) result = given;
  }
  return result;
}

bool LosslessRepair::Look() {
  node_status_.Note(Part::kQosGivenBack, GiveBack());
  bool changed = false;
  for (const config::Rail& rail : config_.rails) {
    if (!rail.lossless) continue;
    if (rail.lossless->manage_qos) node_status_.Note({Part::kQos, rail.name}, Manage(rail));
    const qos::Seen seen = LookAtQos(deps_.openers(config_), rail);
    const std::vector<qos::Difference> differences = qos::Compare(*rail.lossless, rail.pf, seen);
    const auto show = [&](v1::Rail& shown) {
      shown.set_lossless_known(true);
      shown.set_lossless_ok(differences.empty());
      shown.clear_lossless_problems();
      for (const qos::Difference& each : differences) shown.add_lossless_problems(ValidUtf8(each.what));
    };
    changed = node_status_.ChangeRail(rail.name, show) || changed;
  }
  return changed;
}

// Of rails that are not managed any more, or whose uplink is another now.
Status LosslessRepair::GiveBack() {
  if (!deps_.origin) return {};
  RAIL_ASSIGN(OriginRecord record, deps_.origin->Read());
  auto& before = record.qos;
  std::erase_if(before, [&](const auto& each) {
    return std::ranges::any_of(config_.rails, [&](const config::Rail& rail) {
      return rail.pf == each.first && rail.lossless && rail.lossless->manage_qos;
    });
  });
  if (before.empty()) return {};
  std::vector<std::string> done;
  const Status given = GiveQosBack(deps_.openers(config_), before, done, [&](const std::string& uplink) {
    return deps_.origin->ForgetQos(uplink);
  });
  for (const std::string& each : done) log::Info("{}", each);
  return given;
}

Status LosslessRepair::Manage(const config::Rail& rail) {
  RAIL_ASSIGN(const auto dcb, Open(deps_.openers(config_)));
  RAIL_ASSIGN(const netlink::DcbState now, dcb->Get(rail.pf));
  const qos::Plan plan = qos::PlanFor(*rail.lossless, now);
  if (plan.empty()) return {};
  if (deps_.origin) RAIL_TRY(deps_.origin->Qos(rail.pf, qos::BeforeOf(plan, now)));
  RAIL_ASSIGN(const std::vector<std::string> done, qos::Apply(plan, rail.pf, *dcb));
  log::Info("rail {}: {}: {}", rail.name, rail.pf, Join(done, ", "));
  if (node_status_.WasRight({Part::kQos, rail.name})) node_status_.Repaired("QoS", done.size());
  return {};
}

}  // namespace rail::engine
