// Undoes what nobody else will undo: work that a DEL had to leave, and attachments whose namespace is gone.
//
// Use:      Sweeper sweeper(config, deps, *store, node_status);   sweeper.Run();   // every 30 s, and when a broken part is right again
// Threads:  one; the NodeStatus may be shared
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "lib/engine/node_status.h"
#include "lib/engine/verb_context.h"

namespace rail::engine {

// The DEL of an attachment whose namespace is gone may still come. A runtime retries it within a minute or not at all.
inline constexpr std::chrono::seconds kGoneGrace{60};

// When this kernel was booted, in milliseconds of Unix time; 0: not known.
// Source: proc_stat(5), btime
int64_t BootedMs(const std::string& proc_stat = "/proc/stat");

class Sweeper {
 public:
  // `gone_grace`: how long a namespace must have been gone before its attachments are undone. An attachment that was made before
  // `booted_ms` went with the machine. It is undone at once, because the pods that come back want its device. A clock that was
  // set in between does no harm: the namespace must be gone in any case.
  Sweeper(const config::NodeConfig& config, const Deps& deps, state::Store& store, NodeStatus& node_status,
          Clock::duration gone_grace = kGoneGrace, int64_t booted_ms = BootedMs());

  // Returns how many attachments were undone completely.
  int Run();

 private:
  const config::NodeConfig& config_;
  const Deps deps_;
  RecordReader record_;
  NodeStatus& node_status_;
  const Clock::duration gone_grace_;
  const int64_t booted_ms_;
  std::map<int64_t, Deadline> gone_since_;  // attachments that were dead or in a DEL at the last look, by id
};

}  // namespace rail::engine
