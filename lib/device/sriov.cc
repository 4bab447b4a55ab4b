#include "lib/device/sriov.h"

#include <algorithm>
#include <utility>

namespace rail::device {
namespace {

using netlink::RdmaDevice;
using netlink::RdmaNetns;
using netlink::VfChange;
using netlink::VfState;

const RdmaDevice* ByIndex(const std::vector<RdmaDevice>& devices, uint32_t index) {
  const auto it = std::ranges::find(devices, index, &RdmaDevice::index);
  return it == devices.end() ? nullptr : &*it;
}

constexpr uint64_t kBytesPerMbit = 125'000;  // devlink counts bytes per second

std::string Finding(const config::Rail& rail, const std::string& id) {
  return "find device " + id.substr(0, 64) + " of rail " + rail.name;
}

// The settings of `wanted` that differ from `now`. Leaves out what neither the driver nor the network sets.
VfChange Difference(const VfState& now, const VfState& wanted) {
  VfChange change;
  if (now.vlan != wanted.vlan) change.vlan = wanted.vlan;
  if (now.rates != wanted.rates) change.rates = wanted.rates;
  if (wanted.spoofchk && now.spoofchk != wanted.spoofchk) change.spoofchk = wanted.spoofchk;
  if (wanted.trust && now.trust != wanted.trust) change.trust = wanted.trust;
  if (wanted.link_state && now.link_state != wanted.link_state) change.link_state = wanted.link_state;
  if (now.mac != wanted.mac) change.mac = wanted.mac;
  return change;
}

// The VF's state as the network asks for it.
VfState Asked(const VfState& now, const Settings& settings, const MacAddress& mac) {
  VfState asked = now;
  if (settings.vlan) asked.vlan = *settings.vlan;
  if (settings.rates) asked.rates = *settings.rates;
  if (settings.spoofchk) asked.spoofchk = settings.spoofchk;
  if (settings.trust) asked.trust = settings.trust;
  if (settings.link_state) asked.link_state = settings.link_state;
  asked.mac = mac;
  return asked;
}

// "spoof checking is off and should be on", one for each difference.
std::vector<std::string> Describe(const VfChange& change, const VfState& now) {
  std::vector<std::string> problems;
  const auto note = [&](const std::string& what) {
    problems.push_back(what + " is not as the network asks");
  };
  if (change.vlan) note("the VLAN (" + std::to_string(now.vlan.id) + ")");
  if (change.mac) problems.push_back("the PF gives it the MAC address " + now.mac.ToString());
  if (change.rates) {
    note("the rate (" + std::to_string(now.rates.min) + " to " + std::to_string(now.rates.max) + " Mbit/s)");
  }
  if (change.spoofchk) note("spoof checking");
  if (change.trust) note("trust");
  if (change.link_state) note("the link state");
  return problems;
}

// "VF 3 of PF 0000:3b:00.0 (02:00:00:00:00:07)"
std::string PlaceInWords(uint32_t index, const std::string& pf, const MacAddress& pf_mac) {
  return "VF " + std::to_string(index) + " of PF " + pf +
         (pf_mac.is_zero() ? "" : " (" + pf_mac.ToString() + ")");
}

// A name that no other RDMA device wants: mlx5_4-0000-3b-00-2. It begins with the device's own name, because programs choose
// devices by the beginning of the name (NCCL_IB_HCA=mlx5).
std::string RdmaNameOfItsOwn(const Saved& saved) {
  constexpr size_t kLongest = 63;  // IB_DEVICE_NAME_MAX with its zero is 64
  std::string address = "-" + saved.id;
  std::ranges::replace_if(address, [](char c) { return c == ':' || c == '.'; }, '-');
  return saved.vf->rdma.substr(0, kLongest - address.size()) + address;
}

}  // namespace

Sriov::Sriov(netlink::Netlink& host, Netdev::OpenNetlink open_netlink, Connections connections)
    : host_(host),
      connections_(std::move(connections)),
      lookup_(sriov::Sysfs(connections_.sysfs), connections_.devlink),
      netdev_(host, std::move(open_netlink), connections_.monitor) {}

// sysfs shows the links of the host alone. A VF whose driver gives it none on the host has it elsewhere.
Result<Location> Sriov::Locate(const Saved& saved) {
  if (!lookup_.IsVf(saved.id)) return Location::kNowhere;
  if (saved.vf && !saved.vf->pf.empty() && !lookup_.IsVfOf(saved.id, saved.vf->pf, saved.vf->index))
    return Location::kNowhere;
  if (!lookup_.NetdevOf(saved.id).empty()) return Location::kHost;
  const std::string driver = lookup_.DriverOf(saved.id);
  return driver.empty() || sriov::IsUserspaceDriver(driver) ? Location::kNowhere : Location::kElsewhere;
}

// The PF's MAC address tells two NICs apart that have exchanged their addresses.
Result<std::string> Sriov::WhyGone(const Saved& saved) {
  if (!lookup_.Exists(saved.id)) return "this node has no device " + saved.id + " now";
  if (!lookup_.IsVf(saved.id)) return "what is at " + saved.id + " now is no virtual function";
  if (!saved.vf || saved.vf->pf.empty()) return std::string();
  const std::string doing = "tell whether " + saved.id + " is the same virtual function as before";
  RAIL_ASSIGN_AS(const sriov::Vf vf, lookup_.FindVf(saved.id), doing);
  RAIL_ASSIGN_AS(const netlink::Link pf, host_.GetLink(vf.pf.netdev), doing + ": its PF");
  const SavedVf& was = *saved.vf;
  const bool same_nic = was.pf_mac.is_zero() || pf.permanent_mac.is_zero() || was.pf_mac == pf.permanent_mac;
  if (same_nic && vf.pf.address == was.pf && vf.index == was.index) return std::string();
  return "what is at " + saved.id + " now is " + PlaceInWords(vf.index, vf.pf.address, pf.permanent_mac) +
         ", and the device was " + PlaceInWords(was.index, was.pf, was.pf_mac);
}

Result<Device> Sriov::Find(const config::Rail& rail, const std::string& id) {
  const std::string doing = Finding(rail, id);
  RAIL_ASSIGN(const sriov::Vf vf, VfOf(rail, id));
  if (sriov::IsUserspaceDriver(vf.driver)) {
    return Fail(Code::kUnsupported,
                doing + ": it is bound to " + vf.driver +
                    " and has no network interface: devices for DPDK or virtual machines are not supported");
  }
  if (vf.driver.empty()) {
    return Fail(Code::kUnsupported,
                doing + ": no driver is bound to it; echo " + id + " > /sys/bus/pci/drivers_probe");
  }
  if (vf.netdev.empty()) {
    return Fail(Code::kNotFound,
                doing + ": its interface is not on the host now; another pod may still have it");
  }
  RAIL_ASSIGN_AS(const std::string representor, RepresentorOf(rail, vf), doing);
  RAIL_ASSIGN_AS(const netlink::Link link, host_.GetLink(vf.netdev), doing);
  RAIL_TRY_AS(host_.GetLink(representor), doing + ": its representor");
  Device device;
  device.id = id;
  device.netdev = link.name;
  device.representor = representor;
  device.mac = link.mac;
  device.pf_address = vf.pf.address;
  device.rdma = vf.rdma;
  return device;
}

// Refuses a VF of another PF: it is on another leaf than the one to which the pod's addresses are announced.
Result<sriov::Vf> Sriov::VfOf(const config::Rail& rail, const std::string& id) const {
  const std::string doing = Finding(rail, id);
  RAIL_ASSIGN_AS(sriov::Vf vf, lookup_.FindVf(id), doing);
  RAIL_ASSIGN_AS(const std::vector<sriov::Pf> pfs, lookup_.FindPfs(rail.pf), doing + ": the rail's PF");
  if (std::ranges::find(pfs, vf.pf.device, &sriov::Pf::device) != pfs.end()) return vf;
  return Fail(Code::kInvalid, doing + ": it belongs to PF " + vf.pf.netdev + " (" + vf.pf.address +
                                  "), but the rail's PF is " + rail.pf + " (" + pfs.front().address +
                                  "): does the network's resource hold VFs of more than one rail?");
}

Status Sriov::CheckRail(const config::Rail& rail, const std::string& id) {
  if (!lookup_.Exists(id)) return {};
  const auto vf = VfOf(rail, id);
  return vf ? Status() : tl::make_unexpected(vf.error());
}

Result<std::string> Sriov::RepresentorOf(const config::Rail& rail, const sriov::Vf& vf) {
  RAIL_ASSIGN(std::string told, lookup_.FindRepresentor(vf));
  const config::DeviceEntry* entry = rail.FindDevice(vf.address);
  if (entry != nullptr && !told.empty() && entry->representor != told) {
    return Fail(Code::kInvalid,
                "node.json says that its representor is " + entry->representor + ", the kernel says " + told);
  }
  if (!told.empty()) return told;
  if (entry != nullptr) return entry->representor;
  return Fail(Code::kUnsupported, "the kernel names no representor for it: set " + vf.pf.address +
                                      " to switchdev mode (devlink dev eswitch set, or \"manage_sriov\" in "
                                      "node.json), or name one in node.json under rails[].devices");
}

Result<Sriov::Place> Sriov::PlaceOf(const std::string& address, bool with_rates) {
  RAIL_ASSIGN(const sriov::Vf vf, lookup_.FindVf(address));
  RAIL_ASSIGN_AS(netlink::Link pf, host_.GetLink(vf.pf.netdev), "the VF's PF");
  if (!vfs_) {
    RAIL_ASSIGN(vfs_, connections_.vfs());
  }
  Place place{std::move(pf), vf.index, vfs_.get(), std::nullopt};
  if (with_rates) {
    RAIL_ASSIGN_AS(place.leaf, LeafOf(vf), "the VF's port");
  }
  return place;
}

Result<std::optional<Sriov::Leaf>> Sriov::LeafOf(const sriov::Vf& vf) {
  if (!rates_) {
    auto opened = connections_.rates();
    if (!opened && opened.error().code == Code::kUnsupported) return std::nullopt;
    if (!opened) return tl::make_unexpected(opened.error());
    rates_ = std::move(*opened);
  }
  RAIL_ASSIGN(const std::optional<uint32_t> port, lookup_.FindPort(vf));
  if (!port) return std::nullopt;
  auto tree = rates_->List(vf.pf.handle);
  if (!tree && tree.error().code == Code::kUnsupported) return std::nullopt;
  if (!tree) return tl::make_unexpected(tree.error());
  if (std::ranges::find(tree->leaves, *port, &netlink::RateLeaf::port) == tree->leaves.end())
    return std::nullopt;
  return Leaf{vf.pf.handle, *port};
}

Result<VfState> Sriov::StateOf(const Place& place) {
  RAIL_ASSIGN(VfState state, place.vfs->Get(place.pf.index, place.vf));
  if (!place.leaf) return state;
  RAIL_ASSIGN(const netlink::RateTree tree, rates_->List(place.leaf->nic));
  const auto leaf = std::ranges::find(tree.leaves, place.leaf->port, &netlink::RateLeaf::port);
  if (leaf == tree.leaves.end()) return Fail(Code::kNotFound, "its port has no rates any more");
  state.rates = {static_cast<uint32_t>(leaf->rate.share / kBytesPerMbit),
                 static_cast<uint32_t>(leaf->rate.max / kBytesPerMbit)};
  return state;
}

Status Sriov::Change(const Place& place, VfChange change) {
  if (place.leaf && change.rates) {
    const netlink::Rate rate{change.rates->min * kBytesPerMbit, change.rates->max * kBytesPerMbit};
    RAIL_TRY(rates_->SetLeaf(place.leaf->nic, place.leaf->port, rate, std::nullopt));
    change.rates.reset();
  }
  return place.vfs->Set(place.pf.index, place.vf, change);
}

Result<netlink::Rdma*> Sriov::HostRdma() {
  if (!rdma_) {
    RAIL_ASSIGN(rdma_, connections_.rdma());
  }
  return rdma_.get();
}

Result<RdmaDevice> Sriov::RdmaCalled(const std::string& name) {
  RAIL_ASSIGN(netlink::Rdma * rdma, HostRdma());
  RAIL_ASSIGN(const std::vector<RdmaDevice> devices, rdma->List());
  const auto it = std::ranges::find(devices, name, &RdmaDevice::name);
  if (it == devices.end()) return Fail(Code::kNotFound, "there is no RDMA device " + name + " on the host");
  return *it;
}

Result<Saved> Sriov::Save(const Device& device) {
  const std::string doing = "save the state of device " + device.id;
  RAIL_ASSIGN(Saved saved, netdev_.Save(device));
  RAIL_ASSIGN_AS(const Place place, PlaceOf(device.id, device.settings.rates.has_value()), doing);
  SavedVf vf{.pf = device.pf_address, .pf_mac = place.pf.permanent_mac, .index = place.vf};
  RAIL_ASSIGN_AS(vf.state, StateOf(place), doing);
  if (!device.rdma.empty()) {
    RAIL_ASSIGN_AS(const RdmaDevice rdma, RdmaCalled(device.rdma), doing);
    vf.rdma = rdma.name;
    vf.rdma_index = rdma.index;
  }
  saved.vf = std::move(vf);
  return saved;
}

Result<MacAddress> Sriov::MoveIn(const Device& device, const netns::Netns& pod, const std::string& ifname) {
  RAIL_TRY_AS(ApplySettings(device), "prepare device " + device.id);
  Device plain = device;
  plain.settings = {};
  RAIL_ASSIGN(const MacAddress mac, netdev_.MoveIn(plain, pod, ifname));
  RAIL_TRY_AS(MoveRdmaIn(device, pod), "move the RDMA device of " + device.id + " into the pod");
  return mac;
}

// The PF assigns the VF the MAC address that the VF has already: mlx5 makes its node GUID of it, and in legacy mode the NIC then
// refuses another. In switchdev mode the NIC refuses none; there the rules of the bridge do (table 0).
Status Sriov::ApplySettings(const Device& device) {
  RAIL_ASSIGN(const Place place, PlaceOf(device.id, device.settings.rates.has_value()));
  RAIL_ASSIGN(const netlink::Link link, host_.GetLink(device.netdev));
  RAIL_ASSIGN(const VfState now, StateOf(place));
  // The link first: a driver may refuse it once the PF has assigned an address.
  const MacAddress mac = device.settings.mac.value_or(link.mac);
  if (mac != link.mac) RAIL_TRY(host_.SetMac(link.index, mac));
  const VfState asked = Asked(now, device.settings, mac);
  RAIL_TRY(Change(place, Difference(now, asked)));
  RAIL_ASSIGN(const VfState after, StateOf(place));
  const std::vector<std::string> problems = Describe(Difference(after, asked), after);
  if (problems.empty()) return {};
  return Fail(Code::kUnsupported, "its driver accepted what was set and did not do it: " + problems.front());
}

Status Sriov::MoveRdmaIn(const Device& device, const netns::Netns& pod) {
  const std::string& wanted = device.settings.rdma_name;
  if (device.rdma.empty()) {
    if (wanted.empty()) return {};
    return Fail(Code::kUnsupported, "the network asks for rdma_name " + wanted +
                                        " and the VF has no RDMA device: is mlx5_ib loaded?");
  }
  RAIL_ASSIGN(netlink::Rdma * rdma, HostRdma());
  RAIL_ASSIGN(const RdmaDevice found, RdmaCalled(device.rdma));
  // A name is taken on the whole node, whatever the namespace. A device can be renamed only in its own namespace.
  if (!wanted.empty() && wanted != found.name) {
    RAIL_TRY_AS(rdma->Rename(found.index, wanted),
                "the name is one of the whole node's, so one pod at a time can have it");
  }
  RAIL_ASSIGN(const RdmaNetns mode, rdma->NetnsMode());
  return mode == RdmaNetns::kShared ? Status() : rdma->Move(found.index, pod.fd());
}

Result<std::vector<std::string>> Sriov::Verify(const Saved& saved, const std::optional<Settings>& settings,
                                               const netns::Netns& pod) {
  const std::string doing = "check device " + saved.id;
  RAIL_ASSIGN_AS(const std::string gone, WhyGone(saved), doing);
  if (!gone.empty()) return std::vector<std::string>{"VF " + saved.id + " is gone: " + gone};
  RAIL_ASSIGN_AS(const Place place, PlaceOf(saved.id, settings && settings->rates), doing);
  RAIL_ASSIGN_AS(const VfState now, StateOf(place), doing);
  std::vector<std::string> problems = Describe(
      Difference(now, Asked(now, settings.value_or(Settings()), saved.asked.mac.value_or(saved.mac))), now);
  for (std::string& problem : problems) problem = "VF " + saved.id + ": " + problem;
  if (!saved.vf || saved.vf->rdma.empty()) return problems;

  RAIL_ASSIGN_AS(netlink::Rdma * rdma, HostRdma(), doing);
  RAIL_ASSIGN_AS(const RdmaNetns mode, rdma->NetnsMode(), doing);
  std::vector<RdmaDevice> devices;
  const auto list = [&](netlink::Rdma& where) -> Status {
    RAIL_ASSIGN(devices, where.List());
    return {};
  };
  if (mode == RdmaNetns::kShared) RAIL_TRY_AS(list(*rdma), doing);
  if (mode == RdmaNetns::kExclusive) {
    RAIL_TRY_AS(pod.Run([&]() -> Status {
      RAIL_ASSIGN(const auto inside, connections_.rdma());
      return list(*inside);
    }),
                doing);
  }
  const RdmaDevice* found = ByIndex(devices, saved.vf->rdma_index);
  if (found == nullptr) problems.push_back("VF " + saved.id + ": its RDMA device is not in the pod");
  if (found == nullptr || !settings) return problems;
  const std::string& name = settings->rdma_name.empty() ? saved.vf->rdma : settings->rdma_name;
  if (found->name != name) {
    problems.push_back("VF " + saved.id + ": its RDMA device is called " + found->name + ", not " + name);
  }
  return problems;
}

Status Sriov::Restore(const Saved& saved, const netns::Netns* pod, const std::string& ifname,
                      Deadline deadline) {
  const std::string doing = "give device " + saved.id + " back to the host";
  // The PF has fewer VFs now, the card is gone, or its bus was renumbered: there is nothing to give back.
  RAIL_ASSIGN_AS(const std::string gone, WhyGone(saved), doing);
  if (!gone.empty()) return {};
  Status rdma;
  // Without a kernel driver there is no link to wait for, and a driver that is bound later makes a new link.
  const std::string driver = lookup_.DriverOf(saved.id);
  if (!driver.empty() && !sriov::IsUserspaceDriver(driver)) {
    if (pod != nullptr) rdma = BringRdmaHome(saved, pod);
    // A VF is known by its PCI address: if its name is taken, any other name will do. A driver that binds anew may find another
    // permanent MAC address.
    Saved by_address = saved;
    by_address.permanent_mac = {};
    const Status link = netdev_.Restore(by_address, pod, ifname, deadline);
    if (!link && !IsTaken(link)) return link;
    // When a namespace ends, the kernel returns its RDMA devices before its links: so the RDMA device is back now.
    if (pod == nullptr) rdma = BringRdmaHome(saved, nullptr);
  }
  RAIL_TRY_AS(RestoreVf(saved), doing);
  RAIL_TRY_AS(rdma, doing);
  return {};
}

Status Sriov::BringRdmaHome(const Saved& saved, const netns::Netns* pod) {
  if (!saved.vf || saved.vf->rdma.empty()) return {};
  RAIL_ASSIGN(netlink::Rdma * rdma, HostRdma());
  if (lookup_.RdmaOf(saved.id).empty() && pod != nullptr) {
    RAIL_ASSIGN(const netns::Netns host, netns::Netns::Current());
    RAIL_TRY(pod->Run([&]() -> Status {
      RAIL_ASSIGN(const auto inside, connections_.rdma());
      RAIL_ASSIGN(const std::vector<RdmaDevice> there, inside->List());
      if (ByIndex(there, saved.vf->rdma_index) == nullptr) return {};
      return inside->Move(saved.vf->rdma_index, host.fd());
    }));
  }
  // On the host the VF's folder in sysfs names its RDMA device. The index may belong to another device by now: a boot, or loading
  // the driver again, starts the count anew.
  const std::string name = lookup_.RdmaOf(saved.id);
  if (name.empty()) {
    return Fail(Code::kBusy, "its RDMA device " + saved.vf->rdma + " is neither on the host nor in the pod");
  }
  if (name == saved.vf->rdma) return {};
  RAIL_ASSIGN(const RdmaDevice here, RdmaCalled(name));
  Status named = rdma->Rename(here.index, saved.vf->rdma);
  if (!IsTaken(named)) return named;
  // A pod may have chosen the name that the device has now, so give it up.
  named = rdma->Rename(here.index, RdmaNameOfItsOwn(saved));
  return IsTaken(named) ? Status() : named;
}

Status Sriov::RestoreVf(const Saved& saved) {
  if (!saved.vf) return {};
  RAIL_ASSIGN(const Place place, PlaceOf(saved.id, saved.asked.rates.has_value()));
  RAIL_ASSIGN(const VfState now, StateOf(place));
  VfState wanted = saved.vf->state;
  // Zero would take the node GUID from the VF (mlx5), and with it rdma_cm from its next pod. The VF's own address stays instead.
  if (wanted.mac.is_zero()) wanted.mac = saved.mac;
  return Change(place, Difference(now, wanted));
}

}  // namespace rail::device
