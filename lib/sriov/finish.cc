#include "lib/sriov/finish.h"

#include <algorithm>

namespace rail::sriov {
namespace {

constexpr char kAutoprobe[] = "/sriov_drivers_autoprobe";

}  // namespace

MacAddress DerivedMac(const MacAddress& pf, std::string_view vf) {
  // FNV-1a, and then the last step of SplitMix64, so that each bit of the result depends on each bit before.
  uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&hash](uint8_t byte) { hash = (hash ^ byte) * 0x100000001b3; };
  for (const uint8_t byte : pf.bytes) add(byte);
  for (const char c : vf) add(static_cast<uint8_t>(c));
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111eb;
  hash ^= hash >> 31;
  MacAddress mac;
  for (uint8_t& byte : mac.bytes) {
    byte = static_cast<uint8_t>(hash);
    hash >>= 8;
  }
  mac.bytes[0] = static_cast<uint8_t>((mac.bytes[0] & 0xfcU) | 0x02U);  // one station's, locally administered
  return mac;
}

bool RdmaGuid::is_zero() const {
  return guid.find('0') != std::string::npos && guid.find_first_not_of("0:") == std::string::npos;
}

std::vector<RdmaGuid> RdmaGuids(const Sysfs& sysfs) {
  std::vector<RdmaGuid> found;
  for (const std::string& device : sysfs.List("class/infiniband")) {
    found.push_back({device, sysfs.Read("class/infiniband/" + device + "/node_guid").value_or("")});
  }
  return found;
}

Result<bool> VfFinisher::IsUnfinished(const std::string& address) {
  if (lookup_.DriverOf(address).empty()) return true;
  if (!HasGuidZero(address)) return false;
  RAIL_ASSIGN(const Place place, PlaceOf(address));
  return place.state.mac.is_zero();
}

Status VfFinisher::HoldDrivers(const Pf& pf) const {
  return sysfs_.Exists(pf.path + kAutoprobe) ? sysfs_.Write(pf.path + kAutoprobe, "0") : Status();
}

Status VfFinisher::Finish(const Pf& pf, const std::vector<std::string>& addresses) {
  // While this is 0, the kernel binds a VF to no driver, not even on demand (drivers/pci/pci-driver.c, pci_device_can_probe).
  if (sysfs_.Read(pf.path + kAutoprobe) == "0") RAIL_TRY(sysfs_.Write(pf.path + kAutoprobe, "1"));
  Status all;
  for (const std::string& address : addresses) {
    Status one = FinishOne(address);
    if (all && !one) all = FailWrapped(one.error(), "finish virtual function " + address);
  }
  return all;
}

Result<VfFinisher::Place> VfFinisher::PlaceOf(const std::string& address) {
  Place place;
  RAIL_ASSIGN(place.vf, lookup_.FindVf(address));
  if (!netlink_) {
    RAIL_ASSIGN(netlink_, connections_.netlink());
  }
  if (!vfs_) {
    RAIL_ASSIGN(vfs_, connections_.vfs());
  }
  RAIL_ASSIGN_AS(place.pf, netlink_->GetLink(place.vf.pf.netdev), "its PF");
  RAIL_ASSIGN(place.state, vfs_->Get(place.pf.index, place.vf.index));
  return place;
}

bool VfFinisher::HasGuidZero(const std::string& address) const {
  const std::string path = "bus/pci/devices/" + address + "/infiniband";
  return std::ranges::any_of(sysfs_.List(path), [&](const std::string& device) {
    return RdmaGuid{device, sysfs_.Read(path + "/" + device + "/node_guid").value_or("")}.is_zero();
  });
}

// mlx5 reads the node GUID when it binds to the VF, so one that was bound too early is bound anew.
Status VfFinisher::FinishOne(const std::string& address) {
  RAIL_ASSIGN(const Place place, PlaceOf(address));
  const std::string& driver = place.vf.driver;
  const bool anew = !driver.empty() && HasGuidZero(address);
  if (anew) RAIL_TRY(sysfs_.Write("bus/pci/drivers/" + driver + "/unbind", address));
  Status given = place.state.mac.is_zero() ? GiveMac(place, !anew) : Status();
  if (!anew && !driver.empty()) return given;
  // Also when the MAC address was refused: without its driver the VF would be lost.
  RAIL_TRY(sysfs_.Write("bus/pci/drivers_probe", address));
  if (lookup_.DriverOf(address).empty()) {
    return Fail(Code::kUnsupported,
                "no driver takes it: is the module of its NIC loaded? (the kernel's log says more)");
  }
  return given;
}

Status VfFinisher::GiveMac(const Place& place, bool keeps_own) {
  const MacAddress& permanent = place.pf.permanent_mac;
  MacAddress mac = DerivedMac(permanent.is_zero() ? place.pf.mac : permanent, place.vf.address);
  if (keeps_own && !place.vf.netdev.empty()) {
    RAIL_ASSIGN(const netlink::Link own, netlink_->GetLink(place.vf.netdev));
    if (!own.mac.is_zero()) mac = own.mac;
  }
  return vfs_->Set(place.pf.index, place.vf.index, {.mac = mac});
}

}  // namespace rail::sriov
