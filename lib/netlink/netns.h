// Holds a network namespace and runs code in it; the caller's own thread never leaves its namespace.
//
// Use:      RAIL_ASSIGN(auto pod, Netns::Open("/run/netns/cni-1234"));
//           RAIL_TRY(pod.Run([&]() -> Status { ... sockets opened and /proc/sys written here are the pod's ... }));
// Threads:  Run makes a thread of its own, which ends before Run returns
// Owns:     an open descriptor: the namespace lives as long as this
// Source:   setns(2), network_namespaces(7), /proc/pid/ns
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "lib/base/error.h"
#include "lib/base/fd.h"

namespace rail::netns {

// Identifies this boot of the machine; "": not known.
// Source: Documentation/admin-guide/sysctl/kernel.rst, random/boot_id
const std::string& BootId();

// Identifies a namespace, whatever path leads to it. Device and inode alone identify it among the namespaces of one boot.
struct Identity {
  uint64_t device = 0;
  uint64_t inode = 0;
  std::string boot = {};  // BootId; "": not known, equal to any
  bool operator==(const Identity& other) const {
    return device == other.device && inode == other.inode &&
           (boot == other.boot || boot.empty() || other.boot.empty());
  }
};

class Netns {
 public:
  // Errors: kNotFound no such path; kInvalid the path is no network namespace; kPermission.
  static Result<Netns> Open(const std::string& path);
  // The namespace of the calling thread.
  static Result<Netns> Current();

  const Identity& identity() const { return identity_; }
  int fd() const { return fd_.get(); }

  // Runs `body` on a new thread inside the namespace and returns what it returns.
  // Errors: of setns (kPermission without CAP_SYS_ADMIN), of `body`.
  Status Run(const std::function<Status()>& body) const;

 private:
  Netns(Fd fd, Identity identity) : fd_(std::move(fd)), identity_(std::move(identity)) {}

  Fd fd_;
  Identity identity_;
};

// Writes /proc/sys/<key> of the calling thread's namespace ("net/ipv4/conf/net1/rp_filter" = "2").
// RAILCNI_PROC_SYS in the environment of the *process* names another folder than /proc/sys: in a container /proc/sys is
// read-only (OCI runtime specification, linux.readonlyPaths), and a mount of the host's at another path is not.
// Errors: kNotFound (message names the key), kInvalid, kPermission (message names the mount that is missing). Safe to repeat.
Status WriteSysctl(const std::string& key, std::string_view value);
Result<std::string> ReadSysctl(const std::string& key);  // without the newline

}  // namespace rail::netns
