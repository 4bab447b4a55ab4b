// The Backend that passes each device to the backend of its kind: a PCI address is a VF, everything else is a link's name.
//
// Use:      Select backend(std::make_unique<Sriov>(...), std::make_unique<Netdev>(...));
// Threads:  one at a time
// Owns:     both backends
#pragma once

#include <memory>

#include "lib/base/pci_address.h"
#include "lib/device/device.h"

namespace rail::device {

class Select : public Backend {
 public:
  Select(std::unique_ptr<Backend> sriov, std::unique_ptr<Backend> netdev)
      : sriov_(std::move(sriov)), netdev_(std::move(netdev)) {}

  Result<Location> Locate(const Saved& saved) override { return Of(saved.id).Locate(saved); }
  Result<std::string> WhyGone(const Saved& saved) override { return Of(saved.id).WhyGone(saved); }
  Result<Device> Find(const config::Rail& rail, const std::string& id) override {
    return Of(id).Find(rail, id);
  }
  Status CheckRail(const config::Rail& rail, const std::string& id) override {
    return Of(id).CheckRail(rail, id);
  }
  Result<Saved> Save(const Device& device) override { return Of(device.id).Save(device); }
  Status RaiseRepresentor(const Device& device, uint32_t mtu) override {
    return Of(device.id).RaiseRepresentor(device, mtu);
  }
  Result<MacAddress> MoveIn(const Device& device, const netns::Netns& pod,
                            const std::string& ifname) override {
    return Of(device.id).MoveIn(device, pod, ifname);
  }
  Result<std::vector<std::string>> Verify(const Saved& saved, const std::optional<Settings>& settings,
                                          const netns::Netns& pod) override {
    return Of(saved.id).Verify(saved, settings, pod);
  }
  Status Restore(const Saved& saved, const netns::Netns* pod, const std::string& ifname,
                 Deadline deadline) override {
    return Of(saved.id).Restore(saved, pod, ifname, deadline);
  }

 private:
  Backend& Of(const std::string& id) { return IsPciAddress(id) ? *sriov_ : *netdev_; }

  std::unique_ptr<Backend> sriov_;
  std::unique_ptr<Backend> netdev_;
};

}  // namespace rail::device
