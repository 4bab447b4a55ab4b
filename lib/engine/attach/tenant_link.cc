#include "lib/engine/attach/tenant_link.h"

#include <algorithm>

#include "lib/netlink/netns.h"
#include "lib/tenancy/vrf_name.h"

namespace rail::engine {
namespace {

constexpr uint32_t kFirstTable = 100'000;
constexpr uint32_t kVlans = 4096;

uint32_t TableOf(const tenancy::RailVlan& place) {
  return kFirstTable + place.rail * kVlans + place.vlan;
}

Result<netlink::Link> EnsureVrf(netlink::Netlink& host, const config::Rail& rail, uint16_t vlan,
                                bool& changed) {
  const std::string name = VrfName(rail, vlan);
  const uint32_t table = VrfTable(rail, vlan);
  auto vrf = host.GetLink(name);
  if (!vrf && vrf.error().code == Code::kNotFound) {
    const Status made = host.AddVrf(name, table);
    if (!made && made.error().code == Code::kUnsupported)
      return Fail(Code::kUnsupported,
                  made.error().message + ": mode \"vrf\" needs a kernel with VRFs (modprobe vrf)");
    // A plugin and raild may make it at once.
    if (!made && made.error().code != Code::kExists) return tl::make_unexpected(made.error());
    changed = true;
    vrf = host.GetLink(name);
  }
  if (!vrf) return tl::make_unexpected(vrf.error());
  if (vrf->kind != "vrf" || vrf->table != table) {
    return Fail(Code::kExists, "the link " + name + " is not the VRF with table " + std::to_string(table) +
                                   " that VLAN " + std::to_string(vlan) + " of rail " + rail.name +
                                   " needs: rename it or remove it");
  }
  if (!vrf->up) {
    RAIL_TRY(host.SetUp(vrf->index));
    changed = true;
  }
  return vrf;
}

ovs::ExternalIds MarkOf(uint16_t vlan) {
  return {{kVlanKey, std::to_string(vlan)}};
}

Result<ovs::Port> EnsurePort(Connections& connections, const config::Rail& rail, uint16_t vlan,
                             const MacAddress& mac, bool& changed) {
  RAIL_ASSIGN(ovs::Ovsdb * db, connections.Ovsdb());
  const std::string name = VlanPortName(rail, vlan);
  RAIL_ASSIGN(const auto there, db->FindPort(name, connections.CallDeadline()));
  if (there && there->bridge == rail.bridge && there->ofport > 0 && VlanOfPort(rail, *there) == vlan)
    return *there;
  if (there && !there->external_ids.contains(kVlanKey)) {
    return Fail(Code::kExists, "the port " + name + " of bridge " + there->bridge +
                                   " is not RailCNI's, and VLAN " + std::to_string(vlan) + " of rail " +
                                   rail.name + " needs the name: remove it");
  }
  // Of another bridge: that of the rail before node.json gave it this one.
  if (there && there->bridge != rail.bridge) {
    RAIL_TRY(db->DeletePort(there->bridge, name, MarkOf(vlan), ovs::Ovsdb::Wait::kClosed,
                            connections.CallDeadline()));
  }
  changed = true;
  return db->AddPort({.bridge = rail.bridge,
                      .name = name,
                      .external_ids = MarkOf(vlan),
                      .mtu = rail.mtu,
                      .ofport_request = {},
                      .internal = true,
                      .mac = mac.ToString()},
                     connections.CallDeadline());
}

// As LOCAL in the other modes: the leaf advertises itself as a router, and must not become the host's default route. Duplicate address
// detection would keep the port from speaking for the first one to two seconds, in which a pod waits for its session; the address comes
// from the bridge's MAC, and the leaf is all that is in the VLAN.
Status Sysctls(const std::string& link) {
  for (const auto& [key, value] :
       {std::pair{"accept_ra", "0"}, std::pair{"accept_dad", "0"}, std::pair{"disable_ipv6", "0"}}) {
    const std::string path = "net/ipv6/conf/" + link + "/" + key;
    const auto now = netns::ReadSysctl(path);
    // A kernel without IPv6, whose sessions never come up, which is said of them.
    if (!now && now.error().code == Code::kNotFound) return {};
    if (!now) return tl::make_unexpected(now.error());
    if (*now != value) RAIL_TRY(netns::WriteSysctl(path, value));
  }
  return {};
}

}  // namespace

uint32_t VrfTable(const config::Rail& rail, uint16_t vlan) {
  return TableOf({rail.index, vlan});
}

bool IsTenantVrf(const netlink::Link& link) {
  const auto place = tenancy::PlaceOfVrf(link.name);
  return link.kind == "vrf" && place && link.table == TableOf(*place);
}

IpAddress FeedAddress(const config::Rail& rail, uint16_t vlan) {
  return *IpAddress::Parse("127." + std::to_string(1 + rail.index) + "." + std::to_string(vlan >> 8) + "." +
                           std::to_string(vlan & 0xff));
}

std::optional<std::string> VrfOfFeed(const config::NodeConfig& config, const IpAddress& address) {
  if (address == *IpAddress::Parse("127.0.0.1")) return "";
  const std::string_view bytes = address.bytes();
  if (address.is_v6() || bytes.size() != 4 || static_cast<uint8_t>(bytes[0]) != 127) return std::nullopt;
  const auto vlan =
      static_cast<uint16_t>(static_cast<uint8_t>(bytes[2]) << 8 | static_cast<uint8_t>(bytes[3]));
  for (const config::Rail& rail : config.rails) {
    if (vlan != config::kNoVlan && vlan <= config::kLastVlan && FeedAddress(rail, vlan) == address)
      return VrfName(rail, vlan);
  }
  return std::nullopt;
}

std::vector<frr::Announcement> AnnouncementsOf(const state::Attachment& attachment,
                                               const config::Rail& rail) {
  std::vector<frr::Announcement> all;
  for (const IpAddress& address : attachment.addresses)
    all.push_back({address, rail.name, rail.index, attachment.tenant_id, tenancy::PlaneOf(rail)});
  return all;
}

Result<Announcer> AnnouncerOf(const config::NodeConfig& config, const config::Rail& rail,
                              const std::string& tenant) {
  if (config.tenancy.mode != config::TenancyMode::kVrf) return Announcer{"", rail.bridge, config::kNoVlan};
  const uint16_t vlan = config.tenancy.vlans.Of(tenant);
  if (vlan == config::kNoVlan) {
    return Fail(
        Code::kInvalid,
        "tenant \"" + tenant +
            "\" has no VLAN: add it to tenancy.vlans of node.json, with the VLAN of its VRF on the leaf");
  }
  return Announcer{VrfName(rail, vlan), VlanPortName(rail, vlan), vlan};
}

Result<TenantLink> EnsureTenantLink(Connections& connections, const config::Rail& rail, uint16_t vlan) {
  TenantLink made;
  RAIL_ASSIGN(netlink::Netlink * host, connections.Netlink());
  RAIL_ASSIGN_AS(const netlink::Link local, host->GetLink(rail.bridge), "rail " + rail.name);
  RAIL_ASSIGN(const netlink::Link vrf, EnsureVrf(*host, rail, vlan, made.changed));
  made.vrf = vrf.index;
  RAIL_ASSIGN(const ovs::Port port, EnsurePort(connections, rail, vlan, local.mac, made.changed));
  made.ofport = static_cast<uint16_t>(port.ofport);
  RAIL_ASSIGN(const netlink::Link link, host->GetLink(port.name));
  made.port = link.index;
  // The bridge has its NIC's MAC, and the NIC may have been replaced. What comes from the leaf asks for that MAC.
  if (link.mac != local.mac) {
    RAIL_TRY(host->SetMac(link.index, local.mac));
    made.changed = true;
  }
  // Before it goes up, as it begins to speak then; and a link that changes its VRF while it is up forgets whom it knows.
  made.sysctls = Sysctls(port.name);
  if (link.master != vrf.index) {
    RAIL_TRY(host->SetMaster(link.index, vrf.index));
    made.changed = true;
  }
  if (!link.up) {
    RAIL_TRY(host->SetUp(link.index));
    made.changed = true;
  }
  return made;
}

Status RemoveTenantLink(Connections& connections, const config::Rail& rail, uint16_t vlan) {
  RAIL_ASSIGN(ovs::Ovsdb * db, connections.Ovsdb());
  RAIL_TRY(db->DeletePort(rail.bridge, VlanPortName(rail, vlan), MarkOf(vlan), ovs::Ovsdb::Wait::kClosed,
                          connections.CallDeadline()));
  RAIL_ASSIGN(netlink::Netlink * host, connections.Netlink());
  const auto vrf = host->GetLink(VrfName(rail, vlan));
  if (!vrf && vrf.error().code == Code::kNotFound) return {};
  if (!vrf) return tl::make_unexpected(vrf.error());
  if (vrf->kind != "vrf" || vrf->table != VrfTable(rail, vlan)) return {};
  const Status gone = host->DeleteLink(vrf->index);
  return !gone && gone.error().code == Code::kNotFound ? Status() : gone;
}

Status EnsureTenantInstance(frr::Bgp& bgp, const config::NodeConfig& config, const config::Rail& rail,
                            uint16_t vlan, const std::vector<frr::Announcement>& announcements,
                            Deadline deadline) {
  frr::Bgp& instance = bgp.Instance(VrfName(rail, vlan));
  const auto session = instance.SessionState(VlanPortName(rail, vlan), deadline);
  if (!session && session.error().code != Code::kNotFound) return tl::make_unexpected(session.error());
  frr::BaseConfig base{.router_id = config.bgp.router_id,
                       .rails = {},
                       .max_prefixes = config.bgp.max_prefixes,
                       .frontend = config.frontend.on()};
  RAIL_TRY(instance.EnsureBase(base, deadline));
  if (!session && !announcements.empty()) RAIL_TRY(instance.AnnounceAll(announcements, deadline));
  base.rails = {{rail.name, rail.index, VlanPortName(rail, vlan)}};
  RAIL_TRY(instance.EnsureBase(base, deadline));
  return {};
}

std::vector<uint16_t> Unused::Due(const std::set<uint16_t>& there, const std::set<uint16_t>& present,
                                  Deadline now) {
  std::map<uint16_t, Deadline> until;
  std::vector<uint16_t> due;
  for (const uint16_t vlan : there) {
    if (present.contains(vlan)) continue;
    const auto known = until_.find(vlan);
    const Deadline end = known == until_.end() ? now + kTenantKept : known->second;
    if (now >= end) due.push_back(vlan);
    until.emplace(vlan, now >= end ? now + kAgain : end);
  }
  until_ = std::move(until);
  return due;
}

void Unused::NotSeen(Deadline now) {
  for (auto& [vlan, until] : until_) until = std::max(until, now + kAgain);
}

std::optional<Deadline> Unused::next() const {
  std::optional<Deadline> next;
  for (const auto& [vlan, until] : until_) next = Earlier(next, until);
  return next;
}

}  // namespace rail::engine
