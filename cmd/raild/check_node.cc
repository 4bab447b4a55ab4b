#include "cmd/raild/check_node.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "lib/base/pci_address.h"
#include "lib/base/text.h"
#include "lib/sriov/lookup.h"
#include "lib/sriov/port_name.h"

namespace rail::preflight {
namespace {

// Kinds of links that no cable is behind. A veth may stand for a NIC: labs and tests have no other.
constexpr std::array<std::string_view, 14> kNoNics = {"bridge", "openvswitch", "vxlan", "geneve", "gre",
                                                      "gretap", "ip6gre",      "ipip",  "sit",    "wireguard",
                                                      "vrf",    "ifb",         "tun",   "nlmon"};
constexpr uint32_t kMainTable = 254;
constexpr size_t kMostNames = 8;

std::string NetPath(const std::string& link) {
  return "class/net/" + link;
}

class Check {
 public:
  Check(const sriov::Sysfs& sysfs, std::vector<netlink::Link> links, std::vector<netlink::Route> routes)
      : sysfs_(sysfs), links_(std::move(links)), routes_(std::move(routes)) {}

  void Rail(const config::Rail& rail) {
    const netlink::Link* uplink = Find(rail.pf);
    if (uplink == nullptr) {
      Add(rail, "pf", "there is no link " + rail.pf + " on this node; " + Candidates());
    } else {
      Uplink(rail, *uplink);
    }
    for (const config::DeviceEntry& entry : rail.devices) {
      if (IsPciAddress(entry.device) && !sysfs_.Exists("bus/pci/devices/" + entry.device))
        Add(rail, "devices", "this node has no device " + entry.device);
      if (Find(entry.representor) == nullptr)
        Add(rail, "devices",
            "there is no link " + entry.representor + ", the representor of " + entry.device);
    }
  }

  // Whether somebody listens there is no part of it: a daemon may be restarting.
  void Socket(const std::string& key, const std::string& path, const std::string& whose) {
    struct stat found{};
    if (::stat(path.c_str(), &found) == 0) {
      if (!S_ISSOCK(found.st_mode)) problems_.push_back(key + ": " + path + " is no socket");
    } else if (errno != EACCES) {
      problems_.push_back(key + ": there is no socket " + path + "; is " + whose + " running on this node?");
    }
  }

  std::vector<std::string> Take() { return std::move(problems_); }

 private:
  void Add(const config::Rail& rail, const std::string& key, const std::string& what) {
    problems_.push_back(key + " of " + rail.name + ": " + what);
  }

  const netlink::Link* Find(const std::string& name) const {
    const auto found = std::ranges::find(links_, name, &netlink::Link::name);
    return found == links_.end() ? nullptr : &*found;
  }

  void Uplink(const config::Rail& rail, const netlink::Link& link) {
    const std::string path = NetPath(link.name);
    if (link.name == "lo" || std::ranges::find(kNoNics, link.kind) != kNoNics.end())
      Add(rail, "pf",
          link.name + " is no NIC but a link of kind " + (link.kind.empty() ? "loopback" : link.kind));
    if (sysfs_.Exists(path + "/device/physfn"))
      Add(rail, "pf", link.name + " is a virtual function, and an uplink is a physical one; " + Candidates());
    if (sriov::IsFunctionPortName(sysfs_.Read(path + "/phys_port_name").value_or("")))
      Add(rail, "pf",
          link.name + " is the representor of a function, and an uplink is a port of the NIC; " +
              Candidates());
    if (const std::string master = sysfs_.Target(path + "/master").value_or("");
        !master.empty() && master != "ovs-system")
      Add(rail, "pf", link.name + " is a port of " + master + ": take it out there, or name another link");
    if (HasDefaultRoute(link.index))
      Add(rail, "pf",
          "the default route of this node leaves by " + link.name +
              ": as a rail's uplink it would cut the node off. It is the node's own NIC; name the rail's");
    if (link.max_mtu != 0 && rail.mtu > link.max_mtu)
      Add(rail, "mtu",
          std::to_string(rail.mtu) + " is more than the driver of " + link.name + " takes, " +
              std::to_string(link.max_mtu));
    const auto most = sysfs_.ReadNumber(path + "/device/sriov_totalvfs");
    if (rail.manage_sriov && rail.num_vfs > most.value_or(0))
      Add(rail, "num_vfs",
          std::to_string(rail.num_vfs) + " is more than " + link.name + " can make, " +
              std::to_string(most.value_or(0)) + ": its firmware's NUM_OF_VFS, or SR-IOV is off in the BIOS");
  }

  bool HasDefaultRoute(int link) const {
    return std::ranges::any_of(routes_, [&](const netlink::Route& route) {
      return route.link == link && route.destination.length == 0;
    });
  }

  // Links of this node that could be an uplink: those of devices that are ports of a NIC.
  std::string Candidates() const {
    std::string names;
    size_t count = 0;
    for (const netlink::Link& link : links_) {
      const std::string path = NetPath(link.name);
      if (!sysfs_.Exists(path + "/device") || sysfs_.Exists(path + "/device/physfn") ||
          sriov::IsFunctionPortName(sysfs_.Read(path + "/phys_port_name").value_or("")) ||
          HasDefaultRoute(link.index))
        continue;
      if (++count > kMostNames) continue;
      Append(names, ", ", link.name);
      if (const auto device = sysfs_.Real(path + "/device"))
        names += " (" + device->substr(device->rfind('/') + 1) + ")";
    }
    if (names.empty()) return "it has no NIC that could be meant";
    if (count > kMostNames) names += " and " + std::to_string(count - kMostNames) + " more";
    return "its NICs that could be meant: " + names;
  }

  const sriov::Sysfs& sysfs_;
  const std::vector<netlink::Link> links_;
  const std::vector<netlink::Route> routes_;
  std::vector<std::string> problems_;
};

}  // namespace

Result<std::vector<std::string>> CheckNode(const config::NodeConfig& config, netlink::Netlink& netlink,
                                           const sriov::Sysfs& sysfs) {
  RAIL_ASSIGN_AS(std::vector<netlink::Link> links, netlink.ListLinks(), "read the node's links");
  RAIL_ASSIGN_AS(std::vector<netlink::Route> routes, netlink.ListRoutes(kMainTable),
                 "read the node's routes");
  Check check(sysfs, std::move(links), std::move(routes));
  for (const config::Rail& rail : config.rails) check.Rail(rail);
  check.Socket("ovs.db", config.ovs.db_socket, "Open vSwitch");
  check.Socket("frr.run_dir", config.frr.run_dir + "/bgpd.vty", "FRRouting's bgpd");
  return check.Take();
}

}  // namespace rail::preflight
