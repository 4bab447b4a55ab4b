// Which rails were good when raild last ended, and whether they are good again: what a rollout waits for.
//
// Use:      GoodRails rails(config, ReadGoodRails(path), Clock::now());
//           rails.Look(*views.Current(), Clock::now());
//           if (rails.waits_for().empty()) ...                       // ready
//           if (rails.TakeChanged()) RAIL_TRY(WriteGoodRails(path, rails.to_keep()));
// Threads:  one
// Source:   README.md of this folder ("Ready")
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "lib/base/clock.h"
#include "lib/engine/view.h"

namespace rail::engine {

// How long a rail that was not good before may keep raild unready, and how long a rail must be bad to count as bad.
inline constexpr std::chrono::seconds kRailTime{60};

// What a rail lacks to be good, as words; "": it is good.
std::string LackOf(const RailView& rail, bool manages_bgp);

class GoodRails {
 public:
  GoodRails(const config::NodeConfig& config, const std::set<std::string>& before, Deadline started);

  void Look(const NodeView& view, Deadline now);

  // Why raild is not ready, as a sentence; "": it is, and stays so: a rail that goes bad later is no reason to stop a rollout
  // elsewhere, and the alerts tell of it.
  const std::string& waits_for() const { return waits_for_; }

  // The rails for the next raild to wait for: those that are good, and those that were good before and have not been since. So a
  // configuration that cuts a rail keeps each raild that tries it unready.
  const std::set<std::string>& to_keep() const { return keep_; }
  // Whether to_keep differs from what it was at the last call.
  bool TakeChanged() { return std::exchange(kept_, keep_) != keep_; }

 private:
  struct Rail {
    bool was_good = false;                // before this raild
    bool has_been_good = false;           // since it has started
    std::optional<Deadline> bad_since{};  // it is not good
    std::string lack{};
  };

  const bool manages_bgp_;
  const Deadline started_;
  std::map<std::string, Rail> rails_;
  std::set<std::string> keep_;
  std::set<std::string> kept_;
  bool ready_ = false;
  std::string waits_for_ = "raild has not looked at the rails yet";
};

// The rails' names in the file; none when there is no such file, or it is not one of ours: then nothing is known of before.
std::set<std::string> ReadGoodRails(const std::string& path);
// Replaces the file in one step. Errors: of the file system.
Status WriteGoodRails(const std::string& path, const std::set<std::string>& rails);

}  // namespace rail::engine
