#include "lib/netlink/xdp.h"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include <cerrno>
#include <optional>

#include "lib/netlink/attributes.h"
#include "lib/netlink/builder.h"

namespace rail::netlink {

Result<Xdp> Xdp::Open() {
  RAIL_ASSIGN(Socket socket, Socket::Open());
  return Xdp(std::move(socket));
}

namespace {

std::optional<std::pair<std::string, XdpState>> Read(std::string_view answer) {
  Attributes<IFLA_MAX> attributes;
  const auto* head = Parse<ifinfomsg>(answer, RTM_NEWLINK, attributes);
  if (head == nullptr) return std::nullopt;
  const auto xdp = attributes.Nested<IFLA_XDP_MAX>(IFLA_XDP);
  const uint8_t mode = xdp.Uint8(IFLA_XDP_ATTACHED).value_or(XDP_ATTACHED_NONE);
  XdpState state{.link = head->ifi_index,
                 .program = xdp.Uint32Or(IFLA_XDP_PROG_ID, 0),
                 .generic = mode == XDP_ATTACHED_SKB};
  // Where there are programs of several modes, each stands in an attribute of its own.
  if (mode == XDP_ATTACHED_MULTI) {
    state.program = xdp.Uint32Or(IFLA_XDP_SKB_PROG_ID, 0);
    state.generic = state.program != 0;
  }
  return std::pair(attributes.String(IFLA_IFNAME), state);
}

}  // namespace

Result<XdpState> Xdp::Of(const std::string& link) {
  const std::string doing = "read the XDP program of " + link;
  Builder message(RTM_GETLINK, 0, ifinfomsg{});
  message.String(IFLA_IFNAME, link);
  RAIL_ASSIGN(const auto one, Ask(socket_, message, doing, Read));
  if (!one) return Fail(Code::kNotFound, doing + ": the kernel does not tell of the link");
  return one->second;
}

Result<std::vector<std::pair<std::string, XdpState>>> Xdp::All() {
  const Builder message(RTM_GETLINK, 0, ifinfomsg{});
  return List(socket_, message, "list the XDP programs of links", [](std::string_view answer) {
    auto one = Read(answer);
    if (one && one->second.program == 0) one.reset();
    return one;
  });
}

Status Xdp::Set(const XdpState& now, int program, int replaced) {
  Builder message(RTM_SETLINK, 0, ifinfomsg{.ifi_index = now.link});
  nlattr* xdp = message.Nest(IFLA_XDP);
  message.Uint32(IFLA_XDP_FD, static_cast<uint32_t>(program));
  const uint32_t flags = replaced >= 0 ? XDP_FLAGS_REPLACE : XDP_FLAGS_UPDATE_IF_NOEXIST;
  message.Uint32(IFLA_XDP_FLAGS, XDP_FLAGS_SKB_MODE | flags);
  if (replaced >= 0) message.Uint32(IFLA_XDP_EXPECTED_FD, static_cast<uint32_t>(replaced));
  message.EndNest(xdp);
  Status set = Run(socket_, message, "set the XDP program of link " + std::to_string(now.link));
  if (!set && set.error().sys_errno == EBUSY) set.error().code = Code::kExists;
  return set;
}

}  // namespace rail::netlink
