#include "lib/netlink/kernel_vf.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include <cstring>

#include "lib/netlink/attributes.h"
#include "lib/netlink/builder.h"

namespace rail::netlink {
namespace {

constexpr uint32_t kNotTold = ~0U;  // the kernel's -1: the driver did not fill it in

std::optional<bool> Switch(uint32_t setting) {
  return setting == kNotTold ? std::nullopt : std::optional(setting != 0);
}

std::optional<VfState> DecodeOne(nlattr* nested, uint32_t vf) {
  Attributes<IFLA_VF_MAX> attributes;
  if (nla_parse_nested(attributes.table(), IFLA_VF_MAX, nested, nullptr) < 0) return std::nullopt;
  const auto mac = attributes.Struct<ifla_vf_mac>(IFLA_VF_MAC);
  if (!mac || mac->vf != vf) return std::nullopt;
  VfState state;
  std::memcpy(state.mac.bytes.data(), mac->mac, state.mac.bytes.size());
  if (const auto vlan = attributes.Struct<ifla_vf_vlan>(IFLA_VF_VLAN)) {
    state.vlan.id = static_cast<uint16_t>(vlan->vlan);
    state.vlan.qos = static_cast<uint8_t>(vlan->qos);
  }
  const auto vlans = attributes.Nested<IFLA_VF_VLAN_INFO_MAX>(IFLA_VF_VLAN_LIST);
  if (const auto info = vlans.Struct<ifla_vf_vlan_info>(IFLA_VF_VLAN_INFO)) {
    state.vlan.service = info->vlan != 0 && ntohs(info->vlan_proto) == ETH_P_8021AD;
  }
  if (const auto rates = attributes.Struct<ifla_vf_rate>(IFLA_VF_RATE)) {
    state.rates = {rates->min_tx_rate, rates->max_tx_rate};
  }
  if (const auto spoofchk = attributes.Struct<ifla_vf_spoofchk>(IFLA_VF_SPOOFCHK)) {
    state.spoofchk = Switch(spoofchk->setting);
  }
  if (const auto trust = attributes.Struct<ifla_vf_trust>(IFLA_VF_TRUST)) {
    state.trust = Switch(trust->setting);
  }
  const auto link = attributes.Struct<ifla_vf_link_state>(IFLA_VF_LINK_STATE);
  if (link && link->link_state < __IFLA_VF_LINK_STATE_MAX) {
    state.link_state = static_cast<VfLinkState>(link->link_state);
  }
  return state;
}

// Sets one attribute of one VF.
template <class Body>
Status SetOne(Socket& socket, int pf, int type, const Body& body, const std::string& doing) {
  Builder message(RTM_NEWLINK, 0, ifinfomsg{.ifi_index = pf});
  nlattr* list = message.Nest(IFLA_VFINFO_LIST);
  nlattr* info = message.Nest(IFLA_VF_INFO);
  if constexpr (std::is_same_v<Body, ifla_vf_vlan_info>) {
    nlattr* vlans = message.Nest(type);
    message.Struct(IFLA_VF_VLAN_INFO, body);
    message.EndNest(vlans);
  } else {
    message.Struct(type, body);
  }
  message.EndNest(info);
  message.EndNest(list);
  return Run(socket, message, doing);
}

}  // namespace

std::optional<VfState> DecodeVf(std::string_view message, uint32_t vf) {
  Attributes<IFLA_MAX> attributes;
  if (Parse<ifinfomsg>(message, RTM_NEWLINK, attributes) == nullptr) return std::nullopt;
  nlattr* list = attributes.raw(IFLA_VFINFO_LIST);
  if (list == nullptr) return std::nullopt;
  int left = nla_len(list);
  for (auto* one = static_cast<nlattr*>(nla_data(list)); nla_ok(one, left); one = nla_next(one, &left)) {
    if (auto state = DecodeOne(one, vf)) return state;
  }
  return std::nullopt;
}

Result<std::unique_ptr<Vfs>> KernelVfs::Open() {
  RAIL_ASSIGN(Socket socket, Socket::Open());
  return std::unique_ptr<Vfs>(new KernelVfs(std::move(socket)));
}

Result<VfState> KernelVfs::Get(int pf, uint32_t vf) {
  const std::string doing = "read the state of VF " + std::to_string(vf) + " of link " + std::to_string(pf);
  Builder message(RTM_GETLINK, 0, ifinfomsg{.ifi_index = pf});
  message.Uint32(IFLA_EXT_MASK, RTEXT_FILTER_VF | RTEXT_FILTER_SKIP_STATS);
  const auto decode = [&](std::string_view bytes) { return DecodeVf(bytes, vf); };
  RAIL_ASSIGN(const std::optional<VfState> state, Ask(socket_, message, doing, decode));
  if (!state) return Fail(Code::kNotFound, doing + ": the link has no such VF");
  return *state;
}

Status KernelVfs::Set(int pf, uint32_t vf, const VfChange& change) {
  const auto doing = [&](const std::string& what) {
    return "set " + what + " of VF " + std::to_string(vf) + " of link " + std::to_string(pf);
  };
  if (change.vlan) {
    const uint16_t protocol = htons(change.vlan->service ? ETH_P_8021AD : ETH_P_8021Q);
    const ifla_vf_vlan_info body{vf, change.vlan->id, change.vlan->qos, protocol};
    RAIL_TRY(SetOne(socket_, pf, IFLA_VF_VLAN_LIST, body, doing("the VLAN")));
  }
  if (change.mac) {
    ifla_vf_mac body{};
    body.vf = vf;
    std::memcpy(body.mac, change.mac->bytes.data(), change.mac->bytes.size());
    RAIL_TRY(SetOne(socket_, pf, IFLA_VF_MAC, body, doing("the MAC address " + change.mac->ToString())));
  }
  if (change.rates) {
    const ifla_vf_rate body{vf, change.rates->min, change.rates->max};
    RAIL_TRY(SetOne(socket_, pf, IFLA_VF_RATE, body, doing("the rates")));
  }
  if (change.spoofchk) {
    const ifla_vf_spoofchk body{vf, *change.spoofchk ? 1U : 0U};
    RAIL_TRY(SetOne(socket_, pf, IFLA_VF_SPOOFCHK, body, doing("spoof checking")));
  }
  if (change.trust) {
    const ifla_vf_trust body{vf, *change.trust ? 1U : 0U};
    RAIL_TRY(SetOne(socket_, pf, IFLA_VF_TRUST, body, doing("trust")));
  }
  if (change.link_state) {
    const ifla_vf_link_state body{vf, static_cast<uint32_t>(*change.link_state)};
    RAIL_TRY(SetOne(socket_, pf, IFLA_VF_LINK_STATE, body, doing("the link state")));
  }
  return {};
}

}  // namespace rail::netlink
