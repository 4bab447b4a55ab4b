#include "lib/inspect/doctor/subjects.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <set>

#include "lib/base/text.h"
#include "lib/engine/attach/pipeline.h"
#include "lib/engine/attach/tenant_vlans.h"
#include "lib/engine/repair/foreign_rules.h"

namespace rail::inspect {
namespace {

constexpr uint32_t kRoceMtu = 4192;  // bytes; an RDMA path MTU of 4096 needs it

class Rails : Examiner {
 public:
  using Examiner::Examiner;

  void Run() {
    for (const config::Rail& rail : config_.rails) {
      const auto it = facts_.rails.find(rail.name);
      const RailFacts none;
      Rail(rail, it == facts_.rails.end() ? none : it->second);
    }
    if (facts_.links_unknown) {
      Find(Severity::kWarning, "links-unknown", "kernel",
           "the kernel's links cannot be read: " + facts_.links_unknown->message,
           "nothing can be said of uplinks, MTUs and carriers",
           "does raild run as root, in the host's namespace?");
    }
    if (!config_.tenancy.cross_rail) {
      Find(Severity::kInfo, "cross-rail-off", "tenancy.cross_rail",
           "pods reach addresses of the same rail alone (tenancy.cross_rail is false)",
           "a collective that sends from one rail to another (NCCL without PXN, NCCL_CROSS_NIC=1) hangs or "
           "fails",
           "leave it where jobs stay on their rails; else set it to true on every node and restart raild");
    }
    Rdma();
  }

 private:
  void Rail(const config::Rail& rail, const RailFacts& seen) {
    if (const engine::RailView* view = ViewOf(rail.name)) {
      Unseen(rail, view->seen);
      Offered(rail, view->seen);
    }
    Owners(rail);
    if (!facts_.ovsdb_down) Bridge(rail, seen);
    ForeignFlows(rail, seen);
    if (!facts_.links_unknown) {
      Uplink(rail, seen.uplink);
      if (seen.bridge) Local(rail, seen.local);
      Mtu(rail, seen);
    }
    Nic(rail, seen.nic);
    for (const qos::Difference& each : seen.lossless)
      Find(Severity::kWarning, each.id, rail.name, each.what, each.why, each.fix);
  }

  void ForeignFlows(const config::Rail& rail, const RailFacts& seen) {
    // What Open vSwitch gives a bridge that is not secure is that bridge's finding.
    const bool secure = !seen.bridge || seen.bridge->fail_mode == "secure";
    uint64_t count = seen.foreign_flows;
    const ovs::Rule* first = nullptr;
    for (const ovs::Rule& rule : seen.foreign_examples) {
      if (!secure && engine::IsDefaultOfOpenVswitch(rule)) {
        --count;
      } else if (first == nullptr) {
        first = &rule;
      }
    }
    if (count == 0 || first == nullptr) return;
    std::string fix = "`" + engine::DeletingCommand(rail.bridge, *first) + "`";
    if (count > 1) fix += fmt::format(" deletes this one; `ovs-ofctl dump-flows {}` shows all", rail.bridge);
    fix +=
        "; then find out who writes rules to the bridge, or let raild remove them (ovs.remove_foreign_flows)";
    Find(Severity::kCritical, "foreign-flows", rail.name,
         count == 1 ? "a flow of bridge " + rail.bridge + " is not RailCNI's: " + engine::RuleText(*first)
                    : fmt::format("{} flows of bridge {} are not RailCNI's, as {}", count, rail.bridge,
                                  engine::RuleText(*first)),
         "it comes before or beside the isolation's rules and can let one tenant reach another",
         std::move(fix));
  }

  // Rules that nobody can look for are not missing.
  void Unseen(const config::Rail& rail, const v1::Rail& seen) {
    if (seen.unseen().empty()) return;
    Find(Severity::kWarning, "rules-unknown", rail.name,
         fmt::format("whether bridge {} has its rules is not known since {:%F %T} UTC: {}", rail.bridge,
                     fmt::gmtime(static_cast<std::time_t>(seen.unseen_since().seconds())), seen.unseen()),
         "the rules that are in the switch go on; what changes meanwhile (pods, remotes, a rule that "
         "somebody removes) is not put right",
         "the reason above is what has to be mended; raild looks again by itself");
  }

  void Offered(const config::Rail& rail, const v1::Rail& seen) {
    if (!seen.offers_devices() || seen.devices_healthy() == seen.devices()) return;
    Find(Severity::kWarning, "device-unhealthy", rail.name,
         fmt::format("{} of the {} devices that the kubelet has of rail {} are unhealthy, as {}",
                     seen.devices() - seen.devices_healthy(), seen.devices(), rail.name,
                     seen.device_problem()),
         "new pods do not get them, and wait where no other is free; pods that have one keep it",
         "what is said of the device is what has to be mended; raild tells the kubelet by itself");
  }

  // The rail's VFs and devices of node.json, and who offers each to pods.
  std::map<std::string, std::set<std::string>> OwnersOf(const config::Rail& rail) const {
    std::set<std::string> raild;
    if (config_.kubelet.dra) raild = {"DRA driver rail.railcni.io"};
    if (config_.kubelet.device_plugin) raild = {"resource " + config_.kubelet.ResourceOf(rail)};
    std::map<std::string, std::set<std::string>> owners;
    for (const config::DeviceEntry& entry : rail.devices) owners[entry.device] = raild;
    for (const pcie::Nic& nic : facts_.machinery.machine.nics) {
      if (nic.rail != rail.name) continue;
      for (const std::string& vf : nic.vfs) owners[vf] = raild;
    }
    const auto add = [&](const std::string& id, const std::string& owner) {
      const std::string address = pcie::PciAddressIn(id);
      const auto device = owners.find(address.empty() ? id : address);
      if (device != owners.end()) device->second.insert(owner);
    };
    for (const auto& [resource, ids] : facts_.machinery.allocatable) {
      for (const std::string& id : ids) add(id, "resource " + resource);
    }
    const engine::RailView* view = ViewOf(rail.name);
    if (view == nullptr) return owners;
    for (const v1::OtherOwner& other : view->seen.other_owners()) {
      for (const std::string& id : other.devices()) add(id, "DRA driver " + other.driver());
    }
    return owners;
  }

  void Owners(const config::Rail& rail) {
    auto owners = OwnersOf(rail);
    std::erase_if(owners, [](const auto& each) { return each.second.size() < 2; });
    if (owners.empty()) return;
    const auto& [device, of] = *owners.begin();
    std::string what = fmt::format("{} is offered to pods by {}", device, Join(of, " and by "));
    if (owners.size() > 1)
      what += fmt::format("; {} more of the rail's devices have two owners", owners.size() - 1);
    std::string fix =
        "leave the devices to one: take them out of the other's pool (sriov-network-device-plugin: the "
        "selectors in its ConfigMap; dranet, dra-driver-sriov: their filter)";
    if (config_.kubelet.dra) fix += ", or set kubelet.dra to false in node.json";
    if (config_.kubelet.device_plugin) fix += ", or set kubelet.device_plugin to false in node.json";
    Find(Severity::kCritical, "vf-of-two-owners", rail.name, std::move(what),
         "neither knows what the other has given: a second pod gets the device of the first, which loses its "
         "rail, or cannot start",
         std::move(fix));
  }

  // If raild prepares the NIC, its health says why it cannot. If node.json names representors, the rail needs no prepared NIC.
  void Nic(const config::Rail& rail, const std::vector<sriov::NicState>& nic) {
    if (rail.manage_sriov || !rail.devices.empty()) return;
    for (const sriov::NicState& pf : nic) {
      if (pf.vfs == 0) {
        Find(Severity::kWarning, "nic-without-vfs", rail.name,
             "the NIC " + pf.address + " (" + rail.pf + ") has no virtual functions",
             "there is nothing to give to a pod of this rail",
             "a SriovNetworkNodePolicy with numVfs, or \"manage_sriov\": true and num_vfs in node.json");
      } else if (pf.mode != netlink::EswitchMode::kSwitchdev) {
        Find(Severity::kCritical, "nic-not-in-switchdev", rail.name,
             "the NIC " + pf.address + " (" + rail.pf + ") has " + std::to_string(pf.vfs) + " VFs and " +
                 (pf.mode ? "its eSwitch is in legacy mode" : "its driver has no switchdev mode"),
             "its VFs have no representors: Open vSwitch cannot reach them and no pod can be attached",
             "a SriovNetworkNodePolicy with eSwitchMode: switchdev, or \"manage_sriov\": true in node.json");
      }
    }
  }

  void Bridge(const config::Rail& rail, const RailFacts& seen) {
    if (!seen.bridge) {
      Find(Severity::kCritical, "bridge-missing", rail.name, "Open vSwitch has no bridge " + rail.bridge,
           "no pod can be attached to the rail",
           config_.ovs.manage_bridges
               ? "raild makes it: `railctl get node` says what keeps it from doing so"
               : "make it (ovs.manage_bridges is false): `ovs-vsctl add-br " + rail.bridge +
                     " -- set-fail-mode " + rail.bridge + " secure -- set Bridge " + rail.bridge +
                     " other_config:disable-in-band=true`");
      return;
    }
    const ovs::Bridge& bridge = *seen.bridge;
    if (bridge.fail_mode != "secure") {
      Find(Severity::kCritical, "fail-mode-not-secure", rail.name,
           "bridge " + rail.bridge + " has fail_mode " +
               (bridge.fail_mode.empty() ? "standalone" : bridge.fail_mode) + ", not secure",
           "while its rules are not there it forwards like a plain switch: every tenant reaches every other",
           "`ovs-vsctl set-fail-mode " + rail.bridge + " secure`");
    }
    if (bridge.disable_in_band != ovs::kNoInBand) {
      Find(Severity::kCritical, "in-band-rules", rail.name,
           "bridge " + rail.bridge +
               " lets Open vSwitch add rules of its own, which no list of its rules shows "
               "(other_config:disable-in-band is not true)",
           "with a manager or a controller by TCP they forward ARP, DHCP and TCP before any rule of "
           "RailCNI's: around the isolation",
           "`ovs-vsctl set Bridge " + rail.bridge + " other_config:disable-in-band=true`");
    }
    const bool tracks = std::ranges::all_of(pipeline::TrackedPrefixes(), [&](const auto& table) {
      const auto it = bridge.prefixes.find(table.first);
      return it != bridge.prefixes.end() && std::ranges::includes(it->second, table.second);
    });
    if (!tracks) {
      Find(Severity::kWarning, "prefixes-not-tracked", rail.name,
           "bridge " + rail.bridge + " does not track prefixes as its tables need it",
           "forged addresses make datapath flows, or masks by which every packet is looked up, without a "
           "bound",
           config_.ovs.manage_bridges
               ? "raild sets them: `railctl get node` says what keeps it from doing so"
               : "name them in Flow_Table.prefixes of the bridge's tables (lib/engine/attach/TABLES.md)");
    }
    const auto uplink = std::ranges::find(bridge.ports, rail.pf, &ovs::Port::name);
    if (uplink == bridge.ports.end()) {
      Find(Severity::kCritical, "uplink-not-in-bridge", rail.name,
           "the uplink " + rail.pf + " is not a port of bridge " + rail.bridge,
           "nothing leaves the node on this rail, and BGP has no wire",
           config_.ovs.manage_bridges ? "raild adds it: `railctl get node` says what keeps it from doing so "
                                        "(is it on another bridge or bond?)"
                                      : "`ovs-vsctl add-port " + rail.bridge + " " + rail.pf + "`");
    } else if (uplink->ofport < 1) {
      Find(Severity::kCritical, "uplink-not-working", rail.name,
           "Open vSwitch could not open the uplink " + rail.pf +
               (uplink->error.empty() ? "" : ": " + uplink->error),
           "nothing leaves the node on this rail", "is the NIC there (`ip link show " + rail.pf + "`)?");
    }
    std::set<std::string> known = {rail.pf, rail.bridge};
    for (const engine::AttachmentView& a : view_.attachments) known.insert(a.attachment.representor);
    for (const ovs::Port& port : bridge.ports) {
      if (JustBegun() || known.contains(port.name) || engine::VlanOfPort(rail, port)) continue;
      Find(Severity::kInfo, "foreign-port", rail.name,
           "port " + port.name + " of bridge " + rail.bridge + " is of no attachment",
           "RailCNI's rules drop what comes from it; its owner may expect otherwise",
           "`ovs-vsctl del-port " + rail.bridge + " " + port.name + "`, if nobody needs it");
    }
  }

  void Uplink(const config::Rail& rail, const LinkFacts& uplink) {
    if (!uplink.there) {
      Find(Severity::kCritical, "uplink-missing", rail.name,
           "there is no link " + rail.pf + ", the rail's uplink", "the rail has no wire",
           "is rails[].pf right, has the NIC been renamed, is its driver loaded?");
      return;
    }
    if (!uplink.up) {
      Find(Severity::kCritical, "uplink-down", rail.name, "the uplink " + rail.pf + " is down",
           "nothing leaves the node on this rail", "`ip link set " + rail.pf + " up`");
    } else if (!uplink.carrier) {
      Find(Severity::kCritical, "uplink-without-carrier", rail.name,
           "the uplink " + rail.pf + " has no carrier", "nothing leaves the node on this rail",
           "cable, optics, the leaf's port: `ethtool " + rail.pf + "`");
    }
    if (!uplink.addresses.empty()) {
      Find(Severity::kWarning, "uplink-has-address", rail.name,
           "the uplink " + rail.pf + " has the address " + uplink.addresses.front(),
           "as a port of a bridge it hands nothing to the kernel: whoever uses that address is not heard",
           "`ip address del " + uplink.addresses.front() + " dev " + rail.pf + "`");
    }
    if (uplink.disable_ipv6 == "0") {
      Find(Severity::kInfo, "uplink-ipv6-enabled", rail.name, "IPv6 is on on the uplink " + rail.pf,
           "it sends router solicitations and neighbour discovery of its own, beside the bridge's",
           "`sysctl -w net.ipv6.conf." + rail.pf + ".disable_ipv6=1`");
    }
  }

  void Local(const config::Rail& rail, const LinkFacts& local) {
    if (!local.there) return;
    if (local.disable_ipv6 == "1") {
      Find(Severity::kCritical, "local-ipv6-disabled", rail.name, "IPv6 is disabled on " + rail.bridge,
           "BGP unnumbered lives on its link-local address: there is no session without it",
           "`sysctl -w net.ipv6.conf." + rail.bridge +
               ".disable_ipv6=0` (and net.ipv6.conf.all.disable_ipv6)");
    } else if (local.up && !local.has_link_local) {
      Find(Severity::kCritical, "local-no-link-local", rail.name,
           rail.bridge + " has no IPv6 link-local address",
           "BGP unnumbered lives on it: there is no session without it",
           "`ip link set " + rail.bridge + " down addrgenmode eui64 && ip link set " + rail.bridge +
               " up`; a flush of its addresses takes it away");
    }
    if (local.accept_ra == "1" || local.accept_ra == "2") {
      Find(Severity::kWarning, "local-accepts-ra", rail.name, rail.bridge + " accepts router advertisements",
           "the leaf may become the node's default router for IPv6, and the rail drops what the node sends "
           "to it",
           "`sysctl -w net.ipv6.conf." + rail.bridge + ".accept_ra=0`");
    }
  }

  void Mtu(const config::Rail& rail, const RailFacts& seen) {
    if (rail.mtu < kRoceMtu) {
      Find(Severity::kWarning, "mtu-below-roce", rail.name,
           fmt::format("the rail's MTU is {}, below {}", rail.mtu, kRoceMtu),
           "RoCE falls back to an RDMA path MTU of " + std::string(rail.mtu < 2048 + 96 ? "1024" : "2048") +
               " or less: more packets, less throughput",
           fmt::format("rails[].mtu in node.json: {} at least, 4200 is usual; the leaves must take it too",
                       kRoceMtu));
    }
    const auto look = [&](const std::string& name, const LinkFacts& link) {
      if (!link.there || link.mtu == 0 || link.mtu >= rail.mtu) return;
      Find(Severity::kCritical, "mtu-too-small", rail.name,
           fmt::format("{} has MTU {}, pods of the rail send up to {}", name, link.mtu, rail.mtu),
           "large packets vanish while small ones pass: jobs hang, ping works",
           fmt::format("`ip link set {} mtu {}`", name, rail.mtu));
    };
    look(rail.pf, seen.uplink);
    for (const auto& [name, link] : seen.representors) look(name, link);
  }

  void Rdma() {
    if (facts_.view.rdma == engine::RdmaMode::kNone) {
      Find(Severity::kInfo, "rdma-missing", "kernel",
           "this node has no RDMA device (/sys/class/infiniband is empty)",
           "pods get network devices and no RDMA devices", "modprobe the RDMA driver of the NIC (mlx5_ib)");
    } else if (facts_.view.rdma == engine::RdmaMode::kShared) {
      Find(Severity::kWarning, "rdma-shared", "kernel", "RDMA devices are shared among network namespaces",
           "every pod sees every RDMA device of the node; only the address of a GID keeps them apart, and a "
           "pod picks wrong ones easily",
           "rdma system set netns exclusive, at boot (options ib_core netns_mode=0): it cannot be changed "
           "while pods run");
    }
    Guids();
  }

  // librdmacm knows a device by its node GUID (rdma-core, librdmacm/cma.c).
  void Guids() {
    std::map<std::string, std::vector<std::string>> devices;
    std::vector<std::string> without;
    for (const sriov::RdmaGuid& each : facts_.rdma_guids) {
      if (each.is_zero()) {
        without.push_back(each.device);
      } else if (!each.guid.empty()) {
        devices[each.guid].push_back(each.device);
      }
    }
    if (!without.empty()) {
      Find(Severity::kWarning, "rdma-guid-zero", "RDMA",
           fmt::format("the node GUID of {} RDMA devices is zero: {}", without.size(), FirstFew(without)),
           "rdma_cm finds a device by its node GUID: programs that use it fail in a pod that gets one of "
           "these; mlx5 has none for a VF whose driver was bound before the VF had a MAC address",
           "while no pod has the VF: `ip link set PF vf N mac ADDRESS` if its MAC address there is zero, "
           "then write its PCI address to /sys/bus/pci/drivers/mlx5_core/unbind and to .../bind; raild does "
           "it for free VFs without a MAC address on rails with \"manage_sriov\"");
    }
    for (const auto& [guid, names] : devices) {
      if (names.size() < 2) continue;
      Find(Severity::kWarning, "rdma-guid-twice", guid,
           fmt::format("{} RDMA devices have the node GUID {}: {}", names.size(), guid, FirstFew(names)),
           "rdma_cm finds a device by its node GUID: a pod that has two of these uses the first for both, "
           "which may be another rail's",
           "mlx5 makes the GUID of the MAC address that the PF gives to the VF: give each VF another one "
           "(`ip link set PF vf N mac ADDRESS`), then unbind and bind its driver");
    }
  }

  static std::string FirstFew(const std::vector<std::string>& names) {
    constexpr size_t kShown = 4;
    const std::string text = Join(names | std::views::take(kShown), ", ");
    return names.size() <= kShown ? text : text + fmt::format(" and {} more", names.size() - kShown);
  }
};

}  // namespace

void ExamineRails(const NodeFacts& facts, std::vector<Finding>& found) {
  Rails(facts, found).Run();
}

}  // namespace rail::inspect
