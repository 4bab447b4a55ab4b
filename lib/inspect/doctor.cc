#include "lib/inspect/doctor.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <tuple>

#include "lib/inspect/select.h"
#include "lib/inspect/text.h"

namespace rail::inspect {
namespace {

constexpr uint32_t kRoceMtu = 4192;          // what an RDMA path MTU of 4096 needs
constexpr uint64_t kDefaultMaxIdle = 10000;  // ms
constexpr uint64_t kGoodMaxIdle = 60000;
constexpr uint64_t kLittleSpace = 64 << 20;  // bytes
constexpr int64_t kDay = 86400000;           // ms
constexpr int64_t kSoon = 14 * kDay;
constexpr int64_t kAddIsLong = 120000;  // ms; a verb has 30 s

// Every id that a Doctor below gives; the test checks that each is given and none is forgotten.
constexpr std::array kKinds = {
    "ovsdb-down",
    "vswitchd-down",
    "hw-offload-off",
    "userspace-datapath",
    "max-idle-short",
    "min-revalidate-pps",
    "flow-limit-near",
    "megaflows-in-software",
    "bridge-missing",
    "fail-mode-not-secure",
    "uplink-not-in-bridge",
    "uplink-not-working",
    "foreign-port",
    "port-not-working",
    "uplink-missing",
    "uplink-down",
    "uplink-without-carrier",
    "uplink-has-address",
    "local-ipv6-disabled",
    "local-no-link-local",
    "local-accepts-ra",
    "uplink-ipv6-enabled",
    "nic-without-vfs",
    "nic-not-in-switchdev",
    "mtu-below-roce",
    "mtu-too-small",
    "links-unknown",
    "bgpd-down",
    "bgp-session-down",
    "bmp-missing",
    "no-leaf-neighbour",
    "key-file-missing",
    "key-file-readable",
    "key-file-bad",
    "accepted-key-bad",
    "accepted-key-in-use",
    "accepted-key-unused",
    "tenant-id-of-no-key",
    "tenant-ids-collide",
    "record-unreadable",
    "record-readable",
    "record-no-space",
    "rdma-shared",
    "rdma-missing",
    "certificate-unreadable",
    "certificate-not-yet-valid",
    "certificate-expired",
    "certificate-expires-soon",
    "pending-work",
    "add-died",
    "delete-unfinished",
    "part-failing",
    "rules-missing",
    "not-announced",
    "tenant-unused",
    "no-tenant",
};

class Doctor {
 public:
  explicit Doctor(const NodeFacts& facts) : facts_(facts), config_(facts.config), view_(facts.view) {}

  std::vector<Finding> Run() {
    OpenVswitch();
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
    Bgp();
    Files();
    if (config_.tenancy.mode == config::TenancyMode::kNamespace) Keys();
    Rdma();
    Certificates();
    Attachments();
    Parts();
    Tenants();
    std::ranges::stable_sort(found_, [](const Finding& a, const Finding& b) {
      return std::tuple(-static_cast<int>(a.severity), a.id, a.subject) <
             std::tuple(-static_cast<int>(b.severity), b.id, b.subject);
    });
    return std::move(found_);
  }

 private:
  void Find(Severity severity, std::string id, std::string subject, std::string what, std::string why,
            std::string fix) {
    found_.push_back(
        {severity, std::move(id), std::move(subject), std::move(what), std::move(why), std::move(fix)});
  }

  std::string Other(const std::string& key) const {
    const auto it = facts_.other_config.find(key);
    return it == facts_.other_config.end() ? "" : it->second;
  }
  bool KernelDatapath() const { return config_.ovs.datapath == "system"; }
  bool Offloads() const { return Other("hw-offload") == "true"; }

  void OpenVswitch() {
    if (facts_.ovsdb_down) {
      Find(Severity::kCritical, "ovsdb-down", "ovsdb-server",
           "the configuration database does not answer: " + facts_.ovsdb_down->message,
           "no pod can be attached and nothing of the bridges can be repaired",
           "systemctl status openvswitch-switch; is ovs.db in node.json its socket?");
    } else {
      Offload();
    }
    if (facts_.vswitchd_down) {
      Find(Severity::kCritical, "vswitchd-down", "ovs-vswitchd",
           "ovs-vswitchd does not answer: " + facts_.vswitchd_down->message,
           "flows that are in the datapath go on, new pairs of pods get none",
           "systemctl status openvswitch-switch; is ovs.run_dir in node.json its folder?");
    } else {
      FlowLimit();
    }
    if (facts_.megaflows_in_software > 0 && KernelDatapath() && Offloads()) {
      Find(Severity::kWarning, "megaflows-in-software", "datapath",
           fmt::format("{} of {} datapath flows of pods are not in the NIC", facts_.megaflows_in_software,
                       facts_.megaflows),
           "their packets cost CPU and come nowhere near line rate",
           "`railctl get flows` says which and, where it can be known, why");
    }
  }

  void Offload() {
    if (!KernelDatapath()) {
      Find(Severity::kWarning, "userspace-datapath", "ovs.datapath",
           "the bridges use the userspace datapath (ovs.datapath is \"netdev\")",
           "every packet costs CPU, and RDMA does not pass at all: no NIC takes these flows over",
           "set ovs.datapath to \"system\" on a node with a NIC; a lab has to live with it");
    }
    if (!Offloads()) {
      Find(Severity::kWarning, "hw-offload-off", "Open vSwitch",
           "hardware offload is off (other_config:hw-offload is " +
               (Other("hw-offload").empty() ? "not set" : Other("hw-offload")) + ")",
           "every packet of every pod goes through this node's CPU: a fraction of line rate",
           "`ovs-vsctl set Open_vSwitch . other_config:hw-offload=true`, then restart openvswitch-switch: it "
           "is read at "
           "start only");
    }
    const uint64_t idle = Number<uint64_t>(Other("max-idle")).value_or(kDefaultMaxIdle);
    if (idle < kGoodMaxIdle) {
      Find(Severity::kWarning, "max-idle-short", "Open vSwitch",
           fmt::format("datapath flows are removed after {} s without a packet{}", idle / 1000,
                       Other("max-idle").empty() ? " (the default)" : ""),
           "a queue pair that is quiet between two steps of a job starts in software again: reordering, "
           "latency",
           "`ovs-vsctl set Open_vSwitch . other_config:max-idle=600000`");
    }
    if (Other("min-revalidate-pps") != "0") {
      Find(Severity::kInfo, "min-revalidate-pps", "Open vSwitch",
           "slow flows may be thrown out when the datapath is busy (min-revalidate-pps is " +
               (Other("min-revalidate-pps").empty() ? "5, the default" : Other("min-revalidate-pps")) + ")",
           "with many flows, those of quiet queue pairs leave the NIC and come back through software",
           "`ovs-vsctl set Open_vSwitch . other_config:min-revalidate-pps=0`");
    }
  }

  void FlowLimit() {
    for (const DatapathCounts& datapath : facts_.datapaths) {
      if (datapath.limit == 0 || datapath.flows * 10 < datapath.limit * 8) continue;
      Find(
          Severity::kWarning, "flow-limit-near", "datapath",
          fmt::format("{} datapath flows of at most {}", datapath.flows, datapath.limit),
          "above the limit idle flows go after 0.1 s, above twice the limit all of them do: traffic falls "
          "back to "
          "software in waves",
          "`ovs-vsctl set Open_vSwitch . other_config:flow-limit=400000`; pods that scan addresses make many "
          "flows");
    }
  }

  const engine::RailView* ViewOf(const std::string& rail) const {
    const auto it = std::ranges::find_if(view_.rails, [&](const auto& r) { return r.rail.name == rail; });
    return it == view_.rails.end() ? nullptr : &*it;
  }

  void Rail(const config::Rail& rail, const RailFacts& seen) {
    if (!facts_.ovsdb_down) Bridge(rail, seen);
    if (!facts_.links_unknown) {
      Uplink(rail, seen.uplink);
      if (seen.bridge) Local(rail, seen.local);
      Mtu(rail, seen);
    }
    Nic(rail, seen.nic);
    Leaf(rail, seen);
  }

  // Where raild prepares the NIC, its health says what keeps it from doing so; a node.json that names representors does without.
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
           config_.ovs.manage_bridges ? "raild makes it: `railctl get node` says what keeps it from doing so"
                                      : "make it (ovs.manage_bridges is false): ovs-vsctl add-br " +
                                            rail.bridge + " -- set-fail-mode " + rail.bridge + " secure`");
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
      if (known.contains(port.name)) continue;
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
           "`ip link set " + rail.bridge +
               " addrgenmode eui64`, then down and up; a flush of its addresses takes it away");
    }
    if (local.accept_ra == "1" || local.accept_ra == "2") {
      Find(Severity::kInfo, "local-accepts-ra", rail.name, rail.bridge + " accepts router advertisements",
           "the leaf may become the node's default router for IPv6",
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

  void Leaf(const config::Rail& rail, const RailFacts& seen) {
    const engine::RailView* view = ViewOf(rail.name);
    if (view == nullptr) return;
    if (!facts_.bgpd_down && view->bgp_state != "Established") {
      Find(Severity::kCritical, "bgp-session-down", rail.name,
           view->bgp_state.empty() ? "bgpd has no session on " + rail.bridge
                                   : "the BGP session on " + rail.bridge + " is " + view->bgp_state,
           "addresses of this node's pods are not told on this rail, and none is learned",
           "`vtysh -c 'show bgp neighbors " + rail.bridge +
               "'` says the last error; is the leaf's side configured "
               "(unnumbered, remote-as external)?");
    }
    if (view->leaf_mac.is_zero() && seen.bridge) {
      Find(Severity::kCritical, "no-leaf-neighbour", rail.name,
           "the leaf has not been heard on " + rail.bridge,
           "packets to pods elsewhere have no destination MAC: they are dropped in table 4",
           "`ip -6 neigh show dev " + rail.bridge +
               "`; the leaf must send router advertisements on this port");
    }
  }

  void Bgp() {
    if (facts_.bgpd_down) {
      Find(Severity::kCritical, "bgpd-down", "bgpd", "bgpd does not answer: " + facts_.bgpd_down->message,
           "addresses are neither told nor learned",
           "systemctl status frr; is frr.run_dir in node.json its folder?");
      return;
    }
    if (!view_.learning_by_push) {
      Find(Severity::kWarning, "bmp-missing", "bgpd",
           "bgpd does not push what it learns (no BMP): raild asks it instead",
           "pods elsewhere are known up to a quarter of a second later, and every question costs bgpd time",
           "start bgpd with -M bmp (bgpd_options in /etc/frr/daemons), then restart FRR");
    }
  }

  static std::string Octal(uint32_t mode) { return fmt::format("{:04o}", mode & 07777); }

  void Files() {
    const std::string& key = config_.tenancy.key_file;
    if (config_.tenancy.mode == config::TenancyMode::kNamespace) {
      if (!facts_.key_file.there) {
        Find(Severity::kCritical, "key-file-missing", key, "the tenant key is not there",
             "no pod can be placed in its tenant: no ADD succeeds",
             "put the same key on every node: `install -m 0640 tenant.key " + key + "`");
      } else if ((facts_.key_file.mode & 07) != 0) {
        Find(Severity::kCritical, "key-file-readable", key,
             "the tenant key has mode " + Octal(facts_.key_file.mode) + ": everybody on the node can use it",
             "who has the key can look for a namespace whose tenant id collides with another's; the plugins "
             "refuse it",
             "`chmod 0640 " + key + "`, and make a new key if somebody may have read it");
      } else if (facts_.key_error) {
        Find(Severity::kCritical, "key-file-bad", key, facts_.key_error->message,
             "no pod can be placed in its tenant: no ADD succeeds", "put the fleet's key there");
      }
    }
    if (facts_.record_error) {
      Find(Severity::kCritical, "record-unreadable", "state.db",
           "the record cannot be read: " + facts_.record_error->message,
           "attachments can be neither made nor undone",
           "is the disk full or broken? A copy of the file helps to find out");
    }
    if (facts_.record_file.there && (facts_.record_file.mode & 07) != 0) {
      Find(Severity::kWarning, "record-readable", "state.db",
           "the record has mode " + Octal(facts_.record_file.mode) + ": everybody on the node can open it",
           "it names every pod of the node; writable, it decides what is undone",
           "chmod 0600 the file and its -wal and -shm");
    }
    if (facts_.record_free_bytes && *facts_.record_free_bytes < kLittleSpace) {
      Find(Severity::kCritical, "record-no-space", "state.db",
           fmt::format("its file system has {} MB left", *facts_.record_free_bytes >> 20),
           "an ADD that cannot be recorded is refused, a DEL cannot be finished", "make room");
    }
  }

  // Keys that are being replaced (lib/tenancy/README.md).
  void Keys() {
    for (const tenancy::KeyFile& file : facts_.accepted_keys) {
      if (file.problem.empty()) continue;
      Find(Severity::kWarning, "accepted-key-bad", file.file, file.problem,
           "raild goes on with the keys that it has read last, and a new raild does not start",
           "mend the file (`chmod 0640 " + file.file + "`), or remove it if nobody uses its key any more");
    }
    std::string today;
    for (const engine::KeyView& key : view_.keys) {
      if (key.file.current) today = key.file.fingerprint;
      if (!key.file.current && !key.file.fingerprint.empty() && key.file.fingerprint != today) Accepted(key);
    }
    for (const auto& [id, names] : view_.shared_tenant_ids) {
      std::string list;
      for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
      Find(Severity::kCritical, "tenant-ids-collide", id.ToString(),
           "the id is that of several tenants here: " + list,
           "announcements under it reach nobody: whose they are cannot be told",
           "remove the key file that gives them the same id, or replace the key by another one");
    }
    for (const engine::AttachmentView& shown : view_.attachments) {
      if (!facts_.unexplained.contains(shown.attachment.id)) continue;
      Find(Severity::kWarning, "tenant-id-of-no-key", Name(shown.attachment),
           "no key of this node makes its tenant's id " +
               tenancy::TenantId{shown.attachment.tenant_id}.ToString() + " of the name " +
               shown.attachment.tenant,
           "it stays in the tenant of that id: pods that are attached from now on, here and elsewhere, do "
           "not reach it",
           "put the key that it was attached under back as one of tenancy.accept_key_files until raild has "
           "moved it; or "
           "attach the pod anew");
    }
  }

  void Accepted(const engine::KeyView& key) {
    const std::string what = "the key " + key.file.fingerprint;
    if (key.attachments + key.remotes > 0) {
      std::string examples;
      for (const IpAddress& address : key.examples)
        examples += (examples.empty() ? ": " : ", ") + address.ToString();
      if (key.remotes > key.examples.size() && !key.examples.empty()) examples += ", ...";
      Find(Severity::kInfo, "accepted-key-in-use", key.file.file,
           fmt::format("{} is accepted beside that of today; of the tenants here {} attachments of this node "
                       "and {} addresses "
                       "elsewhere are under it{}",
                       what, key.attachments, key.remotes, examples),
           "pods under it are reached as long as the file is there, and not without it",
           "do not remove it yet: give every node the new key first (lib/tenancy: Another key)");
    } else {
      Find(Severity::kInfo, "accepted-key-unused", key.file.file,
           what + " is accepted beside that of today, and nothing of the tenants here is under it",
           "who has it can still announce addresses for tenants, if it is one that was replaced",
           "if it was replaced, remove the file once every node says so; if it is the next one, this node is "
           "ready for it");
    }
  }

  void Rdma() {
    if (facts_.view.rdma == engine::RdmaMode::kNone) {
      Find(Severity::kInfo, "rdma-missing", "kernel",
           "this node has no RDMA device (/sys/class/infiniband is empty)",
           "pods get network devices and no RDMA devices", "modprobe the RDMA driver of the NIC (mlx5_ib)");
    } else if (facts_.view.rdma == engine::RdmaMode::kShared) {
      Find(Severity::kWarning, "rdma-shared", "kernel", "RDMA devices are shared among network namespaces",
           "every pod sees every RDMA device of the node; only the address of a GID keeps them apart, and a "
           "pod picks "
           "wrong ones easily",
           "rdma system set netns exclusive, at boot (options ib_core netns_mode=0): it cannot be changed "
           "while pods run");
    }
  }

  void Certificates() {
    for (const CertificateFacts& each : facts_.certificates) {
      if (!each.validity) {
        Find(Severity::kCritical, "certificate-unreadable", each.path, each.validity.error().message,
             each.purpose + " is needed by everybody who connects over TCP",
             "put it back; it is read again at once");
        continue;
      }
      const Validity& validity = *each.validity;
      if (facts_.now_ms < validity.from_ms) {
        Find(Severity::kCritical, "certificate-not-yet-valid", each.path,
             fmt::format("{} becomes valid in {} h", each.purpose,
                         (validity.from_ms - facts_.now_ms) / 3600000 + 1),
             "every connection over TCP is refused until then",
             "is this node's clock right (`timedatectl`)? A clock that is behind is the usual reason");
      } else if (facts_.now_ms >= validity.until_ms) {
        Find(Severity::kCritical, "certificate-expired", each.path,
             fmt::format("{} expired {} days ago", each.purpose, (facts_.now_ms - validity.until_ms) / kDay),
             "every connection over TCP is refused", "renew it; the files are read again without a restart");
      } else if (validity.until_ms - facts_.now_ms < kSoon) {
        Find(Severity::kWarning, "certificate-expires-soon", each.path,
             fmt::format("{} expires in {} days", each.purpose, (validity.until_ms - facts_.now_ms) / kDay),
             "then every connection over TCP is refused",
             "renew it; the files are read again without a restart");
      }
    }
  }

  void Attachments() {
    for (const engine::AttachmentView& shown : view_.attachments) {
      const state::Attachment& a = shown.attachment;
      const std::string name = Name(a);
      if (!shown.pending.empty()) {
        Find(Severity::kWarning, "pending-work", name, "undo work is left: " + shown.pending,
             "what it holds (device, address, port) cannot be given to another pod",
             "raild tries again by itself; the reason above is what keeps it from ending");
      } else if (a.phase == state::Phase::kDeleting) {
        Find(Severity::kInfo, "delete-unfinished", name, "its DEL has begun and is not done",
             "what it holds (device, address, port) cannot be given to another pod",
             "raild finishes it by itself");
      } else if (a.phase == state::Phase::kAdding && facts_.now_ms - a.created_ms > kAddIsLong) {
        Find(
            Severity::kWarning, "add-died", name,
            fmt::format("its ADD began {} min ago and has not ended", (facts_.now_ms - a.created_ms) / 60000),
            "its device and addresses stay taken",
            "raild undoes it once the pod's namespace is gone; a DEL does so at once");
      } else if (a.phase == state::Phase::kReady) {
        Ready(shown, name);
      }
    }
  }

  // Why nothing comes through its port; "" when something may, or it is not known.
  std::string PortProblem(const state::Attachment& a) const {
    const auto rail = facts_.rails.find(a.rail);
    if (rail == facts_.rails.end()) return {};
    const auto link = rail->second.representors.find(a.representor);
    if (!facts_.links_unknown && link != rail->second.representors.end() && !link->second.there)
      return "there is no link " + a.representor + ", its representor";
    if (!rail->second.bridge) return {};
    const auto& ports = rail->second.bridge->ports;
    const auto port = std::ranges::find(ports, a.representor, &ovs::Port::name);
    if (port == ports.end() || port->ofport > 0) return {};
    return "Open vSwitch could not open its port " + port->name +
           (port->error.empty() ? "" : ": " + port->error);
  }

  void Ready(const engine::AttachmentView& shown, const std::string& name) {
    if (std::string problem = PortProblem(shown.attachment); !problem.empty()) {
      Find(Severity::kCritical, "port-not-working", name, std::move(problem),
           "nothing reaches the pod on this rail, and nothing that it sends is heard",
           "`ip link show " + shown.attachment.representor +
               "`; if its VF was made anew, the pod's interface went with it: delete the pod, its successor "
               "gets another");
    } else if (!shown.rules_in_place) {
      Find(Severity::kCritical, "rules-missing", name, "not all of its rules are on the bridge",
           "the pod is cut off, in one direction at least",
           "`railctl check` says which; raild puts them back");
    }
    if (shown.attachment.tenant_id == 0 && config_.tenancy.mode == config::TenancyMode::kNamespace) {
      Find(Severity::kCritical, "no-tenant", name, "the pod has no tenant", "it reaches nobody",
           "put tenant-isolation into the network's plugins after ovs-provider and attach the pod anew");
    }
    if (!shown.attachment.announced) {
      Find(Severity::kWarning, "not-announced", name, "its addresses are not announced",
           "it is reached from this node's bridge alone",
           "put frr-provider into the network's plugins and attach the pod anew");
    }
  }

  void Parts() {
    for (const engine::Health& health : view_.health) {
      // The key files have just been looked at: Files, Keys.
      if (health.ok || health.part == engine::kTenantKeys) continue;
      Find(Severity::kWarning, "part-failing", health.part,
           fmt::format("raild cannot put it right: {} ({} rounds so far)", health.problem, health.failures),
           "what is broken there stays broken",
           "the reason is what has to be mended; raild tries again by itself");
    }
  }

  void Tenants() {
    for (const auto& [tenant, namespaces] : config_.tenancy.tenants) {
      const auto id = facts_.tenant_ids.find(tenant);
      const bool here = std::ranges::any_of(view_.attachments,
                                            [&](const auto& a) { return a.attachment.tenant == tenant; });
      const bool elsewhere = id != facts_.tenant_ids.end() &&
                             std::ranges::any_of(view_.remotes, [&](const engine::RemoteView& r) {
                               return id->second.contains(r.remote.tenant.value);
                             });
      if (here || elsewhere) continue;
      std::string list;
      for (const std::string& each : namespaces) list += (list.empty() ? "" : ", ") + each;
      Find(Severity::kInfo, "tenant-unused", tenant,
           "no pod of its namespaces (" + list + ") is on this node or known elsewhere",
           "a namespace that is spelt wrong is a tenant of its own, without a word",
           "compare tenancy.tenants in node.json with `kubectl get namespaces`");
    }
  }

  const NodeFacts& facts_;
  const config::NodeConfig& config_;
  const engine::NodeView& view_;
  std::vector<Finding> found_;
};

}  // namespace

std::vector<Finding> Diagnose(const NodeFacts& facts) {
  return Doctor(facts).Run();
}

size_t KindsOfFindings() {
  return kKinds.size();
}

}  // namespace rail::inspect
