// bgpd: announces and withdraws the addresses of pods, keeps the base configuration, makes bgpd push what leaves announce.
//
// Use:      RAIL_ASSIGN(auto bgp, VtyBgp::Open({.run_dir = "/run/frr", .asn = 4200000001, ...}, deadline));
//           RAIL_TRY(bgp->Announce({.address = a, .rail = "rail0", .rail_index = 0, .tenant = id}, deadline));
// Threads:  one at a time
// Owns:     one vty session; a failed call may leave it unusable: open a new one
// Source:   FRRouting 8.4 to 10: doc/developer/vtysh.rst (protocol), doc/user/bgp.rst; README.md of this
//           folder
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/base/address.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/frr/base_removal.h"
#include "lib/tenancy/tenancy.h"

namespace rail::frr {

struct Announcement {
  IpAddress address;  // announced as a /32 or /128
  std::string rail;   // "rail0"
  uint32_t rail_index = 0;
  tenancy::TenantId tenant;               // none: no tenant communities (tenancy mode off)
  std::optional<tenancy::Plane> plane{};  // nothing: no plane's community
  // Set by Announced(): the route-map does not say this, because somebody has edited or removed it. AnnounceAll repairs it.
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

// Where bgpd pushes what it learns. `address` is of the loopback; nothing in a BMP message says which instance it is of (bgpd 8.4),
// so each instance has an address of its own.
struct FeedTarget {
  FeedTarget(uint16_t a_port)
      : port(a_port) {}  // NOLINT(google-explicit-constructor): of the default instance
  FeedTarget(IpAddress an_address, uint16_t a_port) : address(an_address), port(a_port) {}
  IpAddress address = *IpAddress::Parse("127.0.0.1");
  uint16_t port;
};

// For a wait on a session that has just been configured.
struct SessionHelp {
  std::function<void()> speed_up;  // called at once and every 500 ms
  std::string advice;              // ends the message when the session is down at the deadline
};

struct BaseConfig {
  IpAddress router_id;
  std::vector<RailPeer> rails;
  // From how many prefixes of one family on bgpd warns about a leaf. It keeps the session and the routes.
  uint32_t max_prefixes = 0;
  // There is a front end: what it takes is not taken from the rails' leaves.
  bool frontend = false;
  // Added to all that a rail's leaf is sent. Nothing: it is not known, or of no use.
  std::optional<tenancy::LargeCommunity> cluster{};
  // bgpd has no identifier: one that is set now ends no session. EnsureBase finds it out.
  bool without_identifier = false;
};

// The front end: sessions with the leaves of management links, BGP unnumbered, on the same bgpd as the rails.
struct Frontend {
  enum class Bfd { kOff, kOn, kUnchanged };  // kUnchanged: wanted, and bgpd has no bfdd to ask now
  std::vector<std::string> links;            // "mgmt1"; empty: there is no front end
  std::vector<IpAddress> addresses;          // of the node itself, announced as /32 and /128
  std::vector<IpPrefix> accept;  // length 0: the default route alone; else a prefix and all within
  Bfd bfd = Bfd::kOff;
  bool operator==(const Frontend&) const = default;
};

// Per cent of max_prefixes that are near: bgpd's own default for its first warning.
inline constexpr uint64_t kNearMaxPrefixes = 75;

inline constexpr char kEstablished[] = "Established";
inline constexpr uint16_t kPort = 179;
inline constexpr uint64_t kSmallestMessage = 19;  // bytes: a header (RFC 4271 section 4.1)

// A NOTIFICATION that has ended a session, or an attempt to begin one.
struct Notification {
  uint8_t code = 0;
  uint8_t subcode = 0;
  bool received = false;  // false: this node has sent it
  std::string text;       // bgpd's words: "Cease/Administrative Shutdown"
  bool operator==(const Notification&) const = default;
};

// How the last TCP connection ended that bgpd has opened to the leaf since the session is down.
enum class Attempt {
  kNone,     // there was none
  kSilent,   // nothing came back
  kRefused,  // a reset came back
  kClosed,   // it was open, and the leaf has said nothing
  kTalked,   // the leaf has said something
};

// A leaf, as it has named itself in its OPEN.
struct Leaf {
  uint32_t asn = 0;     // 0: not known
  IpAddress router_id;  // BGP Identifier (RFC 4271 section 4.2)
  std::string name;     // its host name (draft-walton-bgp-hostname-capability); "": it says none
  auto operator<=>(const Leaf&) const = default;
};

struct Session {
  // bgpd has one session for each, whatever the instance. Of a neighbor that is configured by its link-local address: that address.
  std::string interface;
  std::string state;  // bgpd's word: kEstablished, "Active", ...
  uint64_t uptime_ms = 0;
  uint32_t prefixes_received = 0;
  uint32_t most_prefixes = 0;  // those of the family of which it has received more
  uint32_t prefixes_sent = 0;
  std::optional<IpAddress> peer;  // the leaf's link-local address, once known
  // The leaf will send End-of-RIB after all its routes (RFC 4724 section 2), and has not yet. False: it has sent it, or never will.
  bool end_of_rib_due = false;
  std::optional<Leaf> leaf;  // while it is Established
  // While it is not Established (session_down.h):
  bool shut_down = false;                    // `neighbor ... shutdown` here
  std::optional<Notification> notification;  // by which it has ended
  std::string last_reset;                    // bgpd's words: "Waiting for peer OPEN"
  Attempt attempt = Attempt::kNone;          // bgpd does not say it: whoever follows its connections sets it
  bool established() const { return state == kEstablished; }
};

// An address of a pod elsewhere. Only host prefixes that carry both of our tenant communities become remotes.
struct Remote {
  IpAddress address;
  tenancy::TenantId tenant;
  std::optional<uint32_t> rail_index;
  std::string interface;  // of the session that announced it; "" when bgpd does not say
  auto operator<=>(const Remote&) const = default;
};

// One instance of bgpd: the default one, or a VRF's.
class Bgp {
 public:
  virtual ~Bgp() = default;

  // The instance of a VRF (`router bgp ASN vrf NAME`): announcements, base configuration, sessions and feed are then its own. It shares
  // the vty session and lives as long as this. EnsureFrontend, LookBefore and RemoveOurs are for the default instance alone.
  virtual Bgp& Instance(const std::string& vrf) = 0;
  // The VRFs that have an instance of ours ("railcni-<0 to 99>-<1 to 4094>").
  virtual Result<std::vector<std::string>> OurInstances(Deadline deadline) = 0;
  // Removes the instance of a VRF of ours. One that is not there is no error. Errors: kInvalid it is not ours; kTransient.
  virtual Status RemoveInstance(const std::string& vrf, Deadline deadline) = 0;
  // While `on`, the running configuration is read once and read again only after a change of our own: for a round over many instances.
  virtual void ReadOnce(bool on) = 0;

  // Adds `network A/32 route-map railcni-<rail>-<tenant id>`, after making the route-map if it is missing or says something
  // else. Another tenant has another route-map. Safe to repeat.
  // Errors: kTransient bgpd is down or slow, or has no BGP instance yet; kInvalid bgpd refuses (in its words), or no pod can
  //         have the address; kExists somebody else's `network` statement holds the address.
  Status Announce(const Announcement& announcement, Deadline deadline) {
    return AnnounceAll({announcement}, deadline);
  }

  // Announces many at once: reads the running configuration once, then sends only what is missing. Checks all of them before
  // sending the first. When bgpd refuses one, the others stay announced.
  virtual Status AnnounceAll(const std::vector<Announcement>& announcements, Deadline deadline) = 0;

  // Withdraws the address. An address that is not announced, or is announced with a route-map that is not ours, stays as
  // it is and is no error. Safe to repeat.
  Status Withdraw(const IpAddress& address, Deadline deadline) { return WithdrawAll({address}, deadline); }

  // Withdraws many at once. When bgpd refuses one, the others are withdrawn all the same.
  virtual Status WithdrawAll(const std::vector<IpAddress>& addresses, Deadline deadline) = 0;

  // Our `network` statements in the running configuration.
  virtual Result<std::vector<Announcement>> Announced(Deadline deadline) = 0;

  // Whether the address, as it is announced now, is in the Adj-RIB-Out of the established session on
  // `interface`. bgpd holds every change for 50 ms. Until then the answer is false, also when only the address's
  // tenant changes.
  virtual Result<bool> InAdjRibOut(const IpAddress& address, const std::string& interface,
                                   Deadline deadline) = 0;

  // How somebody else announces the address: the AS path of a neighbor's path to its /32 or /128, as bgpd writes it. nullopt: nobody
  // does. A path that is stale (graceful restart keeps it for a session that has ended) or about to be removed does not count.
  virtual Result<std::optional<std::string>> AnnouncedElsewhere(const IpAddress& address,
                                                                Deadline deadline) = 0;

  // The links of the neighbors whose paths to the prefix bgpd gives zebra: the best, and those as good. Empty: there is no path.
  virtual Result<std::set<std::string>> UsedLinks(const IpPrefix& prefix, Deadline deadline) = 0;

  // The state of the session on `interface`: bgpd's word ("Established", "Active", ...). Errors: kNotFound no such neighbor, or no
  // instance; kInvalid; kTransient.
  virtual Result<std::string> SessionState(const std::string& interface, Deadline deadline) = 0;

  // Returns when the session on `interface` is Established, at once if it is already. Asks every 20 ms, because bgpd's vty has no
  // event for it; a session takes longer than that to come up. Errors: kTransient the deadline passed (the message says in which
  // state the session is); kInvalid.
  Status WaitEstablished(const std::string& interface, Deadline deadline, const SessionHelp& help = {});

  // Returns when InAdjRibOut is true for all `addresses`. Asks again and again, because bgpd has no event for an update
  // that it has sent. Errors: kTransient the deadline passed (the message names the address and says whether the
  // session is up; finding that out may take 250 ms more); kInvalid.
  Status WaitAdjRibOut(const std::vector<IpAddress>& addresses, const std::string& interface,
                       Deadline deadline);

  // All sessions of the instance with link-local addresses; of the default one and all VRFs where bgpd was opened for VRFs. No BGP
  // instance: empty.
  virtual Result<std::vector<Session>> Sessions(Deadline deadline) = 0;

  // The instance's BGP identifier (RFC 4271 section 4.2), where it has neighbors. 0.0.0.0: none was configured, and zebra has no IPv4 address
  // to take one from; every leaf refuses the session then. nullopt: there are no neighbors, or no instance.
  virtual Result<std::optional<IpAddress>> Identifier(Deadline deadline) = 0;

  // A number that stays the same while nothing in bgpd's tables changes. It has no other meaning. Our own announcements
  // change it too. Compare only numbers of one vty session: a new bgpd counts from 0. No instance: 0.
  virtual Result<uint64_t> TableVersion(Deadline deadline) = 0;

  // Makes the running configuration hold the base configuration: instance, the rails' neighbors, outbound route-maps by
  // rail community, graceful restart, table-map. Sends only what is missing and changes nothing that is not ours. Returns
  // the lines sent; empty when nothing was missing. Safe to repeat. Sets the identifier where no session can be ended by it: there is no
  // neighbor yet, or the identifier is 0.0.0.0. After a restart of bgpd, call it without rails, then
  // AnnounceAll, then call it with the rails: the leaf keeps our routes meanwhile, and so never sees a session without them.
  // Errors: kInvalid another ASN or router-id is in use, or bgpd refuses; kExists somebody else's table-map or neighbor is in
  //         the way; kTransient.
  virtual Result<std::vector<std::string>> EnsureBase(const BaseConfig& config, Deadline deadline) = 0;

  // Makes the running configuration hold the front end: filters, the node's own `network` statements, then the neighbors.
  // Removes neighbors and statements of ours that `frontend` no longer names. Otherwise as EnsureBase, which comes first.
  // Errors: kTransient no instance; kInvalid another ASN, or bgpd refuses; kExists a neighbor or a statement of somebody else.
  virtual Result<std::vector<std::string>> EnsureFrontend(const Frontend& frontend, Deadline deadline) = 0;

  // The Adj-RIB-Out of the session on `interface`, both families. Empty: no session, or nothing is sent. Errors: kInvalid; kTransient.
  virtual Result<std::vector<IpPrefix>> AdvertisedTo(const std::string& interface, Deadline deadline) = 0;

  // What is in bgpd of that which EnsureBase, EnsureFrontend and EnsureFeed may add or change. Changes nothing.
  virtual Result<BaseBefore> LookBefore(const std::vector<std::string>& interfaces, Deadline deadline) = 0;

  // Withdraws all that is announced, and removes what is ours, as `removal` says (base_removal.h). Returns the lines sent; empty
  // when nothing was to be removed. Safe to repeat. Errors: kInvalid bgpd refuses a line; kTransient.
  virtual Result<std::vector<std::string>> RemoveOurs(const std::vector<std::string>& interfaces,
                                                      const Removal& removal, Deadline deadline) = 0;

  // Ends the session on `interface`, whatever its state, and starts it again. Configuration and announcements stay. A session
  // that bgpd does not know is no error.
  virtual Status ResetSession(const std::string& interface, Deadline deadline) = 0;

  // Makes bgpd push by BMP, to `target`, what the leaves of `rails` announce, as it is before the import policy. With
  // `manage`, sends what is missing; without, only checks. True: something was missing and has been sent. Safe to repeat.
  // Errors: kUnsupported bgpd runs without its BMP module; kNotFound without `manage`, something is missing (the message names
  //         it); kTransient; kInvalid.
  virtual Result<bool> EnsureFeed(const std::vector<RailPeer>& rails, const FeedTarget& target, bool manage,
                                  Deadline deadline) = 0;
};

}  // namespace rail::frr
