// Undoes what nobody else will: work that a DEL had to leave, and attachments whose namespace is gone.
//
// Use:      Sweeper sweeper(config, deps, *store, picture);   sweeper.Run();   // every 30 s, and when a broken part is right again
// Threads:  one; the picture may be shared
#pragma once

#include <map>

#include "lib/engine/picture.h"
#include "lib/engine/session.h"

namespace rail::engine {

// A namespace that is gone may be one whose DEL is on its way; a runtime retries within a minute or not at all.
inline constexpr std::chrono::seconds kGoneGrace{60};

class Sweeper {
 public:
  // `gone_grace`: for how long a namespace must have been gone before its attachments are undone.
  Sweeper(const config::NodeConfig& config, const Deps& deps, state::Store& store, Picture& picture,
          Clock::duration gone_grace = kGoneGrace);

  // Returns how many attachments were undone whole.
  int Run();

 private:
  const config::NodeConfig& config_;
  const Deps deps_;
  state::Store& store_;
  Picture& picture_;
  const Clock::duration gone_grace_;
  std::map<int64_t, Deadline> gone_since_;  // attachments whose namespace was not there when last looked
};

}  // namespace rail::engine
