// What a pod's NCCL, UCX and libfabric read, as files: a folder for each device that the kubelet gives, which the container sees.
//
// Use:      LibraryFiles files("/run/railcni/libs");
//           RAIL_ASSIGN(const std::string folder, files.Prepare({"0000:3b:00.2"})); // for Allocate: empty
//           RAIL_TRY(files.Write(*view, ask, Clock::now()));                        // after the pod's ADD
// Threads:  any
// Source:   lib/pcie/LIBS.md. The kubelet asks for one rail at a time and not for a pod (v1beta1), so the pod's files are in the folder of
//           each of its devices
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/clock.h"
#include "lib/engine/view.h"
#include "lib/inspect/hardware.h"

namespace rail::raild {

class LibraryFiles {
 public:
  using Ask = std::function<Result<inspect::LibsAnswer>(const inspect::LibsQuestion&)>;

  explicit LibraryFiles(std::string folder) : folder_(std::move(folder)) {}

  // Makes a folder for each device, without what the pod before has left in it. Returns that of the first: all get the same files, the pod's.
  // Errors: of making one. May be repeated.
  Result<std::string> Prepare(const std::vector<std::string>& devices);
  // Writes the files of each pod whose attachments have changed, into the folders of its devices; a device without a folder gets none.
  // Errors: of the first pod that fails, after all have been tried; it is tried again by the next call. One that lacks GIDs still is asked
  // for again when it has lacked them for twice as long, or ten minutes later. `gids` keeps what was first written of a GID for the same
  // attachments, also by an earlier process: the doctor compares today's GIDs with it.
  Status Write(const engine::NodeView& view, const Ask& ask, Deadline now);

 private:
  // A device that Prepare has made a folder for, or that has one since before this process.
  struct Folder {
    int turn = 0;                     // how often it was prepared
    std::string ids;                  // of the attachments whose files are in it
    Deadline since;                   // when they were first written
    std::optional<Deadline> again{};  // when to look for the GIDs that they lack
  };
  using Turns = std::map<std::string, int>;  // by device

  std::string PathOf(const std::string& device) const { return libs::FolderOf(folder_, device); }
  Turns Lacking(const std::vector<const state::Attachment*>& attachments, const std::string& ids,
                Deadline now);
  Status WriteTo(const Turns& devices, const std::string& ids, const inspect::LibsAnswer& answer,
                 Deadline now);

  const std::string folder_;
  std::mutex mutex_;  // not while the kubelet is asked, which may wait for Prepare
  std::map<std::string, Folder> folders_;
};

}  // namespace rail::raild
