// bgpd: announce and withdraw the addresses of pods, keep the base configuration, have those of others pushed.
//
// Use:      RAIL_ASSIGN(auto bgp, VtyBgp::Open({.run_dir = "/run/frr", .asn = 4200000001, ...}, deadline));
//           RAIL_TRY(bgp->Announce({.address = a, .rail = "rail0", .rail_index = 0, .tenant = id},
//           deadline));
// Threads:  one at a time
// Owns:     one vty session; a failed call may leave it unusable: open a new one
// Source:   FRRouting 8.4 to 10: doc/developer/vtysh.rst (protocol), doc/user/bgp.rst; README.md of this
//           folder
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/address.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/tenancy/tenancy.h"

namespace rail::frr {

struct Announcement {
  IpAddress address;  // announced as a /32 or /128
  std::string rail;   // "rail0"
  uint32_t rail_index = 0;
  tenancy::TenantId tenant;  // none: no tenant communities (tenancy mode off)
  // Of what Announced() finds: its route-map does not say this (somebody has edited or removed it). AnnounceAll puts it right.
  bool edited = false;
  auto operator<=>(const Announcement&) const = default;
};

// A rail's session: BGP unnumbered over the bridge's LOCAL port.
struct RailPeer {
  std::string rail;
  uint32_t rail_index = 0;
  std::string interface;  // "br-rail0"
  auto operator<=>(const RailPeer&) const = default;
};

struct BaseConfig {
  IpAddress router_id;
  std::vector<RailPeer> rails;
};

inline constexpr char kEstablished[] = "Established";

struct Session {
  std::string interface;
  std::string state;  // bgpd's word: kEstablished, "Active", ...
  uint64_t uptime_ms = 0;
  uint32_t prefixes_received = 0;
  uint32_t prefixes_sent = 0;
  std::optional<IpAddress> peer;  // the leaf's link-local address, once known
  // The leaf will say when it has told all its routes (End-of-RIB, RFC 4724 section 2), and has not yet. False: it has, or never will.
  bool owes_end_of_rib = false;
  bool established() const { return state == kEstablished; }
};

// An address of a pod elsewhere. Only host prefixes that carry both of our tenant communities become remotes.
struct Remote {
  IpAddress address;
  tenancy::TenantId tenant;
  std::optional<uint32_t> rail_index;
  std::string interface;  // the session it was learned on; "" when bgpd does not say
  auto operator<=>(const Remote&) const = default;
};

class Bgp {
 public:
  virtual ~Bgp() = default;

  // Puts `network A/32 route-map railcni-<rail>-<tenant id>` in force, making the route-map first when it is not there or
  // says something else. Re-announcing with another tenant names another map. Safe to repeat.
  // Errors: kTransient bgpd is down or slow, or has no BGP instance yet; kInvalid bgpd refuses (its words), or the
  //         address is no pod's; kExists somebody else's `network` statement holds the address.
  Status Announce(const Announcement& announcement, Deadline deadline) {
    return AnnounceAll({announcement}, deadline);
  }

  // The same for many at once: one look at bgpd, then only what is missing. All are checked before the first is sent;
  // when bgpd refuses one, the others stay announced.
  virtual Status AnnounceAll(const std::vector<Announcement>& announcements, Deadline deadline) = 0;

  // Withdraws the address; one that is not announced, or that is announced with a route-map that is not ours,
  // is left alone and is no error. Safe to repeat.
  Status Withdraw(const IpAddress& address, Deadline deadline) { return WithdrawAll({address}, deadline); }

  // The same for many at once. When bgpd refuses one, the others are withdrawn all the same.
  virtual Status WithdrawAll(const std::vector<IpAddress>& addresses, Deadline deadline) = 0;

  // The network statements of ours in the running configuration.
  virtual Result<std::vector<Announcement>> Announced(Deadline deadline) = 0;

  // Whether the address, as it is announced now, is in the Adj-RIB-Out of the established session on
  // `interface`. bgpd holds every change for 50 ms; until then the answer is false, also for an address that
  // changes its tenant.
  virtual Result<bool> InAdjRibOut(const IpAddress& address, const std::string& interface,
                                   Deadline deadline) = 0;

  // The state of the session on `interface`: bgpd's word ("Established", "Active", ...). Errors: kNotFound no such neighbor, or no
  // instance; kInvalid; kTransient.
  virtual Result<std::string> SessionState(const std::string& interface, Deadline deadline) = 0;

  // Returns when the session on `interface` is Established: at once when it is. Asks every 20 ms, as bgpd's vty has no event for it;
  // a session that comes up takes longer than that. Errors: kTransient the deadline passed: the message says what the session
  // is instead; kInvalid.
  Status WaitEstablished(const std::string& interface, Deadline deadline);

  // Returns when InAdjRibOut is true for all `addresses`. Asks, as bgpd tells nobody when it has sent an
  // update. Errors: kTransient the deadline passed: the message names the address and says whether the
  // session is up (finding
  //         that out may take 250 ms more); kInvalid.
  Status WaitAdjRibOut(const std::vector<IpAddress>& addresses, const std::string& interface,
                       Deadline deadline);

  // All interface (unnumbered) sessions. No BGP instance: empty.
  virtual Result<std::vector<Session>> Sessions(Deadline deadline) = 0;

  // A number that is the same as before when nothing in bgpd's tables has changed since; it has no other
  // meaning. Our own announcements change it too. Compare numbers of one session only: a new bgpd counts from
  // 0. No instance: 0.
  virtual Result<uint64_t> TableVersion(Deadline deadline) = 0;

  // Makes the running configuration hold the base configuration (instance, rail neighbours, outbound
  // route-maps by rail community, graceful restart, table-map); sends only what is missing and touches
  // nothing that is not its own. Returns the lines sent: empty when all was right. Safe to repeat. After a
  // restart of bgpd call it without rails, then AnnounceAll, then with the rails: so the leaf, which keeps
  // our routes meanwhile, never sees a session without them. Errors: kInvalid another ASN or router-id is in
  // use, or bgpd refuses; kExists somebody else's table-map or neighbor
  //         stands in the way; kTransient.
  virtual Result<std::vector<std::string>> EnsureBase(const BaseConfig& config, Deadline deadline) = 0;

  // Ends the session on `interface`, whatever its state, and starts it anew. Configuration and announcements stay. One that
  // bgpd does not know is no error.
  virtual Status ResetSession(const std::string& interface, Deadline deadline) = 0;

  // Makes bgpd push what the leaves of `rails` announce to 127.0.0.1 `port` by BMP, before the import policy. `manage`: sends
  // what is missing; else only looks. True: something was missing and sent. Safe to repeat.
  // Errors: kUnsupported bgpd runs without its BMP module; kNotFound something is missing and not ours to send (names it);
  //         kTransient; kInvalid.
  virtual Result<bool> EnsureFeed(const std::vector<RailPeer>& rails, uint16_t port, bool manage,
                                  Deadline deadline) = 0;
};

}  // namespace rail::frr
