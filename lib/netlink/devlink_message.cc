#include "lib/netlink/devlink_message.h"

#include <functional>

namespace rail::netlink {
namespace {

Builder Command(int family, uint8_t command) {
  genlmsghdr body{};
  body.cmd = command;
  body.version = 1;
  return Builder(family, 0, body);
}

constexpr char kLooking[] = "look for devlink in the kernel";
using Control = Attributes<CTRL_ATTR_MAX>;

Status AskForDevlink(Socket& socket, const std::function<void(const Control&)>& take) {
  Builder message = Command(GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
  message.String(CTRL_ATTR_FAMILY_NAME, DEVLINK_GENL_NAME);
  RAIL_TRY(message.Check(kLooking));
  const Status found = socket.Request(message.get(), kLooking, [&](std::string_view bytes) {
    Control told;
    if (Parse<genlmsghdr>(bytes, GENL_ID_CTRL, told) != nullptr) take(told);
  });
  return !found && found.error().code == Code::kNotFound ? Status() : found;
}

std::optional<uint32_t> GroupOf(const Control& told) {
  nlattr* groups = told.raw(CTRL_ATTR_MCAST_GROUPS);
  if (groups == nullptr) return std::nullopt;
  int left = nla_len(groups);
  for (auto* one = static_cast<nlattr*>(nla_data(groups)); nla_ok(one, left); one = nla_next(one, &left)) {
    Attributes<CTRL_ATTR_MCAST_GRP_MAX> group;
    if (nla_parse_nested(group.table(), CTRL_ATTR_MCAST_GRP_MAX, one, nullptr) < 0) continue;
    if (group.String(CTRL_ATTR_MCAST_GRP_NAME) == DEVLINK_GENL_MCGRP_CONFIG_NAME)
      return group.Uint32(CTRL_ATTR_MCAST_GRP_ID);
  }
  return std::nullopt;
}

}  // namespace

const genlmsghdr* ParseGeneric(std::string_view message, DevlinkAttributes& attributes) {
  const nlmsghdr* header = Header(message);
  return header == nullptr ? nullptr : Parse<genlmsghdr>(message, header->nlmsg_type, attributes);
}

Builder OfDevice(int family, uint8_t command, const DevlinkHandle& device) {
  Builder message = Command(family, command);
  message.String(DEVLINK_ATTR_BUS_NAME, device.bus).String(DEVLINK_ATTR_DEV_NAME, device.device);
  return message;
}

Builder OfAllDevices(int family, uint8_t command) {
  return Command(family, command);
}

Result<int> FindDevlink(Socket& socket) {
  std::optional<uint16_t> family;
  RAIL_TRY(AskForDevlink(socket, [&](const Control& told) { family = told.Uint16(CTRL_ATTR_FAMILY_ID); }));
  if (!family) return Fail(Code::kUnsupported, std::string(kLooking) + ": it has none");
  return *family;
}

Result<uint32_t> FindDevlinkEvents(Socket& socket) {
  std::optional<uint32_t> group;
  RAIL_TRY(AskForDevlink(socket, [&](const Control& told) { group = GroupOf(told); }));
  if (!group) return Fail(Code::kUnsupported, std::string(kLooking) + ": it has no events");
  return *group;
}

}  // namespace rail::netlink
