#include "lib/device/netdev.h"

#include <poll.h>

#include <cerrno>
#include <cstddef>
#include <utility>

#include "lib/base/text.h"

namespace rail::device {
namespace {

using netlink::Link;

constexpr size_t kFewAddresses = 64;  // each is a request

std::string Devices(const config::Rail& rail) {
  return rail.devices.empty() ? "none" : Join(rail.devices, ", ", &config::DeviceEntry::device);
}

// Whether `link` is the device of `saved`. `representor` is the representor on the host now, or null.
// A pod with CAP_NET_ADMIN chooses names and MAC addresses, so what a pod cannot choose decides, if the device has such a thing.
bool IsDevice(const Link& link, const Saved& saved, const Link* representor) {
  if (link.kind != saved.kind) return false;
  if (!saved.parent_device.empty()) {
    // A bus may be renumbered. Then another link's device is where this one's was.
    const bool is_other = !saved.permanent_mac.is_zero() && !link.permanent_mac.is_zero() &&
                          link.permanent_mac != saved.permanent_mac;
    return link.parent_device == saved.parent_device && !is_other;
  }
  if (!saved.permanent_mac.is_zero()) return link.permanent_mac == saved.permanent_mac;
  if (saved.kind == "veth" && representor != nullptr && representor->kind == "veth") {
    return link.index == representor->peer && link.peer == representor->index;
  }
  return link.mac == saved.mac;
}

// Finds the device among the links of one namespace: by what identifies it, or, if nothing does, by `name`.
const Link* FindDevice(const std::vector<Link>& links, const Saved& saved, const Link* representor,
                       const std::string& name) {
  for (const Link& link : links) {
    if (IsDevice(link, saved, representor)) return &link;
  }
  const bool certain = !saved.parent_device.empty() || !saved.permanent_mac.is_zero() || saved.kind == "veth";
  if (certain) return nullptr;
  for (const Link& link : links) {
    if (link.name == name && link.kind == saved.kind) return &link;
  }
  return nullptr;
}

// A name of 15 bytes that no other device on the host wants, while the device's own is taken: dev525400a1b2c3.
std::string NameOfItsOwn(const Saved& saved) {
  std::string name = "dev";
  for (const char c : saved.mac.ToString()) {
    if (c != ':') name += c;
  }
  return name;
}

}  // namespace

bool IsTaken(const Status& named) {
  return !named && named.error().code == Code::kExists;
}

Result<std::optional<Link>> Netdev::HostLink(const std::string& name) {
  auto link = host_.GetLink(name);
  if (link) return std::optional(std::move(*link));
  if (link.error().code == Code::kNotFound) return std::optional<Link>();
  return tl::make_unexpected(link.error());
}

Result<Device> Netdev::Find(const config::Rail& rail, const std::string& id) {
  for (const auto& entry : rail.devices) {
    if (entry.device != id) continue;
    const std::string doing = "find device " + id + " of rail " + rail.name;
    auto link = host_.GetLink(entry.device);
    if (!link && link.error().code == Code::kNotFound) {
      return Fail(Code::kNotFound, doing + ": no such link on the host now; another pod may still have it");
    }
    if (!link) return FailWrapped(link.error(), doing);
    RAIL_ASSIGN_AS(const Link representor, host_.GetLink(entry.representor), doing + ": its representor");
    return Device{id, link->name, representor.name, link->mac};
  }
  return Fail(Code::kInvalid, "device '" + id.substr(0, 64) + "' is not one of rail " + rail.name + " (" +
                                  Devices(rail) + "); node.json lists them under rails[].devices");
}

Result<Saved> Netdev::Save(const Device& device) {
  const std::string doing = "save the state of device " + device.id;
  RAIL_ASSIGN_AS(const Link link, host_.GetLink(device.netdev), doing);
  RAIL_ASSIGN_AS(const Link representor, host_.GetLink(device.representor), doing);
  Saved saved;
  saved.id = device.id;
  saved.netdev = device.netdev;
  saved.representor = device.representor;
  saved.mac = link.mac;
  saved.mtu = link.mtu;
  saved.up = link.up;
  saved.representor_mtu = representor.mtu;
  saved.representor_up = representor.up;
  saved.kind = link.kind;
  saved.parent_device = link.parent_device;
  saved.permanent_mac = link.permanent_mac;
  saved.asked = device.settings;
  return saved;
}

Status Netdev::RaiseRepresentor(const Device& device, uint32_t mtu) {
  const std::string doing = "ready the representor of device " + device.id;
  RAIL_ASSIGN_AS(const Link representor, host_.GetLink(device.representor), doing);
  if (representor.mtu != mtu) RAIL_TRY_AS(host_.SetMtu(representor.index, mtu), doing);
  if (!representor.up) RAIL_TRY_AS(host_.SetUp(representor.index), doing);
  return {};
}

Result<MacAddress> Netdev::MoveIn(const Device& device, const netns::Netns& pod, const std::string& ifname) {
  const std::string doing = "move device " + device.id + " into the pod as " + ifname;
  Settings others = device.settings;
  const std::optional<MacAddress> mac = std::exchange(others.mac, std::nullopt);
  if (!others.empty()) {
    return Fail(Code::kUnsupported,
                doing + ": VLAN, rates, trust, spoofchk, link_state and rdma_name are for virtual functions");
  }
  RAIL_ASSIGN_AS(const Link link, host_.GetLink(device.netdev), doing);
  if (mac && *mac != link.mac) RAIL_TRY_AS(host_.SetMac(link.index, *mac), doing);
  RAIL_TRY_AS(host_.MoveLink(link.index, pod.fd(), ifname), doing);
  return mac.value_or(link.mac);
}

Status Netdev::Restore(const Saved& saved, const netns::Netns* pod, const std::string& ifname,
                       Deadline deadline) {
  const std::string doing = "give device " + saved.id + " back to the host";
  RAIL_ASSIGN_AS(std::optional<Link> link, FindOnHost(saved), doing);
  if (!link && pod != nullptr) RAIL_TRY_AS(MoveOut(saved, *pod, ifname), doing);
  if (!link && pod == nullptr) {
    RAIL_ASSIGN_AS(const Return outcome, WaitForReturn(saved, deadline), doing);
    if (outcome == Return::kGone) return MendRepresentor(saved);
  }
  if (!link) {
    RAIL_ASSIGN_AS(link, FindOnHost(saved), doing);
    if (!link) return Fail(Code::kBusy, doing + ": it was moved, and is not on the host");
  }
  const Status mended = Mend(saved, *link);
  if (IsTaken(mended)) RAIL_TRY_AS(MendRepresentor(saved), doing);
  RAIL_TRY_AS(mended, doing);
  return MendRepresentor(saved);
}

Result<std::optional<Link>> Netdev::FindOnHost(const Saved& saved) {
  RAIL_ASSIGN(const std::optional<Link> representor, HostLink(saved.representor));
  const Link* stands_for = representor ? &*representor : nullptr;
  RAIL_ASSIGN(std::optional<Link> named, HostLink(saved.netdev));
  if (named && IsDevice(*named, saved, stands_for)) return named;
  // A veth's other end says that its peer is in another namespace, so there is no need to read all links of the host.
  if (stands_for != nullptr && stands_for->kind == "veth" && stands_for->peer_elsewhere)
    return std::optional<Link>();

  RAIL_ASSIGN(const std::vector<Link> links, host_.ListLinks());
  const Link* found = FindDevice(links, saved, stands_for, saved.netdev);
  return found == nullptr ? std::optional<Link>() : std::optional(*found);
}

Status Netdev::MoveOut(const Saved& saved, const netns::Netns& pod, const std::string& ifname) {
  RAIL_ASSIGN(const std::optional<Link> representor, HostLink(saved.representor));
  RAIL_ASSIGN(const netns::Netns host, netns::Netns::Current());
  return pod.Run([&]() -> Status {
    RAIL_ASSIGN(const auto netlink, open_netlink_());
    RAIL_ASSIGN(const std::vector<Link> links, netlink->ListLinks());
    const Link* link = FindDevice(links, saved, representor ? &*representor : nullptr, ifname);
    if (link == nullptr) {
      return Fail(Code::kBusy,
                  "it is neither on the host nor in the pod; was it moved to a namespace inside the pod?");
    }
    // The kernel moves a link without addresses sooner: it waits for fewer RCU grace periods. What cannot be removed goes with the move.
    // A pod that has given it thousands would make us wait longer than that.
    if (const auto addresses = netlink->ListAddresses(link->index);
        addresses && addresses->size() <= kFewAddresses) {
      for (const netlink::Address& address : *addresses) (void)netlink->DeleteAddress(address);
    }
    // Here no daemon of the host hears of it. Mend does what the pod or the driver does not let be done here.
    if (link->mtu != saved.mtu) (void)netlink->SetMtu(link->index, saved.mtu);
    if (link->mac != saved.mac) (void)netlink->SetMac(link->index, saved.mac);
    Status moved = netlink->MoveLink(link->index, host.fd(), saved.netdev);
    if (!IsTaken(moved)) return moved;
    moved = netlink->MoveLink(link->index, host.fd(), NameOfItsOwn(saved));
    if (IsTaken(moved)) moved.error().code = Code::kBusy;  // it is still in the pod
    return moved;
  });
}

// A physical device and its representor exist as long as each other, and so do the two ends of a veth.
Result<Location> Netdev::Locate(const Saved& saved) {
  const std::string doing = "locate device " + saved.id;
  RAIL_ASSIGN_AS(const std::optional<Link> link, FindOnHost(saved), doing);
  if (link) return Location::kHost;
  RAIL_ASSIGN_AS(const std::optional<Link> representor, HostLink(saved.representor), doing);
  if (!representor) return Location::kNowhere;
  const bool stands_for_it = saved.kind.empty() || saved.kind == "veth";
  return stands_for_it ? Location::kElsewhere : Location::kUnknown;
}

Result<Netdev::Return> Netdev::WaitForReturn(const Saved& saved, Deadline deadline) {
  // Open the monitor before the first look, so that no change between the two is missed.
  RAIL_ASSIGN(const auto monitor, open_monitor_());
  for (;;) {
    RAIL_ASSIGN(const std::optional<Link> link, FindOnHost(saved));
    if (link) return Return::kBack;
    // A virtual device is deleted with its namespace, and a veth's other end is deleted with it.
    RAIL_ASSIGN(const std::optional<Link> representor, HostLink(saved.representor));
    const bool is_virtual = !saved.kind.empty();
    if (is_virtual && (!representor || saved.kind != "veth")) return Return::kGone;

    pollfd p{monitor->fd(), POLLIN, 0};
    const int n = ::poll(&p, 1, PollTimeout(deadline));
    if (n < 0 && errno != EINTR) return FailErrno(errno, "wait for it");
    if (n == 0 && Clock::now() >= deadline) {
      return Fail(Code::kBusy, "the pod's namespace is gone and the kernel has not returned it yet");
    }
    RAIL_TRY(monitor->Receive());
  }
}

// If another device has the name, the other keeps it, and everything else is restored all the same. The device also gives up the
// name that it has, which may be the other's: if a pod has swapped the names of two devices, one of them can then go on.
Status Netdev::Mend(const Saved& saved, const Link& link) {
  Status named;
  if (link.name != saved.netdev) {
    // A device that the kernel has returned may be up, and older kernels rename a link only while it is down.
    if (link.up) RAIL_TRY(host_.SetDown(link.index));
    named = host_.Rename(link.index, saved.netdev);
    if (!named && !IsTaken(named)) return named;
    if (const std::string meanwhile = NameOfItsOwn(saved); !named && link.name != meanwhile) {
      const Status given_up = host_.Rename(link.index, meanwhile);
      if (!given_up && !IsTaken(given_up)) return given_up;
    }
  }
  if (link.mac != saved.mac) RAIL_TRY(host_.SetMac(link.index, saved.mac));
  if (link.mtu != saved.mtu) RAIL_TRY(host_.SetMtu(link.index, saved.mtu));
  const bool up = link.up && link.name == saved.netdev;
  if (saved.up && !up) RAIL_TRY(host_.SetUp(link.index));
  if (!saved.up && up) RAIL_TRY(host_.SetDown(link.index));
  return named;
}

Status Netdev::MendRepresentor(const Saved& saved) {
  RAIL_ASSIGN(const std::optional<Link> link, HostLink(saved.representor));
  if (!link) return {};  // it is gone with its device
  if (link->mtu != saved.representor_mtu) RAIL_TRY(host_.SetMtu(link->index, saved.representor_mtu));
  if (link->up == saved.representor_up) return {};
  return saved.representor_up ? host_.SetUp(link->index) : host_.SetDown(link->index);
}

}  // namespace rail::device
