#include "cmd/raild/privileges.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace rail::raild {

uint64_t NeededCapabilities() {
  uint64_t needed = 0;
  for (const int capability : {CAP_NET_ADMIN, CAP_NET_RAW, CAP_SYS_ADMIN, CAP_DAC_OVERRIDE, CAP_CHOWN})
    needed |= uint64_t{1} << capability;
  return needed;
}

Status DropPrivileges() {
  uint64_t needed = NeededCapabilities();
  // A process that may not choose its capabilities has been given this one on purpose.
  if (::prctl(PR_CAPBSET_READ, CAP_SETPCAP, 0, 0, 0) == 0) needed |= uint64_t{1} << CAP_SYS_PTRACE;
  // Without CAP_SETPCAP the kernel refuses this, as in a container. There the runtime has set the bounding set.
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability) {
    if ((needed >> capability & 1) == 0 && ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 &&
        errno != EPERM)
      return FailErrno(errno, "drop capability " + std::to_string(capability));
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> sets{};
  if (::syscall(SYS_capget, &header, sets.data()) != 0) return FailErrno(errno, "read the capabilities");
  uint64_t bits = needed;
  for (auto& set : sets) {
    set.permitted &= static_cast<uint32_t>(bits);
    set.effective = set.permitted;
    set.inheritable = 0;
    bits >>= 32;
  }
  if (::syscall(SYS_capset, &header, sets.data()) != 0) return FailErrno(errno, "give up capabilities");
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return FailErrno(errno, "give up new privileges");
  return {};
}

}  // namespace rail::raild
