// A link whose counters are read: a rail's uplink, or the representor of a pod's interface.
//
// Use:      for (const PortPtr& port : PortsOf(config, *views.Current())) ...
// Threads:  values
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/config/node_config.h"
#include "lib/engine/view.h"
#include "lib/netlink/netns.h"
#include "lib/tenancy/tenant_id.h"

namespace rail::counters {

// As the node sees an uplink, and as the pod sees its own interface: what a pod sends, its representor receives.
enum class Direction : uint8_t { kSent, kReceived };
inline constexpr std::array kDirections = {Direction::kSent, Direction::kReceived};
template <class T>
class Both {  // one for each direction
 public:
  T& operator[](Direction direction) { return of_[static_cast<size_t>(direction)]; }
  const T& operator[](Direction direction) const { return of_[static_cast<size_t>(direction)]; }

 private:
  std::array<T, 2> of_{};
};

struct Port {
  std::string rail;
  std::string link;           // its name on the host
  int64_t attachment = 0;     // 0: the rail's uplink
  std::string pod_namespace;  // the rest: "" of an uplink
  std::string pod;
  std::string ifname;
  std::string tenant;
  tenancy::TenantId tenant_id;
  std::string netns;  // where its interface is
  netns::Identity netns_identity;
  bool is_uplink() const { return attachment == 0; }
  // "rail0 uplink p0", "tenant-a/a1 net1"
  std::string Name() const;
  bool operator==(const Port&) const = default;
};
using PortPtr = std::shared_ptr<const Port>;

// The uplinks of all rails, then the representors of attachments that are in their pods.
std::vector<PortPtr> PortsOf(const config::NodeConfig& config, const engine::NodeView& view);

}  // namespace rail::counters
