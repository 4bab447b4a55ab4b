// Prepares a NIC for a rail: makes a number of VFs behind a switch in hardware, each with a MAC address, a node GUID and its driver.
// Changes nothing while a VF is in use.
//
// Use:      Preparer preparer(Sysfs("/sys"), netlink::KernelDevlink::Open, {.netlink = ..., .vfs = ...});
//           RAIL_ASSIGN(auto done, preparer.Ensure({.pf = "ens1f0np0", .vfs = 8, .steering = "smfs"}, claimed));
//           // {"sriov_numvfs 0 -> 8", "eSwitch legacy -> switchdev", ...}; {}: nothing had to change
// Threads:  one at a time
// Owns:     connections to the kernel, each opened at first use
// Source:   README.md of this folder ("Preparing a NIC"); kernel Documentation/networking/devlink/mlx5.rst
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/sriov/finish.h"
#include "lib/sriov/lookup.h"

namespace rail::sriov {

struct Preparation {
  std::string pf;  // the uplink's netdev
  uint32_t vfs = 0;
  std::string steering;  // devlink parameter flow_steering_mode; "" leave it as it is
};

// The present state of a PF.
struct NicState {
  std::string address;  // of the PF
  uint32_t vfs = 0;
  std::optional<netlink::EswitchMode> mode;  // nullopt: its driver has no eSwitch mode
  std::string steering;                      // "" its driver has no such parameter
  std::string autoprobe;                     // sriov_drivers_autoprobe, "0" or "1"; "" there is no such file
  bool operator==(const NicState&) const = default;
};

class Preparer {
 public:
  // `vf`: for Ensure.
  Preparer(Sysfs sysfs, Lookup::OpenDevlink open_devlink, VfFinisher::Connections vf)
      : sysfs_(std::move(sysfs)),
        lookup_(sysfs_, open_devlink),
        finisher_(sysfs_, lookup_, std::move(vf)),
        open_devlink_(std::move(open_devlink)) {}
  Preparer(const Preparer&) = delete;  // the finisher refers to the lookup
  Preparer& operator=(const Preparer&) = delete;

  // Returns the addresses of the devices that attachments hold. Ensure calls it only when something must change. From then on, no
  // attachment may get another device.
  using Claimed = std::function<Result<std::set<std::string>>()>;

  // Makes the NIC as `wanted` says and returns what it has changed. Changes no PF of a bond if it cannot change one of them.
  // Finishes VFs that are free and were left unfinished (VfFinisher), whoever made them.
  // Errors: kNotFound no such PF; kBusy something differs and VFs are in use (the message says what differs, and which VFs are
  //         used how); kUnsupported the NIC cannot have so many VFs, or has no switchdev mode; of `claimed`; of sysfs and devlink
  //         (the message says what was done before).
  Result<std::vector<std::string>> Ensure(const Preparation& wanted, const Claimed& claimed);

  // Makes the PFs behind a link again as `before` (from Look) says; one that is not in `before` stays. Returns what it has changed.
  // Errors: kBusy something differs and VFs are in use; of `claimed`; of sysfs and devlink. Safe to repeat.
  Result<std::vector<std::string>> GiveBack(const std::string& pf, const std::vector<NicState>& before,
                                            const Claimed& claimed);

  // The present state of the PFs behind a link (a bond has several), without those that have no SR-IOV. Changes nothing.
  // Errors: of devlink.
  Result<std::vector<NicState>> Look(const std::string& pf);

 private:
  // A PF that is not as wanted: its present state, and everything that differs.
  struct Wrong {
    const Pf* pf = nullptr;
    NicState now;
    std::string differs;                  // "": only `unfinished`
    std::vector<std::string> unfinished;  // addresses of free VFs
  };

  Result<NicState> LookAt(const Pf& pf);
  Result<std::optional<Wrong>> Compare(const Pf& pf, const Preparation& wanted);
  Status CanChange(const Wrong& wrong, const Preparation& wanted, const std::set<std::string>& claimed) const;
  Status Finish(const Pf& pf, const std::vector<std::string>& vfs, std::vector<std::string>& done);
  Status GiveBack(const Pf& pf, const NicState& before, const NicState& now, std::vector<std::string>& done);
  Status Change(const Pf& pf, const Preparation& wanted, const NicState& now, std::vector<std::string>& done);
  std::vector<std::string> InUse(const Pf& pf, const std::set<std::string>& claimed) const;
  std::string UseOf(const std::string& address) const;

  Sysfs sysfs_;
  Lookup lookup_;
  VfFinisher finisher_;
  Lookup::OpenDevlink open_devlink_;
  std::unique_ptr<netlink::Devlink> devlink_;
};

}  // namespace rail::sriov
