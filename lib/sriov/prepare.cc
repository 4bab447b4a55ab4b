#include "lib/sriov/prepare.h"

#include <net/if.h>

#include <charconv>

#include "lib/base/text.h"

namespace rail::sriov {
namespace {

using netlink::EswitchMode;

constexpr char kSteering[] = "flow_steering_mode";
constexpr std::string_view kUpper = "upper_";

// "0x1003", as sysfs shows a link's flags.
bool IsUp(std::string_view flags) {
  constexpr std::string_view kHex = "0x";
  if (!flags.starts_with(kHex)) return false;
  flags.remove_prefix(kHex.size());
  unsigned value = 0;
  std::from_chars(flags.data(), flags.data() + flags.size(), value, 16);
  return (value & IFF_UP) != 0;
}

std::string Arrow(const std::string& what, const std::string& from, const std::string& to) {
  return what + " " + from + " -> " + to;
}

// Whether the error means that the device or its driver does not have the thing.
bool IsNo(const Error& error) {
  return error.code == Code::kUnsupported || error.code == Code::kNotFound;
}

bool SteeringDiffers(const std::string& wanted, const std::string& now) {
  return !wanted.empty() && !now.empty() && wanted != now;
}

}  // namespace

Result<std::vector<std::string>> Preparer::Ensure(const Preparation& wanted, const Claimed& ask) {
  const std::string doing = "prepare " + wanted.pf;
  RAIL_ASSIGN_AS(const std::vector<Pf> pfs, lookup_.FindPfs(wanted.pf), doing);
  std::vector<Wrong> all;
  for (const Pf& pf : pfs) {
    RAIL_ASSIGN_AS(std::optional<Wrong> wrong, Compare(pf, wanted), doing);
    if (wrong) all.push_back(std::move(*wrong));
  }
  if (all.empty()) return std::vector<std::string>();
  RAIL_ASSIGN_AS(const std::set<std::string> claimed, ask(), doing);
  for (Wrong& wrong : all) {
    std::erase_if(wrong.unfinished, [&](const std::string& vf) { return claimed.contains(vf); });
    if (!wrong.differs.empty()) RAIL_TRY_AS(CanChange(wrong, wanted, claimed), doing);
  }
  std::vector<std::string> done;
  for (const Wrong& wrong : all) {
    Status changed = wrong.differs.empty() ? Finish(*wrong.pf, wrong.unfinished, done)
                                           : Change(*wrong.pf, wanted, wrong.now, done);
    if (!changed)
      return FailWrapped(changed.error(), doing + (done.empty() ? "" : " (done: " + Join(done, ", ") + ")"));
  }
  return done;
}

Result<std::optional<Preparer::Wrong>> Preparer::Compare(const Pf& pf, const Preparation& wanted) {
  RAIL_ASSIGN(NicState now, LookAt(pf));
  std::vector<std::string> differs;
  if (now.vfs != wanted.vfs) {
    differs.push_back(Arrow("sriov_numvfs", std::to_string(now.vfs), std::to_string(wanted.vfs)));
  }
  if (now.mode != EswitchMode::kSwitchdev) {
    differs.push_back(Arrow("eSwitch", now.mode ? "legacy" : "none", "switchdev"));
  }
  // A driver that chooses by itself, or has no choice, is right as it is. In switchdev mode the choice has been made already.
  if (SteeringDiffers(wanted.steering, now.steering)) {
    differs.push_back(Arrow(kSteering, now.steering, wanted.steering));
  }
  // A raild that died after it had made VFs has left them unfinished; so do others who make VFs.
  std::vector<std::string> unfinished;
  for (const std::string& vf : differs.empty() ? lookup_.VfsOf(pf) : std::vector<std::string>()) {
    if (!UseOf(vf).empty()) continue;
    RAIL_ASSIGN(const bool is, finisher_.IsUnfinished(vf));
    if (is) unfinished.push_back(vf);
  }
  if (differs.empty() && unfinished.empty()) return std::optional<Wrong>();
  return std::optional(Wrong{&pf, std::move(now), Join(differs, ", "), std::move(unfinished)});
}

Status Preparer::CanChange(const Wrong& wrong, const Preparation& wanted,
                           const std::set<std::string>& claimed) const {
  const std::vector<std::string> used = InUse(*wrong.pf, claimed);
  if (!used.empty()) {
    return Fail(Code::kBusy,
                wrong.differs + " cannot be changed while its VFs are in use: " + Join(used, ", "));
  }
  const auto total = sysfs_.ReadNumber(wrong.pf->path + "/sriov_totalvfs");
  if (total && *total < wanted.vfs) {
    return Fail(Code::kUnsupported, "the NIC has " + std::to_string(*total) + " VFs at most, not " +
                                        std::to_string(wanted.vfs) + " (firmware: mlxconfig NUM_OF_VFS)");
  }
  if (!wrong.now.mode) return Fail(Code::kUnsupported, "its driver has no switchdev mode");
  return {};
}

Result<std::vector<NicState>> Preparer::Look(const std::string& pf) {
  std::vector<NicState> found;
  const auto pfs = lookup_.FindPfs(pf);
  if (!pfs) return found;  // a link without a device
  for (const Pf& each : *pfs) {
    if (!sysfs_.Exists(each.path + "/sriov_numvfs")) continue;
    RAIL_ASSIGN_AS(NicState now, LookAt(each), "look at " + each.address);
    found.push_back(std::move(now));
  }
  return found;
}

Result<NicState> Preparer::LookAt(const Pf& pf) {
  NicState now;
  now.address = pf.address;
  const auto vfs = sysfs_.ReadNumber(pf.path + "/sriov_numvfs");
  if (!vfs) return Fail(Code::kUnsupported, pf.address + " is no SR-IOV device: it has no sriov_numvfs");
  now.vfs = *vfs;
  now.autoprobe = sysfs_.Read(pf.path + "/sriov_drivers_autoprobe").value_or("");
  if (!devlink_) {
    auto devlink = open_devlink_();
    if (!devlink && !IsNo(devlink.error())) return tl::make_unexpected(devlink.error());
    if (!devlink) return now;
    devlink_ = std::move(*devlink);
  }
  const auto mode = devlink_->GetEswitchMode(pf.handle);
  if (!mode && !IsNo(mode.error())) return tl::make_unexpected(mode.error());
  if (mode) now.mode = *mode;
  const auto steering = devlink_->GetParam(pf.handle, kSteering);
  if (!steering && !IsNo(steering.error())) return tl::make_unexpected(steering.error());
  if (steering) now.steering = *steering;
  return now;
}

Status Preparer::Finish(const Pf& pf, const std::vector<std::string>& vfs, std::vector<std::string>& done) {
  RAIL_TRY(finisher_.Finish(pf, vfs));
  if (!vfs.empty()) done.push_back("MAC address and driver of " + std::to_string(vfs.size()) + " VFs");
  return {};
}

// The steering mode can be chosen only in legacy mode, and the kernel sets a number of VFs only when there are none. So this
// removes all VFs, sets up the switch, and then makes the VFs.
Status Preparer::Change(const Pf& pf, const Preparation& wanted, const NicState& now,
                        std::vector<std::string>& done) {
  const std::string numvfs = pf.path + "/sriov_numvfs";
  const bool steer = SteeringDiffers(wanted.steering, now.steering);
  const bool switchdev = now.mode == EswitchMode::kSwitchdev;
  uint32_t vfs = now.vfs;
  const auto set_vfs = [&](uint32_t number) -> Status {
    if (vfs == number) return {};
    RAIL_TRY(sysfs_.Write(numvfs, std::to_string(number)));
    done.push_back(Arrow("sriov_numvfs", std::to_string(vfs), std::to_string(number)));
    vfs = number;
    return {};
  };
  RAIL_TRY(set_vfs(0));
  if (steer && switchdev) {
    RAIL_TRY(devlink_->SetEswitchMode(pf.handle, EswitchMode::kLegacy));
    done.push_back(Arrow("eSwitch", "switchdev", "legacy"));
  }
  if (steer) {
    RAIL_TRY(devlink_->SetParam(pf.handle, kSteering, wanted.steering));
    done.push_back(Arrow(kSteering, now.steering, wanted.steering));
  }
  if (steer || !switchdev) {
    RAIL_TRY(devlink_->SetEswitchMode(pf.handle, EswitchMode::kSwitchdev));
    done.push_back(Arrow("eSwitch", "legacy", "switchdev"));
  }
  // A VF that its driver finds without a MAC address gets a random one, and on mlx5 a node GUID of zero.
  RAIL_TRY(finisher_.HoldDrivers(pf));
  const Status made = set_vfs(wanted.vfs);
  const Status finished = Finish(pf, lookup_.VfsOf(pf), done);
  return made ? finished : made;
}

std::vector<std::string> Preparer::InUse(const Pf& pf, const std::set<std::string>& claimed) const {
  std::vector<std::string> used;
  for (const std::string& address : lookup_.VfsOf(pf)) {
    const std::string use = claimed.contains(address) ? " belongs to a pod" : UseOf(address);
    if (!use.empty()) used.push_back(address + use);
  }
  return used;
}

// How the VF is used; "" it is free. It is free without a driver, or if its interface is on the host, is down and has no link above
// it.
std::string Preparer::UseOf(const std::string& address) const {
  const std::string driver = lookup_.DriverOf(address);
  if (IsUserspaceDriver(driver)) return " is bound to " + driver;
  const std::string netdev = lookup_.NetdevOf(address);
  if (netdev.empty()) return driver.empty() ? "" : " has its interface in another namespace";
  const std::string path = "class/net/" + netdev;
  const std::string called = " (" + netdev + ") ";
  if (sysfs_.Exists(path + "/master")) {
    return called + "is a port of " + sysfs_.Target(path + "/master").value_or("another link");
  }
  // VLANs, macvlans, ipvlans.
  for (const std::string& entry : sysfs_.List(path)) {
    if (entry.starts_with(kUpper)) return called + "has " + entry.substr(kUpper.size()) + " above it";
  }
  if (IsUp(sysfs_.Read(path + "/flags").value_or(""))) return called + "is up on the host";
  return "";
}

}  // namespace rail::sriov
