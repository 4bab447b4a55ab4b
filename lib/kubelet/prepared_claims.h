// Which claims hold which devices of this node, on disk: a device has one holder, across crashes and for two processes beside each
// other. A claim's record appears first and goes last: its CDI file and its folder are there only while it is.
//
// Use:      RAIL_ASSIGN(auto claims, PreparedClaims::Open({.folder = "/var/lib/kubelet/plugins/rail.railcni.io/claims"}, After(10s)));
//           RAIL_ASSIGN(const auto devices, claims.Prepare(claim, allocated, edits, After(10s)));
//           RAIL_TRY(claims.Unprepare(claim.uid, After(10s)));
// Threads:  any; calls that change something wait for each other, also those of other processes
// Owns:     all in `folder`; of the CDI folder its own files
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/file_lock.h"
#include "lib/kubelet/claim.h"
#include "lib/kubelet/plugin.h"

namespace rail::kubelet {

class PreparedClaims {
 public:
  using Devices = std::vector<AllocatedDevice>;
  struct Options {
    std::string folder;  // for nothing else; outlives a reboot
    std::string cdi_folder = "/var/run/cdi";
    std::string
        boot;  // of the machine. After the next one device files have other numbers, and edits are asked for anew
  };
  struct Holding {
    ClaimName claim;
    std::vector<PreparedDevice> devices;
    std::string problem;  // the record is damaged: which file, and how; the rest is what could be read
  };
  // What containers get for all devices of one request (AddCdiDevice). Called with the lock held, before anything is written; changes nothing.
  using Edits = std::function<Result<Allocation>(const std::string& request, const Devices& devices)>;

  // Makes whole what a crash has left, or removes it. A damaged record is no error here: the pods of other claims have to end.
  // Errors: kBusy another process has the lock until the deadline; what mkdir(2), write(2) and unlink(2) say.
  static Result<PreparedClaims> Open(const Options& options, Deadline until);

  // May be repeated: the same devices give the same answer, from disk. What an error of writing leaves, the next call finishes.
  // Errors: kInvalid a name or the edits; kBusy another claim holds a device (the message names it), or the lock; kExists the claim
  // is prepared with other devices; kDamaged its record, or one whose devices cannot be read; those of `edits`; of write(2).
  Result<std::vector<PreparedDevice>> Prepare(const ClaimName& claim, const Devices& devices,
                                              const Edits& edits, Deadline until);
  // May be repeated; an unknown claim is success. A damaged record goes, too: the kubelet says that nobody has its devices.
  // Errors: kInvalid the uid; kBusy the lock; of unlink(2).
  Status Unprepare(const std::string& uid, Deadline until);

  Result<std::vector<Holding>> Held() const;
  // Errors: kDamaged no claim has it, as far as records can be read.
  Result<std::optional<ClaimName>> HolderOf(const std::string& pool, const std::string& device) const;
  // For files of the claim, there while it is prepared.
  std::string FolderOf(const std::string& uid) const { return options_.folder + "/" + uid; }

 private:
  explicit PreparedClaims(const Options& options) : options_(options) {}
  std::string RecordOf(const std::string& uid) const { return FolderOf(uid) + ".json"; }
  Result<FileLock> Lock(Deadline until) const;
  Status MakeWhole() const;
  Status PutEffects(const std::string& uid, const nlohmann::json& cdi) const;

  Options options_;
};

}  // namespace rail::kubelet
