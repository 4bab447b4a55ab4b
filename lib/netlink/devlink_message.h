// Messages to and from devlink, and the number of its family in this kernel: what kernel_devlink and kernel_rates share.
//
// Use:      RAIL_ASSIGN(const int family, FindDevlink(socket));  Builder message = OfDevice(family, DEVLINK_CMD_RATE_GET, nic);
// Threads:  pure functions, but for the socket
#pragma once

#include <linux/devlink.h>
#include <linux/genetlink.h>

#include <optional>
#include <string>
#include <string_view>

#include "lib/netlink/attributes.h"
#include "lib/netlink/builder.h"
#include "lib/netlink/devlink.h"
#include "lib/netlink/rates.h"
#include "lib/netlink/socket.h"

namespace rail::netlink {

using DevlinkAttributes = Attributes<DEVLINK_ATTR_MAX>;

// Parses a generic netlink message of any family.
const genlmsghdr* ParseGeneric(std::string_view message, DevlinkAttributes& attributes);

Builder OfDevice(int family, uint8_t command, const DevlinkHandle& device);

// For a dump.
Builder OfAllDevices(int family, uint8_t command);

// Errors: kUnsupported this kernel has no devlink.
Result<int> FindDevlink(Socket& socket);
// The number of the multicast group of devlink's events. Errors: as FindDevlink.
Result<uint32_t> FindDevlinkEvents(Socket& socket);

// Adds a message of the kernel to the tree of its NIC, when it is of a rate. Pure.
void DecodeRate(std::string_view message, RateTrees& trees);
// The same when it is of a rate of `device`.
void DecodeRate(std::string_view message, const DevlinkHandle& device, RateTree& tree);
// The requests, for a test that holds them against what devlink(8) sends. Pure.
Builder NodeRequest(int family, uint8_t command, const DevlinkHandle& device, const std::string& name,
                    const std::optional<Rate>& rate);
Builder LeafRequest(int family, const DevlinkHandle& device, uint32_t port, const std::optional<Rate>& rate,
                    const std::optional<std::string>& parent);

}  // namespace rail::netlink
