// The devices of each rail as the kubelet is to know them, whichever way it hears of them (device_offers, claim_offers).
//
// Use:      RailPools pools(config, views, see);   const RailPools::Look look = pools.Look(Clock::now());
// Threads:  one
// Source:   lib/kubelet/README.md
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/engine/view.h"
#include "lib/kubelet/pool.h"

namespace rail::raild {

class RailPools {
 public:
  // What is seen of the devices now, by rail.
  using See = std::function<std::map<std::string, std::vector<kubelet::Seen>>(const engine::NodeView& view)>;

  struct Looked {
    std::vector<const config::Rail*> changed;  // whose lists have
    std::optional<Deadline> again;  // when to look again at the latest; nothing: after the next view
  };
  // As the kubelet has it.
  struct Count {
    std::string rail;
    std::vector<std::string> devices;  // ids
    uint32_t healthy = 0;
    std::string problem;  // of one that is not
  };

  RailPools(const config::NodeConfig& config, const engine::ViewPublisher& views, See see);

  // Does nothing before raild has looked at every rail and its session once: a restart of raild takes no device from the kubelet.
  Looked Look(Deadline now);
  bool has_looked() const { return has_looked_; }
  const std::vector<kubelet::Device>& Of(const config::Rail& rail) const {
    return pools_.at(rail.index).devices();
  }
  std::vector<Count> counts() const;

 private:
  const config::NodeConfig& config_;
  const engine::ViewPublisher& views_;
  const See see_;
  std::map<uint32_t, kubelet::DevicePool> pools_;  // by the rail's index
  bool has_looked_ = false;
};

// How the kubelet hears of them.
class Offers {
 public:
  virtual ~Offers() = default;
  // Looks at all devices and tells of those that have changed. Returns when to look again at the latest; nothing: after the next view.
  virtual std::optional<Deadline> Look(Deadline now) = 0;
  // Makes sure that the kubelet of the moment knows raild. Does nothing before the first look, and while there is no kubelet. May be repeated.
  virtual Status Serve() = 0;
  virtual std::vector<RailPools::Count> counts() const = 0;
};

}  // namespace rail::raild
