#include <algorithm>

#include "lib/sriov/prepare.h"

#include "lib/base/text.h"

namespace rail::sriov {
namespace {

using netlink::EswitchMode;

constexpr char kSteering[] = "flow_steering_mode";

std::string Name(EswitchMode mode) {
  return mode == EswitchMode::kSwitchdev ? "switchdev" : "legacy";
}

}  // namespace

Result<std::vector<std::string>> Preparer::GiveBack(const std::string& pf,
                                                    const std::vector<NicState>& before, const Claimed& ask) {
  const std::string doing = "give " + pf + " back";
  RAIL_ASSIGN_AS(const std::vector<Pf> pfs, lookup_.FindPfs(pf), doing);
  std::vector<std::string> done;
  for (const Pf& each : pfs) {
    const auto was = std::ranges::find(before, each.address, &NicState::address);
    if (was == before.end()) continue;
    RAIL_ASSIGN_AS(const NicState now, LookAt(each), doing);
    if (now == *was) continue;
    RAIL_ASSIGN_AS(const std::set<std::string> claimed, ask(), doing);
    const std::vector<std::string> used = InUse(each, claimed);
    if (!used.empty()) return Fail(Code::kBusy, doing + ": its VFs are in use: " + Join(used, ", "));
    const Status given = GiveBack(each, *was, now, done);
    if (!given)
      return FailWrapped(given.error(), doing + (done.empty() ? "" : " (done: " + Join(done, ", ") + ")"));
  }
  return done;
}

// As in Change: the mode and the steering can be chosen only while there are no VFs.
Status Preparer::GiveBack(const Pf& pf, const NicState& before, const NicState& now,
                          std::vector<std::string>& done) {
  const std::string numvfs = pf.path + "/sriov_numvfs";
  const bool mode = before.mode && now.mode && *before.mode != *now.mode;
  const bool steer = !before.steering.empty() && !now.steering.empty() && before.steering != now.steering;
  const bool anew = mode || steer || before.vfs != now.vfs;
  const auto set_mode = [&](EswitchMode to, EswitchMode from) -> Status {
    if (to == from) return {};
    RAIL_TRY(devlink_->SetEswitchMode(pf.handle, to));
    done.push_back("eSwitch " + Name(from) + " -> " + Name(to));
    return {};
  };
  if (anew && now.vfs != 0) {
    RAIL_TRY(sysfs_.Write(numvfs, "0"));
    done.push_back("sriov_numvfs " + std::to_string(now.vfs) + " -> 0");
  }
  EswitchMode at = now.mode.value_or(EswitchMode::kLegacy);
  if (steer) {
    RAIL_TRY(set_mode(EswitchMode::kLegacy, at));
    at = EswitchMode::kLegacy;
    RAIL_TRY(devlink_->SetParam(pf.handle, kSteering, before.steering));
    done.push_back(std::string(kSteering) + " " + now.steering + " -> " + before.steering);
  }
  if (before.mode && now.mode) RAIL_TRY(set_mode(*before.mode, at));
  if (!before.autoprobe.empty() && before.autoprobe != now.autoprobe) {
    RAIL_TRY(sysfs_.Write(pf.path + "/sriov_drivers_autoprobe", before.autoprobe));
    done.push_back("sriov_drivers_autoprobe " + now.autoprobe + " -> " + before.autoprobe);
  }
  if (anew && before.vfs != 0) {
    RAIL_TRY(sysfs_.Write(numvfs, std::to_string(before.vfs)));
    done.push_back("sriov_numvfs 0 -> " + std::to_string(before.vfs));
  }
  return {};
}

}  // namespace rail::sriov
