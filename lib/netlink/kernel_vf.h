// The kernel's Vfs.
//
// Use:      RAIL_ASSIGN(auto vfs, KernelVfs::Open());
// Threads:  one at a time
// Owns:     one socket; caches nothing
// Source:   rtnetlink(7)
#pragma once

#include <memory>
#include <string_view>

#include "lib/netlink/socket.h"
#include "lib/netlink/vf.h"

namespace rail::netlink {

class KernelVfs : public Vfs {
 public:
  static Result<std::unique_ptr<Vfs>> Open();

  Result<VfState> Get(int pf, uint32_t vf) override;
  Status Set(int pf, uint32_t vf, const VfChange& change) override;

 private:
  explicit KernelVfs(Socket socket) : socket_(std::move(socket)) {}

  Socket socket_;
};

// The state of VF `vf` in an RTM_NEWLINK of its PF; nothing when the message does not contain it. Pure.
std::optional<VfState> DecodeVf(std::string_view message, uint32_t vf);

}  // namespace rail::netlink
