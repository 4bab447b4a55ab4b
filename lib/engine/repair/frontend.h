// The front end: the node's own addresses on its loopback, and the sessions that announce them on the management links.
//
// Use:      FrontendRepair frontend(config, deps);
//           RAIL_TRY(frontend.Ensure(connections, sent));                           // each audit of bgpd, after the instance
//           if (frontend.Look(connections, sessions)) Show(frontend.seen());        // what came of it; at next(), and when IsDue()
// Threads:  one at a time
// Source:   README.md of this folder ("The front end"), and its decisions 191 and 193
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "lib/engine/attach/connections.h"
#include "lib/engine/attach/verb_context.h"
#include "lib/engine/view.h"

namespace rail::engine {

class FrontendRepair {
 public:
  FrontendRepair(const config::NodeConfig& config, const Deps& deps) : config_(config), deps_(deps) {}

  // Adds what is missing and removes what node.json no longer names, whether there is a front end now or not. `sent`: how many
  // addresses and lines that were. Errors: as frr::Bgp::EnsureFrontend and of the kernel; part of it may be in place.
  Status Ensure(Connections& connections, size_t& sent);

  // Looks at it, and mends its paths where raild configures bgpd. `sessions`: as LookAtFrontend. True: seen() is not as before.
  bool Look(Connections& connections, const std::map<std::string, frr::Session>& sessions);
  const v1::NodeInfo& seen() const { return seen_; }
  // Whether a look may see something new: it is not whole and has changed lately, or MendPaths has something to do.
  bool IsDue() const { return MayChange() || (next_mend() && *next_mend() <= deps_.now()); }
  // When to look again; nullopt: after the next event.
  std::optional<Deadline> next() const;

  // Ends the session of a link whose path bgpd uses and the kernel does not, after 5 s and once in a minute: FRRouting puts the next hop
  // back when the session is up again. Not where no other link carries the family.
  void MendPaths(const v1::NodeInfo& seen, Connections& connections);
  // When MendPaths may have something to do; nullopt: after the next change.
  std::optional<Deadline> next_mend() const;

  // Whether all of it was in place after the last Ensure: what the next one sends was lost.
  bool stood() const { return stood_; }

 private:
  struct Unused {
    std::optional<Deadline> since;  // the kernel does not use the path
    std::optional<Deadline> reset;
  };
  bool MayChange() const;
  Status Loopback(Connections& connections, size_t& sent);
  Status NextHops(Connections& connections, size_t& sent);
  static Deadline NextReset(const Unused& unused);
  static bool IsCarriedElsewhere(const v1::NodeInfo& seen, const v1::FrontendLink& link);

  const config::NodeConfig& config_;
  const Deps& deps_;
  bool stood_ = false;
  std::map<std::string, Unused> unused_;  // by link
  bool tidied_ = false;                   // without a front end: what an earlier one has left is gone
  v1::NodeInfo seen_;
  Deadline looked_{};
  Deadline changed_{};
};

// The fields of the front end. `sessions`: as bgpd lists them, by interface. Without a front end, or where bgpd does not answer:
// less of it is known.
v1::NodeInfo LookAtFrontend(const config::NodeConfig& config, Connections& connections,
                            const std::map<std::string, frr::Session>& sessions);

// Whether nothing is to be said of it: every session is up, has every address and nothing else, and the kernel uses its path for each default route.
bool IsWhole(const v1::NodeInfo& frontend);

}  // namespace rail::engine
