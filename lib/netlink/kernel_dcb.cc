#include "lib/netlink/kernel_dcb.h"

#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>

#include <algorithm>

#include "lib/netlink/attributes.h"
#include "lib/netlink/builder.h"

namespace rail::netlink {
namespace {

Builder Command(int type, uint8_t command, const std::string& link) {
  dcbmsg body{};
  body.dcb_family = AF_UNSPEC;
  body.cmd = command;
  Builder message(type, 0, body);
  message.String(DCB_ATTR_IFNAME, link);
  return message;
}

DcbPfc PfcOf(const ieee_pfc& told) {
  DcbPfc pfc{.enabled = told.pfc_en, .capacity = told.pfc_cap, .mbc = told.mbc, .delay = told.delay};
  std::copy(std::begin(told.requests), std::end(told.requests), pfc.requests.begin());
  std::copy(std::begin(told.indications), std::end(told.indications), pfc.indications.begin());
  return pfc;
}

std::vector<DcbApp> AppsIn(nlattr* table) {
  std::vector<DcbApp> apps;
  if (table == nullptr) return apps;
  int left = nla_len(table);
  for (auto* one = static_cast<nlattr*>(nla_data(table)); nla_ok(one, left); one = nla_next(one, &left)) {
    dcb_app app;
    if (nla_type(one) != DCB_ATTR_IEEE_APP || nla_len(one) < static_cast<int>(sizeof app)) continue;
    std::memcpy(&app, nla_data(one), sizeof app);
    apps.push_back({.selector = app.selector, .priority = app.priority, .protocol = app.protocol});
  }
  std::ranges::sort(apps);
  return apps;
}

// The message itself: a Builder is for a caller that sends it at once.
Message Copy(const Builder& message) {
  return Message(message.Check("build") ? nlmsg_convert(nlmsg_hdr(message.get())) : nullptr);
}

}  // namespace

Message GetDcbRequest(const std::string& link) {
  return Copy(Command(RTM_GETDCB, DCB_CMD_IEEE_GET, link));
}

// The whole struct, as it was read: a driver takes `delay` for its buffers.
Message SetPfcRequest(const std::string& link, const DcbPfc& pfc) {
  ieee_pfc wanted{};
  wanted.pfc_cap = pfc.capacity;
  wanted.pfc_en = pfc.enabled;
  wanted.mbc = pfc.mbc;
  wanted.delay = pfc.delay;
  std::ranges::copy(pfc.requests, std::begin(wanted.requests));
  std::ranges::copy(pfc.indications, std::begin(wanted.indications));
  Builder message = Command(RTM_SETDCB, DCB_CMD_IEEE_SET, link);
  nlattr* ieee = message.Nest(DCB_ATTR_IEEE);
  message.Struct(DCB_ATTR_IEEE_PFC, wanted);
  message.EndNest(ieee);
  return Copy(message);
}

Message AppRequest(const std::string& link, const DcbApp& app, bool add) {
  const dcb_app entry{.selector = app.selector, .priority = app.priority, .protocol = app.protocol};
  Builder message = Command(RTM_SETDCB, add ? DCB_CMD_IEEE_SET : DCB_CMD_IEEE_DEL, link);
  nlattr* ieee = message.Nest(DCB_ATTR_IEEE);
  nlattr* table = message.Nest(DCB_ATTR_IEEE_APP_TABLE);
  message.Struct(DCB_ATTR_IEEE_APP, entry);
  message.EndNest(table);
  message.EndNest(ieee);
  return Copy(message);
}

std::optional<DcbState> DecodeDcb(std::string_view message) {
  Attributes<DCB_ATTR_MAX> attributes;
  const auto* body = Parse<dcbmsg>(message, RTM_GETDCB, attributes);
  if (body == nullptr || body->cmd != DCB_CMD_IEEE_GET || !attributes.Has(DCB_ATTR_IEEE)) return std::nullopt;
  const auto ieee = attributes.Nested<DCB_ATTR_IEEE_MAX>(DCB_ATTR_IEEE);
  DcbState state;
  if (const auto pfc = ieee.Struct<ieee_pfc>(DCB_ATTR_IEEE_PFC)) state.pfc = PfcOf(*pfc);
  if (const auto ets = ieee.Struct<ieee_ets>(DCB_ATTR_IEEE_ETS)) {
    state.ets.emplace();
    std::copy(std::begin(ets->prio_tc), std::end(ets->prio_tc), state.ets->traffic_class.begin());
  }
  state.apps = AppsIn(ieee.raw(DCB_ATTR_IEEE_APP_TABLE));
  if (const auto peer = ieee.Struct<ieee_pfc>(DCB_ATTR_IEEE_PEER_PFC)) state.peer_pfc = peer->pfc_en;
  return state;
}

// The kernel puts the negative errno into one byte.
std::optional<int> DecodeDcbErrno(std::string_view message) {
  Attributes<DCB_ATTR_MAX> attributes;
  if (Parse<dcbmsg>(message, RTM_SETDCB, attributes) == nullptr) return std::nullopt;
  const auto told = attributes.Uint8(DCB_ATTR_IEEE);
  if (!told) return std::nullopt;
  return *told == 0 ? 0 : 256 - *told;
}

Result<std::unique_ptr<Dcb>> KernelDcb::Open() {
  RAIL_ASSIGN(Socket socket, Socket::Open());
  return std::unique_ptr<Dcb>(new KernelDcb(std::move(socket)));
}

Result<DcbState> KernelDcb::Get(const std::string& link) {
  const std::string doing = "read how " + link + " treats priorities (dcbnl)";
  const Message request = GetDcbRequest(link);
  if (!request) return FailErrno(ENOBUFS, doing);
  std::optional<DcbState> state;
  RAIL_TRY(socket_.Request(request.get(), doing, [&](std::string_view bytes) { state = DecodeDcb(bytes); }));
  if (!state) return Fail(Code::kUnsupported, doing + ": its driver does not say");
  return std::move(*state);
}

Status KernelDcb::Change(nl_msg* message, const std::string& doing) {
  if (message == nullptr) return FailErrno(ENOBUFS, doing);
  std::optional<int> refused;
  RAIL_TRY(socket_.Request(message, doing, [&](std::string_view bytes) { refused = DecodeDcbErrno(bytes); }));
  if (refused.value_or(0) != 0) return FailErrno(*refused, doing);
  return {};
}

Status KernelDcb::SetPfc(const std::string& link, uint8_t enabled) {
  const std::string doing = "set PFC of " + link;
  RAIL_ASSIGN_AS(const DcbState now, Get(link), doing);
  if (!now.pfc) return Fail(Code::kUnsupported, doing + ": its driver has none");
  if (now.pfc->enabled == enabled) return {};
  DcbPfc wanted = *now.pfc;
  wanted.enabled = enabled;
  RAIL_TRY(Change(SetPfcRequest(link, wanted).get(), doing));
  // The kernel drops a request for which the driver has no function, and says that all is well.
  RAIL_ASSIGN_AS(const DcbState after, Get(link), doing);
  if (!after.pfc || after.pfc->enabled != enabled)
    return Fail(Code::kUnsupported, doing + ": its driver takes the request and changes nothing");
  return {};
}

Status KernelDcb::AddApp(const std::string& link, const DcbApp& app) {
  const Status added =
      Change(AppRequest(link, app, true).get(), "add to the table of applications of " + link);
  return !added && added.error().code == Code::kExists ? Status() : added;
}

Status KernelDcb::DeleteApp(const std::string& link, const DcbApp& app) {
  const std::string doing = "delete from the table of applications of " + link;
  Status deleted = Change(AppRequest(link, app, false).get(), doing);
  if (deleted || deleted.error().code != Code::kNotFound) return deleted;
  RAIL_TRY(Get(link));  // whether it is the entry that is not there, or the link
  return {};
}

}  // namespace rail::netlink
