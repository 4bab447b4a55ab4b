// The inside of a pod: addresses, gateway, policy routing and sysctls of one rail's interface.
//
// Use:      RAIL_TRY(pods.Configure(pod, plan));                       // ADD; the interface is in the pod already
//           RAIL_ASSIGN(auto deviations, pods.Verify(pod, plan));      // CHECK: [] when there is none
//           RAIL_TRY(pods.Deconfigure(pod, plan));                     // DEL, if the pod still exists
// Threads:  any
// Source:   README.md of this folder (why each piece is there)
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/base/address.h"
#include "lib/base/error.h"
#include "lib/netlink/netns.h"

namespace rail::podnet {

enum class Scope { kGlobal, kLink };

// A route that IPAM asks for, besides the rail's own routes.
struct RouteSpec {
  IpPrefix destination;
  std::optional<IpAddress> gateway;  // none: the plan's gateway of the family
  uint32_t mtu = 0;                  // bytes; 0: not set
  uint32_t advmss = 0;               // bytes; 0: not set
  std::optional<uint32_t> priority;  // none: the plan's metric
  std::optional<uint32_t> table;     // none: main
  Scope scope = Scope::kGlobal;      // kLink: hosts on the link, no gateway
};

inline constexpr uint32_t kOutputRule = 100;

struct Plan {
  std::string ifname;
  uint32_t mtu = 0;  // bytes
  MacAddress mac;    // of the interface: Verify checks it, Configure never sets it; zero: any
  MacAddress gateway_mac;
  std::vector<IpAddress> addresses;  // each is added to the interface as /32 or /128
  // Of each family in use at least one; by its first the family's default route leads.
  std::vector<IpAddress> gateways;
  uint32_t table = 0;  // the rail's own: no other route stands there
  // Priority of the rules "from an address"; those "oif the interface" have kOutputRule more.
  uint32_t rule = 0;
  // Of routes outside of `table` that name no priority: another one on each rail of a pod.
  uint32_t metric = 0;
  std::vector<RouteSpec> routes;
};

// One way in which a pod is not as Configure made it.
struct Deviation {
  std::string what;  // a sentence: "net1: the interface is down"
  std::string
      command;  // run in the pod's namespace, it makes this right: "ip link set net1 up"; "": no command does
  bool cuts = true;  // packets from or to an address do not pass; false: they do, too big or by another rail
};

class PodNet {
 public:
  virtual ~PodNet() = default;

  // Whether the pod has an interface of this name already.
  virtual Result<bool> HasLink(const netns::Netns& pod, const std::string& name) = 0;

  // Errors: kInvalid the plan contradicts itself; kNotFound no such interface; kExists another route is in the place of one of
  // the plan's, or in its table (the message says whose). Safe to repeat, also after a crash half way; what exists already stays.
  virtual Status Configure(const netns::Netns& pod, const Plan& plan) = 0;

  // Removes what would stay in the pod without the interface: the policy rules. Safe to repeat.
  virtual Status Deconfigure(const netns::Netns& pod, const Plan& plan) = 0;

  // Lists everything that is not as Configure makes it, but for what only matters while routes are added: the flag onlink, and the
  // routes to the gateways where no other is missing. In an order in which the commands can be run. Errors: it cannot be found out.
  virtual Result<std::vector<Deviation>> Verify(const netns::Netns& pod, const Plan& plan) = 0;
};

}  // namespace rail::podnet
