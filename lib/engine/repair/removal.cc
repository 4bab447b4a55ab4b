#include "lib/engine/repair/removal.h"

#include <algorithm>

#include "lib/engine/attach/tenant_link.h"
#include "lib/engine/attach/whereabouts.h"
#include "lib/engine/repair/lossless.h"
#include "lib/engine/repair/rates.h"

namespace rail::engine {
namespace {

using state::Attachment;
using state::Phase;

std::string NameOf(const Attachment& attachment) {
  return "pod " + attachment.Owner() + " on " + attachment.rail + " (device " + attachment.device + ")";
}

bool IsOurs(const ovs::Port& port) {
  return port.external_ids.contains(kOwnerKey);
}

// Another plugin (ovs-cni) has made it, and RailCNI has only marked it.
bool IsAdopted(const ovs::Port& port) {
  return port.external_ids.contains("owner");
}

bool MayLive(const Attachment& attachment, const Whereabouts& where) {
  return attachment.phase != Phase::kDeleting && where.pod != Whereabouts::Pod::kGone;
}

}  // namespace

Result<std::vector<std::string>> Removal::Live() {
  RecordReader reader(store_);
  RAIL_ASSIGN(const RecordPtr record, reader.Read());
  RAIL_ASSIGN(origin_, ReadOrigin(origin_file_));
  std::vector<std::string> live;
  const WhereaboutsById where = LookFor(*record, connections_, BootedMs());
  for (const Attachment& attachment : record->attachments) {
    if (MayLive(attachment, where.at(attachment.id))) live.push_back(NameOf(attachment));
  }
  // Open vSwitch that is down is no reason to refuse: what it has then stays to be removed.
  const auto bridges = Bridges();
  if (!bridges) return live;
  for (const ovs::Bridge& bridge : *bridges) {
    for (const ovs::Port& port : bridge.ports) {
      const bool known = std::ranges::any_of(record->attachments, [&](const Attachment& attachment) {
        return attachment.representor == port.name;
      });
      if (known || !IsOurs(port) || LocationBehind(port, connections_) != device::Location::kElsewhere)
        continue;
      live.push_back("a pod that the record has lost, behind port " + port.name + " of bridge " +
                     bridge.name);
    }
  }
  return live;
}

Result<std::vector<ovs::Bridge>> Removal::Bridges() {
  RAIL_ASSIGN(ovs::Ovsdb * db, connections_.Ovsdb());
  RAIL_ASSIGN(std::vector<ovs::Bridge> bridges, db->BridgesWith(kOwnerKey, connections_.CallDeadline()));
  for (const config::Rail& rail : config_.rails) {
    if (std::ranges::find(bridges, rail.bridge, &ovs::Bridge::name) != bridges.end()) continue;
    RAIL_ASSIGN(auto bridge, db->FindBridge(rail.bridge, connections_.CallDeadline()));
    if (bridge) bridges.push_back(std::move(*bridge));
  }
  return bridges;
}

bool Removal::Try(const std::string& what, const Status& status) {
  if (!status) removed_.left.push_back(what + ": " + status.error().message);
  return status.has_value();
}

Removed Removal::Run() {
  removed_ = {};
  auto read = ReadOrigin(origin_file_);
  if (!read) {
    Try("what was there before", tl::make_unexpected(read.error()));
    return std::move(removed_);
  }
  origin_ = std::move(*read);
  connections_.GiveTime(After(kStepLimit));
  Attachments();
  WaitForPods();
  // The addresses are withdrawn before the links to the leaves change.
  connections_.GiveTime(After(kStepLimit));
  Bgp();
  Loopback();
  connections_.GiveTime(After(kStepLimit));
  AllBridges();
  Vrfs();
  Guards();
  Qos();  // while the uplinks are there
  Rates();
  connections_.GiveTime(After(kStepLimit));
  Nics();
  return std::move(removed_);
}

void Removal::Attachments() {
  RecordReader reader(store_);
  const auto record = reader.Read();
  if (!Try("the record", record ? Status() : tl::make_unexpected(record.error()))) return;
  const WhereaboutsById where = LookFor(**record, connections_, BootedMs());
  bool pods = false;
  for (const Attachment& attachment : (*record)->attachments) {
    if (!MayLive(attachment, where.at(attachment.id))) continue;
    const LeftPod pod{attachment.pod_namespace + "/" + attachment.pod_name, attachment.netns_path,
                      NamespaceOf(attachment)};
    if (std::ranges::find(origin_.left_pods, pod) != origin_.left_pods.end()) continue;
    origin_.left_pods.push_back(pod);
    pods = true;
  }
  if (pods && !Save()) return;
  Node node{config_, store_, connections_};
  for (const Attachment& attachment : (*record)->attachments) {
    connections_.GiveTime(After(kStepLimit));
    Attachment deleting = attachment;
    deleting.phase = Phase::kDeleting;
    if (!Try(NameOf(attachment), store_.SetPhase(attachment.id, deleting.phase))) continue;
    const auto undone = Undo(node, deleting, "");
    if (!Try(NameOf(attachment), undone ? Status() : tl::make_unexpected(undone.error()))) continue;
    for (const std::string& failed : undone->failed)
      removed_.left.push_back(NameOf(attachment) + ": " + failed);
    if (undone->removed) removed_.done.push_back(NameOf(attachment) + ": its attachment");
  }
}

void Removal::WaitForPods() {
  for (const LeftPod& pod : origin_.left_pods) {
    const auto there = netns::Netns::Open(pod.netns_path);
    if (there && there->identity() == pod.identity) removed_.waiting.push_back(pod.name);
  }
}

void Removal::Bgp() {
  const bool base = config_.bgp.manage || origin_.bgp;
  const auto remove = [&]() -> Result<std::vector<std::string>> {
    RAIL_ASSIGN(frr::Bgp * bgp, connections_.Bgp());
    std::vector<std::string> interfaces;
    for (const config::Rail& rail : config_.rails) interfaces.push_back(rail.bridge);
    for (const std::string& link : config_.frontend.links) interfaces.push_back(link);
    return bgp->RemoveOurs(interfaces, {.base = base, .before = origin_.bgp, .next_hops = origin_.next_hops},
                           connections_.CallDeadline());
  };
  const auto lines = remove();
  if (!Try("bgpd", lines ? Status() : tl::make_unexpected(lines.error()))) return;
  if (!lines->empty())
    removed_.done.push_back("bgpd: " + std::to_string(lines->size()) + " lines of its configuration");
  if (base && (!origin_.bgp || !origin_.bgp->known) && !lines->empty()) {
    removed_.told.emplace_back(
        "bgpd: a version that kept no record of what was there had written to it. What has RailCNI's names "
        "is removed; the instance and the neighbors on the rails' bridges stay: compare with `vtysh -c 'show "
        "running-config'`");
  }
  if (origin_.bgp) {
    origin_.bgp.reset();
    Save();
  }
}

// After bgpd has withdrawn them. An address that was there before RailCNI is not in the record.
void Removal::Loopback() {
  if (origin_.loopback.empty()) return;
  const auto remove = [&](const IpPrefix& address) -> Status {
    RAIL_ASSIGN(netlink::Netlink * host, connections_.Netlink());
    RAIL_ASSIGN(const netlink::Link loopback, host->GetLink("lo"));
    const Status gone = host->DeleteAddress({.link = loopback.index, .prefix = address});
    return !gone && gone.error().code != Code::kNotFound ? gone : Status();
  };
  std::vector<IpPrefix> left;
  for (const IpPrefix& address : origin_.loopback) {
    if (Try("address " + address.ToString() + " of the loopback", remove(address))) {
      removed_.done.push_back("address " + address.ToString() + " of the loopback");
    } else {
      left.push_back(address);
    }
  }
  origin_.loopback = left;
  Save();
}

// Ports before the bridge: they would keep it from being removed.
Status Removal::RemovePorts(const ovs::Bridge& bridge) {
  RAIL_ASSIGN(ovs::Ovsdb * db, connections_.Ovsdb());
  for (const ovs::Port& port : bridge.ports) {
    if (const auto vlan = port.external_ids.find(kVlanKey); vlan != port.external_ids.end()) {
      RAIL_TRY(db->DeletePort(bridge.name, port.name, {{kVlanKey, vlan->second}}, ovs::Ovsdb::Wait::kClosed,
                              connections_.CallDeadline()));
    } else if (!IsOurs(port)) {
      continue;
    } else if (IsAdopted(port)) {
      RAIL_TRY(db->RemoveExternalIds(port.name, {kOwnerKey, kDeviceKey}, connections_.CallDeadline()));
    } else {
      RAIL_TRY(db->DeletePort(bridge.name, port.name, {{kOwnerKey, port.external_ids.at(kOwnerKey)}},
                              ovs::Ovsdb::Wait::kClosed, connections_.CallDeadline()));
    }
    removed_.done.push_back("port " + port.name + " of bridge " + bridge.name);
  }
  return {};
}

Status Removal::RemoveRules(const std::string& bridge) {
  RAIL_ASSIGN(ovs::OpenFlow * rules, connections_.OpenFlow(bridge));
  RAIL_ASSIGN(const uint64_t count, rules->Count(ovs::CookieMatch::Ours(), connections_.CallDeadline()));
  if (count == 0) return {};
  RAIL_TRY(rules->Commit({.remove_by_cookie = {ovs::CookieMatch::Ours()}}, connections_.CallDeadline()));
  removed_.done.push_back(std::to_string(count) + " rules of bridge " + bridge);
  return {};
}

// Those of tenants (mode `vrf`), after the ports that are in them. Name and table say whose they are.
void Removal::Vrfs() {
  const auto remove = [&]() -> Status {
    RAIL_ASSIGN(netlink::Netlink * host, connections_.Netlink());
    RAIL_ASSIGN(const std::vector<netlink::Link> links, host->ListLinks());
    for (const netlink::Link& link : links) {
      if (!IsTenantVrf(link)) continue;
      const Status gone = host->DeleteLink(link.index);
      if (!gone && gone.error().code == Code::kNotFound) continue;
      RAIL_TRY(gone);
      removed_.done.push_back("VRF " + link.name);
    }
    return {};
  };
  Try("VRFs of tenants", remove());
}

// Of all representors, also of those that no pod has. Their names say whose they are.
void Removal::Guards() {
  const auto remove = [&]() -> Status {
    RAIL_ASSIGN(guard::Guard * guard, connections_.Guard());
    RAIL_ASSIGN(const std::vector<std::string> links, guard->RemoveAll());
    for (const std::string& link : links) removed_.done.push_back("guard of representor " + link);
    return {};
  };
  Try("guards of representors", remove());
}

// As the kernel's default is. Before the bridge goes, so that a removal that fails here is tried again.
Status Removal::GiveIpv6Back(const std::string& uplink) {
  const std::string path = "net/ipv6/conf/" + uplink + "/disable_ipv6";
  const auto by_default = netns::ReadSysctl("net/ipv6/conf/default/disable_ipv6");
  const auto now = netns::ReadSysctl(path);
  if (!by_default || !now || *by_default == *now) return {};  // the link is gone, or the kernel has no IPv6
  return netns::WriteSysctl(path, *by_default);
}

// A bridge that goes takes its rules along.
Status Removal::OneBridge(const ovs::Bridge& bridge) {
  RAIL_ASSIGN(ovs::Ovsdb * db, connections_.Ovsdb());
  RAIL_TRY(RemovePorts(bridge));
  const auto mark = bridge.external_ids.find(kOwnerKey);
  const bool marked = mark != bridge.external_ids.end();
  if (!marked || origin_.adopted.contains(bridge.name)) {
    RAIL_TRY(RemoveRules(bridge.name));
    if (!marked) return {};
    RAIL_TRY(db->UnmarkBridge(bridge.name, {kOwnerKey, kUplinkKey}, connections_.CallDeadline()));
    origin_.adopted.erase(bridge.name);
    removed_.told.push_back("bridge " + bridge.name +
                            " stays with its uplink: an earlier version had taken it over from somebody. If "
                            "nothing else uses it: `ovs-vsctl del-br " +
                            bridge.name + "`");
    return WriteOrigin(origin_file_, origin_);
  }
  // An earlier version has not written it down.
  const auto rail = std::ranges::find(config_.rails, bridge.name, &config::Rail::bridge);
  const auto known = bridge.external_ids.find(kUplinkKey);
  const std::string uplink = known != bridge.external_ids.end() ? known->second
                             : rail != config_.rails.end()      ? rail->pf
                                                                : "";
  RAIL_TRY(GiveIpv6Back(uplink));
  RAIL_ASSIGN(const bool removed, db->DeleteBridge(bridge.name, {{kOwnerKey, mark->second}}, uplink,
                                                   connections_.CallDeadline()));
  if (!removed) return {};
  removed_.done.push_back("bridge " + bridge.name);
  if (uplink.empty()) return {};
  removed_.told.push_back("uplink " + uplink + " keeps its MTU; IPv6 is as by default, without addresses");
  return {};
}

void Removal::AllBridges() {
  const auto bridges = Bridges();
  if (!Try("bridges of Open vSwitch", bridges ? Status() : tl::make_unexpected(bridges.error()))) return;
  for (const ovs::Bridge& bridge : *bridges) {
    connections_.GiveTime(After(kStepLimit));
    Try("bridge " + bridge.name, OneBridge(bridge));
  }
}

void Removal::Qos() {
  const auto before = origin_.qos;
  const Status given =
      GiveQosBack(deps_.openers(config_), before, removed_.done, [&](const std::string& uplink) -> Status {
        origin_.qos.erase(uplink);
        return WriteOrigin(origin_file_, origin_);
      });
  Try("priorities of uplinks", given);
}

// Wherever a rate node has one of our names, whatever node.json says now.
void Removal::Rates() {
  const auto give_back = [&]() -> Status {
    const Openers openers = deps_.openers(config_);
    if (!openers.rates) return {};
    auto rates = openers.rates();
    if (!rates && rates.error().code == Code::kUnsupported) return {};  // no devlink, and so no nodes
    if (!rates) return tl::make_unexpected(rates.error());
    RAIL_ASSIGN(const netlink::RateTrees trees, (*rates)->ListAll());
    const auto parents = origin_.rate_parents;
    return ReturnRates(
        **rates, trees, {}, parents,
        [&](const std::string& port) -> Status {
          if (origin_.rate_parents.erase(port) == 0) return {};
          return WriteOrigin(origin_file_, origin_);
        },
        removed_.done);
  };
  if (!Try("rates", give_back()) || origin_.rate_parents.empty()) return;
  origin_.rate_parents.clear();  // of ports that are not there any more
  Save();
}

void Removal::Nics() {
  const auto nics = origin_.nics;
  for (const auto& [uplink, before] : nics) {
    FileLock lock;
    const auto give_back = [&, &uplink = uplink, &before = before]() -> Result<std::vector<std::string>> {
      Openers openers = deps_.openers(config_);
      if (!openers.give_nic_back) return std::vector<std::string>();
      return openers.give_nic_back(uplink, before, [&]() -> Result<std::set<std::string>> {
        RAIL_ASSIGN(lock, openers.lock_devices(FileLock::Kind::kAlone));
        RAIL_ASSIGN(const std::vector<Attachment> attachments, store_.List());
        std::set<std::string> claimed;
        for (const Attachment& attachment : attachments) claimed.insert(attachment.device);
        return claimed;
      });
    };
    const auto done = give_back();
    if (!Try("NIC of " + uplink, done ? Status() : tl::make_unexpected(done.error()))) continue;
    for (const std::string& change : *done) removed_.done.push_back("NIC of " + uplink + ": " + change);
    origin_.nics.erase(uplink);
    Save();
  }
}

}  // namespace rail::engine
