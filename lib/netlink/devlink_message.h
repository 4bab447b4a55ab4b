// How a message to devlink begins, and the number of its family in this kernel: what kernel_devlink and kernel_rates share.
//
// Use:      RAIL_ASSIGN(const int family, FindDevlink(socket));  Builder message = OfDevice(family, DEVLINK_CMD_RATE_GET, nic);
// Threads:  pure functions, but for the socket
#pragma once

#include <linux/devlink.h>
#include <linux/genetlink.h>

#include <string_view>

#include "lib/netlink/attributes.h"
#include "lib/netlink/builder.h"
#include "lib/netlink/devlink.h"
#include "lib/netlink/socket.h"

namespace rail::netlink {

using DevlinkAttributes = Attributes<DEVLINK_ATTR_MAX>;

// Parses a generic netlink message of any family.
const genlmsghdr* ParseGeneric(std::string_view message, DevlinkAttributes& attributes);

Builder OfDevice(int family, uint8_t command, const DevlinkHandle& device);

// Errors: kUnsupported this kernel has no devlink.
Result<int> FindDevlink(Socket& socket);

}  // namespace rail::netlink
