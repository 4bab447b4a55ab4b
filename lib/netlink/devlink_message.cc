#include "lib/netlink/devlink_message.h"

namespace rail::netlink {
namespace {

Builder Command(int family, uint8_t command) {
  genlmsghdr body{};
  body.cmd = command;
  body.version = 1;
  return Builder(family, 0, body);
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

Result<int> FindDevlink(Socket& socket) {
  const std::string doing = "look for devlink in the kernel";
  Builder message = Command(GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
  message.String(CTRL_ATTR_FAMILY_NAME, DEVLINK_GENL_NAME);
  RAIL_TRY(message.Check(doing));
  std::optional<uint16_t> family;
  const Status found = socket.Request(message.get(), doing, [&](std::string_view bytes) {
    Attributes<CTRL_ATTR_MAX> attributes;
    if (Parse<genlmsghdr>(bytes, GENL_ID_CTRL, attributes) != nullptr) {
      family = attributes.Uint16(CTRL_ATTR_FAMILY_ID);
    }
  });
  if (!found && found.error().code != Code::kNotFound) return tl::make_unexpected(found.error());
  if (!family) return Fail(Code::kUnsupported, doing + ": it has none");
  return *family;
}

}  // namespace rail::netlink
