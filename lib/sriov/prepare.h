// A NIC made ready for a rail: so many VFs behind a switch in hardware. Nothing is changed while a VF is in use.
//
// Use:      Preparer preparer(Sysfs("/sys"), netlink::KernelDevlink::Open);
//           RAIL_ASSIGN(auto done, preparer.Ensure({.pf = "ens1f0np0", .vfs = 8, .steering = "smfs"}, claimed));
//           // {"sriov_numvfs 0 -> 8", "eSwitch legacy -> switchdev"}; {}: it was right
// Threads:  one at a time
// Owns:     a devlink connection, opened when first needed
// Source:   README.md of this folder ("Preparing a NIC"); kernel Documentation/networking/devlink/mlx5.rst
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/sriov/lookup.h"

namespace rail::sriov {

struct Preparation {
  std::string pf;  // the uplink's netdev
  uint32_t vfs = 0;
  std::string steering;  // devlink parameter flow_steering_mode; "" leave it
};

// What a PF is now.
struct NicState {
  std::string address;  // of the PF
  uint32_t vfs = 0;
  std::optional<netlink::EswitchMode> mode;  // nullopt: its driver has none
  std::string steering;                      // "" its driver has no such parameter
};

class Preparer {
 public:
  Preparer(Sysfs sysfs, Lookup::OpenDevlink open_devlink)
      : sysfs_(std::move(sysfs)), lookup_(sysfs_, open_devlink), open_devlink_(std::move(open_devlink)) {}

  // Addresses of devices that attachments hold. Asked when something is to be changed; nobody gets another device from then on.
  using Claimed = std::function<Result<std::set<std::string>>()>;

  // Makes the NIC what is wanted and says what was changed. Of a bond's PFs none is changed while one cannot be.
  // Errors: kNotFound no such PF; kBusy it differs and VFs are in use (what differs, and which are used and how);
  //         kUnsupported the NIC cannot have so many VFs, or has no switchdev mode; of `claimed`; of sysfs and devlink, with what
  //         was done before.
  Result<std::vector<std::string>> Ensure(const Preparation& wanted, const Claimed& claimed);

  // The PFs behind a link (a bond has several) as they are, those without SR-IOV left out. Changes nothing.
  // Errors: of devlink.
  Result<std::vector<NicState>> Look(const std::string& pf);

 private:
  // A PF that is not as it should be: what it is now, and all that differs.
  struct Wrong {
    const Pf* pf = nullptr;
    NicState now;
    std::string differs;
  };

  Result<NicState> LookAt(const Pf& pf);
  Result<std::optional<Wrong>> Compare(const Pf& pf, const Preparation& wanted);
  Status CanChange(const Wrong& wrong, const Preparation& wanted, const std::set<std::string>& claimed) const;
  Status Change(const Pf& pf, const Preparation& wanted, const NicState& now, std::vector<std::string>& done);
  std::vector<std::string> InUse(const Pf& pf, const std::set<std::string>& claimed) const;
  std::string UseOf(const std::string& address) const;

  Sysfs sysfs_;
  Lookup lookup_;
  Lookup::OpenDevlink open_devlink_;
  std::unique_ptr<netlink::Devlink> devlink_;
};

}  // namespace rail::sriov
