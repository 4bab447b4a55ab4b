#include "lib/device/select.h"

#include "lib/base/pci_address.h"

namespace rail::device {

Backend& Select::Of(const std::string& id) {
  return IsPciAddress(id) ? *sriov_ : *netdev_;
}

Result<Location> Select::Locate(const Saved& saved) {
  return Of(saved.id).Locate(saved);
}

Result<std::string> Select::WhyGone(const Saved& saved) {
  return Of(saved.id).WhyGone(saved);
}

Result<Device> Select::Find(const config::Rail& rail, const std::string& id) {
  return Of(id).Find(rail, id);
}

Status Select::CheckRail(const config::Rail& rail, const std::string& id) {
  return Of(id).CheckRail(rail, id);
}

Result<Saved> Select::Save(const Device& device) {
  return Of(device.id).Save(device);
}

Status Select::RaiseRepresentor(const Device& device, uint32_t mtu) {
  return Of(device.id).RaiseRepresentor(device, mtu);
}

Result<MacAddress> Select::MoveIn(const Device& device, const netns::Netns& pod, const std::string& ifname) {
  return Of(device.id).MoveIn(device, pod, ifname);
}

Result<std::vector<std::string>> Select::Verify(const Saved& saved, const std::optional<Settings>& settings,
                                                const netns::Netns& pod) {
  return Of(saved.id).Verify(saved, settings, pod);
}

Status Select::Restore(const Saved& saved, const netns::Netns* pod, const std::string& ifname,
                       Deadline deadline) {
  return Of(saved.id).Restore(saved, pod, ifname, deadline);
}

}  // namespace rail::device
