// Looks after what happens to attachments between their ADD and their DEL. Undoes what nobody else will undo: work that a DEL had to
// leave, and attachments whose namespace is gone. Puts a device back that its NIC has made anew under a pod that lives.
//
// Use:      Sweeper sweeper(config, deps, *store, node_status);
//           const Swept swept = sweeper.Run();   // every 30 s, when a broken part is right again, when a link of the host changes
// Threads:  one; the NodeStatus may be shared
#pragma once

#include <cstdint>
#include <map>

#include "lib/engine/attach/attachment.h"
#include "lib/engine/attach/verb_context.h"
#include "lib/engine/attach/whereabouts.h"
#include "lib/engine/repair/node_status.h"

namespace rail::engine {

// The DEL of an attachment whose namespace is gone may still come. A runtime retries it within a minute or not at all.
inline constexpr std::chrono::seconds kGoneGrace{60};

// Puts a device back into its pod, after the NIC has made the device anew: it was reset, or its VFs were removed and made again
// (README.md of this folder, "A device that is made anew"). Gives the device the MAC that the attachment has, applies what its network
// asked for, moves it in and configures it as the ADD did. Does nothing when a DEL has begun meanwhile. What it began and could not
// finish, it takes back. May be repeated.
// Errors: kNotFound the device does not exist; kUnsupported another plugin has plumbed it; as device::Backend::MoveIn and
//         podnet::PodNet::Configure.
Status PutDeviceBack(Node& node, const state::Attachment& attachment);

struct Swept {
  int undone = 0;        // attachments of which nothing is left
  bool devices = false;  // an attachment has lost its device, or has it back
};

class Sweeper {
 public:
  // `gone_grace`: how long a namespace must have been gone before its attachments are undone. An attachment that was made before
  // `booted_ms` went with the machine. It is undone at once, because the pods that come back want its device. A clock that was
  // set in between does no harm: the namespace must be gone in any case.
  Sweeper(const config::NodeConfig& config, const Deps& deps, state::Store& store, NodeStatus& node_status,
          Clock::duration gone_grace = kGoneGrace, int64_t booted_ms = BootedMs());

  Swept Run();

 private:
  void Report(const Record& record, const WhereaboutsById& where);
  bool PutBack(Node& node, const Record& record, WhereaboutsById& where);

  const config::NodeConfig& config_;
  const Deps deps_;
  RecordReader record_;
  NodeStatus& node_status_;
  const Clock::duration gone_grace_;
  const int64_t booted_ms_;
  std::map<int64_t, Deadline> gone_since_;  // attachments that were dead or in a DEL at the last look, by id
};

}  // namespace rail::engine
