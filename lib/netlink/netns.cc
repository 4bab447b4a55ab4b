#include "lib/netlink/netns.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <system_error>

#include "lib/base/parse.h"
#include "lib/base/thread.h"

namespace rail::netns {
namespace {

// A key may contain an interface's name, which comes from outside. It must not lead out of /proc/sys.
bool IsSafeKey(std::string_view key) {
  const auto leads_out = [](std::string_view part) { return part.empty() || part == "." || part == ".."; };
  return key.find('\0') == std::string_view::npos && std::ranges::none_of(Split(key, "/"), leads_out);
}

std::string ProcSys() {
  const char* folder = std::getenv("RAILCNI_PROC_SYS");
  return folder == nullptr ? "/proc/sys" : folder;
}

// Says which mount is missing, where it is a mount that is missing.
tl::unexpected<Error> FailSysctl(int error, std::string_view doing) {
  Error failed = ErrnoError(error, doing);
  if (failed.code == Code::kPermission || ::access((ProcSys() + "/net").c_str(), F_OK) != 0) {
    failed.message +=
        "; a container needs the host's /proc/sys/net, writable, mounted at another path such as "
        "/host/proc/sys/net, and RAILCNI_PROC_SYS=/host/proc/sys (manifests/base has both)";
  }
  return tl::make_unexpected(std::move(failed));
}

Result<Fd> OpenSysctl(const std::string& key, int flags, std::string_view doing) {
  if (!IsSafeKey(key)) {
    return Fail(Code::kInvalid,
                std::string(doing) + ": the key is a path below /proc/sys such as net/ipv4/ip_forward");
  }
  Fd fd(::open((ProcSys() + "/" + key).c_str(), flags | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return FailSysctl(errno, doing);
  return fd;
}

}  // namespace

const std::string& BootId() {
  static const std::string id = [] {
    std::string line;
    std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), line);
    return line;
  }();
  return id;
}

Result<Netns> Netns::Open(const std::string& path) {
  const std::string doing = "open network namespace " + path;
  // O_NONBLOCK: if the path is something else (a FIFO), opening it does not wait.
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) return FailErrno(errno, doing);

  struct statfs fs{};
  if (::fstatfs(fd.get(), &fs) != 0) return FailErrno(errno, doing);
  if (fs.f_type != NSFS_MAGIC) {
    return Fail(Code::kInvalid,
                doing + ": this is no namespace (is it mounted in the mount namespace we run in?)");
  }
  if (::ioctl(fd.get(), NS_GET_NSTYPE) != CLONE_NEWNET) {
    return Fail(Code::kInvalid, doing + ": this is a namespace of another kind than network");
  }
  struct stat st{};
  if (::fstat(fd.get(), &st) != 0) return FailErrno(errno, doing);
  return Netns(std::move(fd), Identity{st.st_dev, st.st_ino, BootId()});
}

Result<Netns> Netns::Current() {
  return Open("/proc/thread-self/ns/net");
}

Status Netns::Run(const std::function<Status()>& body) const {
  Status status;
  RAIL_ASSIGN_AS(std::thread inside, StartThread([&] {
                   if (::setns(fd_.get(), CLONE_NEWNET) != 0) {
                     status = FailErrno(errno, "enter the network namespace");
                   } else {
                     status = body();
                   }
                 }),
                 "enter the network namespace");
  inside.join();
  return status;
}

Status WriteSysctl(const std::string& key, std::string_view value) {
  const std::string doing = "set sysctl " + key + " to " + std::string(value);
  RAIL_ASSIGN(const Fd fd, OpenSysctl(key, O_WRONLY, doing));
  // Write it in one piece: the kernel takes each write as a whole value.
  if (::write(fd.get(), value.data(), value.size()) < 0) return FailSysctl(errno, doing);
  return {};
}

Result<std::string> ReadSysctl(const std::string& key) {
  const std::string doing = "read sysctl " + key;
  RAIL_ASSIGN(const Fd fd, OpenSysctl(key, O_RDONLY, doing));
  char buffer[4096];
  const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
  if (n < 0) return FailErrno(errno, doing);
  std::string value(buffer, static_cast<size_t>(n));
  if (value.ends_with('\n')) value.pop_back();
  return value;
}

}  // namespace rail::netns
