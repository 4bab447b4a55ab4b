// The XDP program of a link.
//
// Use:      RAIL_ASSIGN(Xdp xdp, Xdp::Open());
//           RAIL_ASSIGN(const XdpState now, xdp.Of("rep0"));
//           RAIL_ASSIGN(const auto programs, xdp.All());
//           RAIL_TRY(xdp.Set(now, program_fd, now_fd));
// Threads:  one at a time
// Owns:     one socket; it stays in the namespace where it was opened
// Source:   kernel include/uapi/linux/if_link.h (IFLA_XDP_*), net/core/rtnetlink.c, net/core/dev.c (dev_change_xdp_fd)
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lib/netlink/socket.h"

namespace rail::netlink {

struct XdpState {
  int link = 0;          // index
  uint32_t program = 0;  // the kernel's number of the program; 0: none
  bool generic =
      false;  // it runs on the kernel's packets (XDP_FLAGS_SKB_MODE), else in the driver or in the NIC
};

class Xdp {
 public:
  static Result<Xdp> Open();

  // Errors: kNotFound no such link.
  Result<XdpState> Of(const std::string& link);
  // Of all links of the namespace that have a program, by name.
  Result<std::vector<std::pair<std::string, XdpState>>> All();
  // Makes the generic program of `now.link` that of `program`; -1: none. `replaced`: the program that it has now; -1: it has none. It is
  // another's if somebody has changed it since, and stays. Errors: kNotFound the link is gone; kExists another program is there.
  Status Set(const XdpState& now, int program, int replaced);

 private:
  explicit Xdp(Socket socket) : socket_(std::move(socket)) {}

  Socket socket_;
};

}  // namespace rail::netlink
