// The list of devices that the kubelet should have, from what is seen now. A fault makes a device unhealthy
// when it has lasted for a grace period, or if it is there when the device is first seen; recovery is told at once.
//
// Use:      DevicePool pool(grace);   const auto now = pool.See(seen, Clock::now());
//           if (now.changed) plugin.Publish(now.devices);   // and call See again by now.look_again
// Threads:  one at a time; pure, without a clock of its own
// Owns:     since when each device has had a fault, and the last list
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/clock.h"

namespace rail::kubelet {

struct Seen {
  std::string id;  // each once
  std::optional<int> numa;
  std::string fault;     // "": it is well
  bool at_once = false;  // the fault is no flap: the device is lost, or somebody else's
};

struct Device {
  std::string id;
  std::optional<int> numa;
  bool healthy = true;
  std::string reason;  // why it is unhealthy, for people; the protocol does not carry it
};

class DevicePool {
 public:
  struct Look {
    std::vector<Device> devices;  // in the order of IsBefore
    // It differs from the last one in what the kubelet is told. The list before the first is empty.
    bool changed = false;
    std::optional<Deadline> look_again;  // the end of the nearest grace period; nothing: none runs
  };

  explicit DevicePool(Clock::duration grace) : grace_(grace) {}

  // A device that `seen` does not have leaves the list at once, and its fault is forgotten. An unhealthy device
  // stays so until it is well, also when a fault of `at_once` becomes another.
  Look See(const std::vector<Seen>& seen, Deadline now);
  // The list of the last look.
  const std::vector<Device>& devices() const { return last_; }

 private:
  struct Fault {
    Deadline since;
    bool told = false;
  };

  bool IsListed(const std::string& id) const;

  const Clock::duration grace_;
  std::map<std::string, Fault> faults_;  // by device
  std::vector<Device> last_;
};

// PCI addresses by their value, before other names by their text.
bool IsBefore(std::string_view a, std::string_view b);

}  // namespace rail::kubelet
