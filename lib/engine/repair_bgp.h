// raild's repair of bgpd's running configuration, and what it learns from bgpd.
//
// Use:      BgpRepair repair(config, deps, *store, picture);
//           repair.Audit();                   // configuration, announcements, sessions, remotes: at start, every 30 s
//           if (repair.Poll()) ...            // sessions and remotes; true: there is something new in the picture
// Threads:  one; the picture may be shared
// Source:   README.md of this folder; DECISIONS 14 (what is kept while sessions are unsettled)
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "lib/engine/backoff.h"
#include "lib/engine/picture.h"
#include "lib/engine/session.h"

namespace rail::engine {

class BgpRepair {
 public:
  BgpRepair(const config::NodeConfig& config, const Deps& deps, state::Store& store, Picture& picture);

  bool Audit();
  bool Poll();
  // When the configuration is to be looked at again after it could not be put right; nothing: with the next audit.
  std::optional<Deadline> next_retry() const { return backoff_.next(); }

 private:
  Status BgpBase(Edges& edges, const std::vector<config::Rail>& rails);
  Status Announcements(Edges& edges);
  Status Learn(Edges& edges, bool& changed);
  bool LearnAndTell(Edges& edges);
  bool SessionsSettled() const;

  const config::NodeConfig& config_;
  const Deps deps_;
  state::Store& store_;
  Picture& picture_;
  Backoff backoff_{std::chrono::milliseconds(250), std::chrono::seconds(5)};

  std::map<IpAddress, frr::Remote> remotes_;
  std::map<std::string, frr::Session> sessions_;  // by interface
  std::optional<uint64_t> table_version_;         // of remotes_; nothing: ask again
  bool complete_ = false;                         // see engine::Learned
  std::optional<Deadline>
      keep_until_;        // while sessions are unsettled: when remotes that are not heard again go
  bool keeping_ = false;  // remotes_ may hold some that are not in bgpd's table now
};

}  // namespace rail::engine
