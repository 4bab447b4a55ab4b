// Mode `vrf`: a tenant's way to the leaf on one rail: a VRF of the kernel, a port of the bridge in it, and bgpd's instance of the VRF. Made
// when the tenant's first pod comes, by the ADD itself or by raild, and kept for some time after the last has gone. The names say whose
// all of it is (tenant_vlans.h), so nothing has to be recorded: what a crash has left is adopted or removed by its name.
//
// Use:      RAIL_ASSIGN(const TenantLink made, EnsureTenantLink(connections, rail, vlan));
//           RAIL_TRY(EnsureTenantInstance(*bgp, config, rail, vlan, announcements, deadline));
//           RAIL_TRY(RemoveTenantLink(connections, rail, vlan));
// Threads:  one at a time
// Source:   README.md of this folder ("Mode vrf"); kernel Documentation/networking/vrf.rst
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/engine/attach/connections.h"
#include "lib/engine/attach/tenant_vlans.h"

namespace rail::engine {

// For how long all of it stays without a pod of the tenant: jobs come and go, and a session that ends costs the leaf a withdrawal.
inline constexpr std::chrono::minutes kTenantKept{5};

// The routing table of a VRF: 100001 to 509598. Nothing is routed by it: it keeps bgpd's routes of the tenant out of all others.
uint32_t VrfTable(const config::Rail& rail, uint16_t vlan);

// Whether the link is a VRF of some rail and VLAN of ours, also of a rail that node.json does not have any more.
bool IsTenantVrf(const netlink::Link& link);

// The address of the loopback to which bgpd's instance of the VRF pushes, which is all that tells its BMP connection from others':
// 127.<1 + the rail's index>.<VLAN>.
IpAddress FeedAddress(const config::Rail& rail, uint16_t vlan);
// The VRF whose feed comes to `address`: "" for 127.0.0.1. nullopt: no rail's.
std::optional<std::string> VrfOfFeed(const config::NodeConfig& config, const IpAddress& address);

// What bgpd is to announce of the attachment.
std::vector<frr::Announcement> AnnouncementsOf(const state::Attachment& attachment, const config::Rail& rail);

// The VRF in which an attachment of this tenant is announced, and the interface of its session: in the other modes "" and the bridge.
// Errors: kInvalid node.json gives the tenant no VLAN.
struct Announcer {
  std::string vrf;
  std::string interface;
  uint16_t vlan = config::kNoVlan;
};
Result<Announcer> AnnouncerOf(const config::NodeConfig& config, const config::Rail& rail,
                              const std::string& tenant);

struct TenantLink {
  bool changed = false;  // something was missing
  uint16_t ofport = 0;
  int port = 0, vrf = 0;  // indexes of the kernel
  Status sysctls;         // pods work without them
};
// Makes what is missing of VRF and port. Errors: kExists somebody else's link or port has the name; kNotFound no bridge;
// kUnsupported the kernel has no VRFs; kTransient; kInvalid.
Result<TenantLink> EnsureTenantLink(Connections& connections, const config::Rail& rail, uint16_t vlan);

// Removes both. What is not there, or is not ours, is no error and stays.
Status RemoveTenantLink(Connections& connections, const config::Rail& rail, uint16_t vlan);

// Makes the instance whole: first the instance, then `announcements`, then the session, so that the leaf never sees it without them.
// Where the session is configured, raild keeps the announcements, and has its reasons for those that it has withdrawn: then none is made.
// Costs two looks where nothing is missing. Errors: as frr::Bgp.
Status EnsureTenantInstance(frr::Bgp& bgp, const config::NodeConfig& config, const config::Rail& rail,
                            uint16_t vlan, const std::vector<frr::Announcement>& announcements,
                            Deadline deadline);

// What is there without a pod, and until when it stays.
class Unused {
 public:
  // What was due and is still there, as a lock or a daemon was in the way, is due again after this time.
  static constexpr std::chrono::seconds kAgain{30};

  // `there` and `present`, at this instant: those that have been without a pod for kTenantKept.
  std::vector<uint16_t> Due(const std::set<uint16_t>& there, const std::set<uint16_t>& present, Deadline now);
  // Nobody could say what is there.
  void NotSeen(Deadline now);
  std::optional<Deadline> next() const;

 private:
  std::map<uint16_t, Deadline> until_;
};

}  // namespace rail::engine
