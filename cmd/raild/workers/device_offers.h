// The device plugins of a node's rails: what each offers, and that the kubelet of the moment knows it.
//
// Use:      DeviceOffers offers(config, views, sysfs, see);
//           const auto again = offers.Look(Clock::now());   RAIL_TRY(offers.Serve());
// Threads:  one; the kubelet's calls are answered on the plugins' own
// Owns:     the plugins and their sockets
// Source:   lib/kubelet/README.md
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cmd/raild/workers/library_files.h"
#include "lib/engine/view.h"
#include "lib/kubelet/plugin.h"
#include "lib/kubelet/pool.h"
#include "lib/sriov/sysfs.h"

namespace rail::raild {

class DeviceOffers {
 public:
  // What is seen of the devices now, by rail.
  using See = std::function<std::map<std::string, std::vector<kubelet::Seen>>(const engine::NodeView& view)>;

  // `device_info`: the folder in which Multus looks for what it is to show of a device. `libraries`: whose files the containers get; nullptr: none.
  DeviceOffers(const config::NodeConfig& config, const engine::ViewPublisher& views, sriov::Sysfs sysfs,
               std::string device_info, LibraryFiles* libraries, See see);

  // Looks at all devices and publishes the lists that have changed. Does nothing before raild has looked at every rail and its session
  // once: a restart of raild takes no device from the kubelet. Returns when to look again at the latest; nothing: after the next view.
  std::optional<Deadline> Look(Deadline now);
  // Serves and registers each rail that the kubelet does not know yet. A kubelet that has started anew knows none. Does nothing before the
  // first look, and while there is no kubelet. Errors: of the first rail that fails, after all have been tried; a kubelet that does not answer
  // for one is not asked for the others.
  Status Serve();

  // As the kubelet has it.
  struct Count {
    std::string rail;
    uint32_t devices = 0;
    uint32_t healthy = 0;
    std::string problem;  // of one that is not
  };
  std::vector<Count> counts() const;

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
    kubelet::DevicePool pool;
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
  const See see_;
  const std::string instance_;  // of this object, unlike any other's
  std::vector<Offer> offers_;   // by rail
  bool looked_ = false;
};

}  // namespace rail::raild
