#include "lib/netlink/sysfs_view.h"

#include <linux/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace rail::netns {

// By syscall(2): the C library of Debian 12's headers and <linux/mount.h> define the same things.
Result<SysfsView> SysfsView::Open() {
  const Fd context(static_cast<int>(::syscall(SYS_fsopen, "sysfs", FSOPEN_CLOEXEC)));
  if (!context) return FailErrno(errno, "open a sysfs of the pod's namespace");
  if (::syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
    return FailErrno(errno, "make a sysfs of the pod's namespace");
  Fd mount(static_cast<int>(::syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC,
                                      MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)));
  if (!mount) return FailErrno(errno, "mount a sysfs of the pod's namespace");
  return SysfsView(std::move(mount));
}

}  // namespace rail::netns
