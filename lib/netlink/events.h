// What the kernel multicasts to a netlink socket, as far as it is there already: the loop that every monitor has.
//
// Use:      RAIL_ASSIGN(const bool lost, ReceiveEvents(fd, buffer, "receive events of devlink", [&](std::string_view datagram) { ... }));
// Threads:  one at a time for each socket
// Source:   netlink(7)
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "lib/base/error.h"

namespace rail::netlink {

// Never waits. Passes on each datagram that the kernel has sent; what another process sends is dropped. True: the kernel had to drop some,
// so everything has to be read again. Errors: of recvfrom(2), after `doing`.
Result<bool> ReceiveEvents(int fd, std::span<char> buffer, std::string_view doing,
                           const std::function<void(std::string_view datagram)>& each);

}  // namespace rail::netlink
