// sysfs as the network namespace of the calling thread shows it: its links and RDMA devices, whatever is mounted where.
//
// Use:      pod.Run([&]() -> Status { RAIL_ASSIGN(auto view, SysfsView::Open());  names = List(view.path() + "/class/net"); ... });
// Threads:  any; path() is good in every thread of the process for as long as this lives
// Owns:     a mount that is attached nowhere: it goes with its descriptor
// Source:   fsopen(2), fsconfig(2), fsmount(2) (kernel 5.2); kernel fs/sysfs/mount.c: a mount shows the namespace that made it
#pragma once

#include <string>
#include <utility>

#include "lib/base/error.h"
#include "lib/base/fd.h"

namespace rail::netns {

class SysfsView {
 public:
  // Errors: kPermission without CAP_SYS_ADMIN; kUnsupported the kernel has no such calls.
  static Result<SysfsView> Open();
  std::string path() const { return "/proc/self/fd/" + std::to_string(mount_.get()); }

 private:
  explicit SysfsView(Fd mount) : mount_(std::move(mount)) {}
  Fd mount_;
};

}  // namespace rail::netns
