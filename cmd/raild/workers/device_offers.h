// The device plugins of a node's rails: what each offers, and that the kubelet of the moment knows it.
//
// Use:      DeviceOffers offers(config, views, sysfs, see);
//           const auto again = offers.Look(Clock::now());   RAIL_TRY(offers.Serve());
// Threads:  one; the kubelet's calls are answered on the plugins' own
// Owns:     the plugins and their sockets
// Source:   lib/kubelet/README.md
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cmd/raild/workers/library_files.h"
#include "cmd/raild/workers/rail_pools.h"
#include "lib/engine/view.h"
#include "lib/kubelet/plugin.h"
#include "lib/sriov/sysfs.h"

namespace rail::raild {

class DeviceOffers final : public Offers {
 public:
  // `device_info`: the folder in which Multus looks for what it is to show of a device. `libraries`: whose files the containers get; nullptr: none.
  DeviceOffers(const config::NodeConfig& config, const engine::ViewPublisher& views, sriov::Sysfs sysfs,
               std::string device_info, LibraryFiles* libraries, RailPools::See see);

  std::optional<Deadline> Look(Deadline now) override;
  // Serves and registers each rail that the kubelet does not know yet. A kubelet that has started anew knows none. Errors: of the first rail that
  // fails, after all have been tried; a kubelet that does not answer for one is not asked for the others.
  Status Serve() override;
  std::vector<RailPools::Count> counts() const override { return pools_.counts(); }

 private:
  // Which kubelet serves the socket: one that starts makes it anew.
  struct KubeletId {
    uint64_t inode = 0;
    int64_t made_ns = 0;
    bool operator==(const KubeletId&) const = default;
  };
  struct Offer {
    const config::Rail& rail;
    std::string resource;
    std::unique_ptr<kubelet::DevicePlugin> plugin{};
    std::string endpoint{};
    KubeletId known_to{};  // zero: to none
  };

  Result<kubelet::Allocation> Allocate(const Offer& offer, const std::vector<std::string>& ids) const;
  Status Introduce(Offer& offer, const KubeletId& kubelet);
  Status Start(Offer& offer);

  const config::NodeConfig& config_;
  const engine::ViewPublisher& views_;
  const sriov::Sysfs sysfs_;
  const std::string device_info_;
  LibraryFiles* const libraries_;
  RailPools pools_;
  const std::string instance_;  // of this object, unlike any other's
  std::vector<Offer> offers_;   // by rail
};

}  // namespace rail::raild
