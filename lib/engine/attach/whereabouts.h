// Where the pods of the record and their devices are, by evidence that does not hang on one path alone.
//
// Use:      const WhereaboutsById where = LookFor(record, connections, BootedMs());
//           if (where.at(id).pod == Whereabouts::Pod::kGone) ...        // undo it, after a grace
// Threads:  one at a time
// Source:   README.md of this folder ("Whether a pod lives"); cni.md of runtimes: /run/netns (containerd, CRI-O),
//           /proc/PID/ns/net (cri-dockerd), a folder of containerd's state (netns_mounts_under_state_dir)
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "lib/device/device.h"
#include "lib/engine/attach/connections.h"
#include "lib/engine/attach/record.h"

namespace rail::engine {

struct Whereabouts {
  enum class Pod {
    kLives,    // its namespace can be seen, or holds its device
    kGone,     // its namespace is gone for good
    kUnknown,  // its namespace cannot be seen from here, and nothing else says where it is: `unseen`
  };
  Pod pod = Pod::kUnknown;
  bool visible = false;  // its namespace can be entered
  device::Location device = device::Location::kUnknown;
  std::string
      unseen;  // why its namespace cannot be seen, and what is missing, for people; "": it can, or it is gone

  // A pod that lives, whose device is not in it: its NIC was reset, or has made its VFs anew.
  bool device_lost() const {
    return visible && (device == device::Location::kHost || device == device::Location::kNowhere);
  }
  bool operator==(const Whereabouts&) const = default;
};

using WhereaboutsById = std::map<int64_t, Whereabouts>;

// When this kernel was booted, in milliseconds of Unix time; 0: not known.
// Source: proc_stat(5), btime
int64_t BootedMs(const std::string& proc_stat = "/proc/stat");

// Whether the attachment was made before this boot. Where its record has no boot, by its time.
bool IsOlderThanBoot(const state::Attachment& attachment, int64_t booted_ms);

// Looks for every attachment of the record. An attachment that was made before this boot went with the machine. Where its record has
// no boot: an attachment that was made before `booted_ms`, unless its namespace or its device says otherwise, so that a clock that
// was set in between does no harm.
// If the host's links cannot be asked, no device is known; and a namespace counts as gone by its path alone only if its folder
// holds any other: a mount that is missing hides all of them.
WhereaboutsById LookFor(const Record& record, Connections& connections, int64_t booted_ms);

// Where the attachment's device is now. kUnknown: another plugin has moved it in, or the kernel cannot be asked.
device::Location LocationOf(const state::Attachment& attachment, const std::vector<state::Step>& steps,
                            Connections& connections);

// Where the device is that a port of ours stands for, by what OVSDB says of the port. kUnknown: as above, or an older version has
// made the port.
device::Location LocationBehind(const ovs::Port& port, Connections& connections);

}  // namespace rail::engine
