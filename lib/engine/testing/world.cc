#include "lib/engine/testing/world.h"
#include "lib/engine/attach/tenant_vlans.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "lib/netlink/testing/scratch.h"

namespace rail::engine::testing {
namespace {

template <class T>
T Must(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "the test's own set-up failed: %s\n", result.error().message.c_str());
    std::abort();
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// Namespaces are costly and nothing ever changes inside: every world uses the same ones.
netns::Netns Namespace(size_t index) {
  static std::vector<netns::Netns> all;
  while (all.size() <= index) all.push_back(netns::testing::MakeScratch());
  return Must(netns::Netns::Open("/proc/self/fd/" + std::to_string(all[index].fd())));
}

// The device fake moves devices and the pod fake must see them arrive.
class Devices : public device::Backend {
 public:
  explicit Devices(World& world) : world_(world) {}

  Result<device::Location> Locate(const device::Saved& saved) override {
    RAIL_TRY(world_.faults.Call(Dependency::kDevices, "Locate"));
    return world_.devices.Locate(saved);
  }
  Result<std::string> WhyGone(const device::Saved& saved) override { return world_.devices.WhyGone(saved); }
  Result<device::Device> Find(const config::Rail& rail, const std::string& id) override {
    RAIL_TRY(world_.faults.Call(Dependency::kDevices, "Find"));
    return world_.devices.Find(rail, id);
  }
  Status CheckRail(const config::Rail& rail, const std::string& id) override {
    RAIL_TRY(world_.faults.Call(Dependency::kDevices, "CheckRail"));
    return world_.devices.CheckRail(rail, id);
  }
  Result<device::Saved> Save(const device::Device& device) override {
    RAIL_TRY(world_.faults.Call(Dependency::kDevices, "Save"));
    return world_.devices.Save(device);
  }
  Status RaiseRepresentor(const device::Device& device, uint32_t mtu) override {
    RAIL_TRY(world_.faults.Call(Dependency::kDevices, "RaiseRepresentor"));
    return world_.devices.RaiseRepresentor(device, mtu);
  }
  Result<MacAddress> MoveIn(const device::Device& device, const netns::Netns& pod,
                            const std::string& ifname) override {
    RAIL_TRY(world_.faults.Call(Dependency::kDevices, "MoveIn"));
    RAIL_ASSIGN(const MacAddress mac, world_.devices.MoveIn(device, pod, ifname));
    world_.pods.AddLink(pod.identity(), ifname);
    return mac;
  }
  Result<std::vector<std::string>> Verify(const device::Saved& saved,
                                          const std::optional<device::Settings>& settings,
                                          const netns::Netns& pod) override {
    RAIL_TRY(world_.faults.Call(Dependency::kDevices, "Verify"));
    return world_.devices.Verify(saved, settings, pod);
  }
  Status Restore(const device::Saved& saved, const netns::Netns* pod, const std::string& ifname,
                 Deadline deadline) override {
    RAIL_TRY(world_.faults.Call(Dependency::kDevices, "Restore"));
    const auto where = world_.devices.Where(saved.id);
    RAIL_TRY(world_.devices.Restore(saved, pod, ifname, deadline));
    if (where) world_.pods.RemoveLink(*where, ifname);
    return {};
  }

 private:
  World& world_;
};

// A CrashStore that counts the points of several stores as one.
class CountedCrashStore : public state::testing::CrashStore {
 public:
  CountedCrashStore(std::unique_ptr<state::Store> inner, int at, std::shared_ptr<int> passed)
      : CrashStore(std::move(inner),
                   {.at = at > 0 ? at - *passed : 0, .crash = [](const std::string&) { throw Crash(); }}),
        before_(*passed),
        passed_(std::move(passed)) {}
  ~CountedCrashStore() override { *passed_ = before_ + points(); }

 private:
  int before_;
  std::shared_ptr<int> passed_;
};

bool IsAttachments(const ovs::Rule& rule) {
  for (const auto kind :
       {ovs::CookieKind::kAttachment, ovs::CookieKind::kTenant, ovs::CookieKind::kCompare}) {
    if (ovs::CookieMatch::Kind(kind).Selects(rule.cookie)) return true;
  }
  return false;
}

}  // namespace

Raild::Raild(World& world, Clock::duration gone_grace, int64_t booted_ms)
    : store(Must(world.deps().open_store())),
      node_status(world.config, {.hostname = "n1", .raild_version = "test"}, views),
      uplinks(world.config, world.deps(), node_status),
      the_switch(world.config, world.DepsOfRaild(), *store, node_status),
      bgp(world.config, world.deps(), *store, node_status),
      push(world.bgp),
      sweeper(world.config, world.deps(), *store, node_status, gone_grace, booted_ms),
      bgpd_is_there([&world] { return world.faults.Open(Dependency::kBgp).has_value(); }) {
  node_status.OnChange([this] { node_status.Publish(record); });
}

void Raild::Audit() {
  (void)uplinks.Look();
  bgp.Audit();
  Learn();
  the_switch.Audit();
  sweeper.Run();
  node_status.Publish(record);
}

void Raild::RecordChanged() {
  the_switch.RecordChanged();
}

void Raild::Learn() {
  push.Deliver(bgp, bgpd_is_there());
  bgp.Poll();
  push.Deliver(bgp, bgpd_is_there());  // opens a connection that raild wants anew
}

void Raild::Poll() {
  Learn();
  the_switch.Learned();
}

World::World() : ipam({}) {
  std::vector<std::string> prefixes;
  for (int i = 1; i <= 20; ++i) prefixes.push_back(fmt::format("10.0.3.{}/24", i));
  ipam = cni::testing::FakeIpam(prefixes);
  ipam_through_ = WithFaults(faults, ipam);
  folder_ = (std::filesystem::temp_directory_path() / "railcni-world-XXXXXX").string();
  if (::mkdtemp(folder_.data()) == nullptr) std::abort();

  config.bgp = {.manage = true,
                .asn = 4200000001,
                .router_id = *IpAddress::Parse("10.255.0.1"),
                .community_asn = 4200000000};
  config.ovs = {.db_socket = "db.sock", .run_dir = "run", .manage_bridges = false, .datapath = "netdev"};
  ovsdb.OnInternal([this](const std::string& name, const std::string& mac, bool made) {
    netlink::Link link;
    link.name = name;
    link.kind = "openvswitch";
    if (const auto given = MacAddress::Parse(mac)) link.mac = *given;
    if (made) host.AddLink(link);
    if (!made) host.RemoveLink(name);
  });
  AddRail("rail0", 0, {0, 1, 2, 3});
  AddRail("rail1", 1, {10, 11});
  frr::BaseConfig base{.router_id = config.bgp.router_id, .rails = {}};
  for (const config::Rail& rail : config.rails) base.rails.push_back({rail.name, rail.index, rail.bridge});
  Must(bgp.EnsureBase(base, {}));
  Must(bgp.EnsureFeed(base.rails, config.bgp.bmp_port, true, {}));
  for (const config::Rail& rail : config.rails) bgp.SetSession(rail.bridge, "Established");
}

World::~World() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void World::AddRail(const std::string& name, uint32_t index, const std::vector<int>& numbers) {
  config::Rail rail{.name = name,
                    .index = index,
                    .pf = "ens" + std::to_string(index),
                    .bridge = "br-" + name,
                    .mtu = 4200,
                    .devices = {}};
  const auto link = [&](const std::string& link_name, int last) {
    netlink::Link made;
    made.name = link_name;
    made.mac = *MacAddress::Parse(fmt::format("02:00:00:00:{:02x}:{:02x}", index, last));
    made.up = true;
    made.carrier = true;
    host.AddLink(made);
    ovsdb.AddDevice(link_name);
  };
  link(rail.pf, 1);
  link(rail.bridge, 2);
  for (const int number : numbers) {
    const std::string vf = "vf" + std::to_string(number);
    const std::string rep = "rep" + std::to_string(number);
    link(rep, 16 + number);
    rail.devices.push_back({vf, rep});
    devices.Add(name, vf, rep);
    guard.AddLink(rep);
    untouched_[vf] = *devices.State(vf);
  }
  Must(ovsdb.EnsureBridge({.name = rail.bridge,
                           .datapath = "netdev",
                           .uplink = rail.pf,
                           .hwaddr = {},
                           .mtu = 4200,
                           .external_ids = {{kOwnerKey, name}, {kUplinkKey, rail.pf}}},
                          {}));
  SetLeafMac(rail.bridge, "02:1e:af:00:00:01");
  config.rails.push_back(std::move(rail));
}

Deps World::deps() {
  Deps deps;
  deps.load_config = [this]() -> Result<config::NodeConfig> {
    if (!config_problem.empty()) return Fail(Code::kInvalid, config_problem);
    return config;
  };
  deps.tenants = [this] { return tenants; };
  deps.open_store = [this]() -> Result<std::unique_ptr<state::Store>> {
    RAIL_TRY(faults.Open(Dependency::kState));
    if (faults.disk == FaultInjector::Disk::kReadOnly) RAIL_TRY(faults.Write());
    return std::make_unique<CountedCrashStore>(
        WithFaults(faults, std::make_unique<state::testing::Memory>(record)), crash_at_, points_);
  };
  deps.read_store = [this]() -> Result<std::unique_ptr<state::Store>> {
    RAIL_TRY(faults.Open(Dependency::kState));
    return WithFaults(faults, std::make_unique<state::testing::Memory>(record));
  };
  deps.openers = [this](const config::NodeConfig&) {
    Openers openers;
    openers.ovsdb = [this](Deadline) -> Result<std::unique_ptr<ovs::Ovsdb>> {
      RAIL_TRY(faults.Open(Dependency::kOvsdb));
      return WithFaults(faults, ovsdb);
    };
    openers.openflow = [this](const std::string& bridge, Deadline) -> Result<std::unique_ptr<ovs::OpenFlow>> {
      RAIL_TRY(faults.Open(Dependency::kOpenFlow));
      return WithFaults(faults, static_cast<ovs::OpenFlow&>(bridges[bridge]));
    };
    openers.bgp = [this](Deadline) -> Result<std::unique_ptr<frr::Bgp>> {
      RAIL_TRY(faults.Open(Dependency::kBgp));
      return WithFaults(faults, bgp);
    };
    openers.netlink = [this]() -> Result<std::unique_ptr<netlink::Netlink>> {
      RAIL_TRY(faults.Open(Dependency::kNetlink));
      return WithFaults(faults, host);
    };
    openers.rates = [this]() -> Result<std::unique_ptr<netlink::Rates>> {
      return std::make_unique<netlink::testing::FakeRates>(nics);
    };
    openers.lock_devices = [this](FileLock::Kind kind) { return LockDevices(kind); };
    openers.lock_device = [this](const std::string& device, Deadline) {
      return FileLock::Get(folder_ + "/device-" + device, FileLock::Kind::kAlone);
    };
    openers.lock_tenants = [this](const std::string& rail, FileLock::Kind kind, Deadline) {
      return LockTenants(rail, kind);
    };
    openers.guard = [this]() -> Result<std::unique_ptr<guard::Guard>> {
      RAIL_TRY(faults.Open(Dependency::kGuard));
      return WithFaults(faults, guard);
    };
    openers.devices = [this](netlink::Netlink&) { return std::make_unique<Devices>(*this); };
    openers.ask_vswitchd = [this](const std::string& command, const std::vector<std::string>& arguments,
                                  Deadline) { return vswitchd(command, arguments); };
    openers.beside = beside;
    openers.release_addresses = [this](const cni::IpamCall& call, Deadline deadline) -> cni::Outcome<void> {
      cni::Request request;
      request.command = "DEL";
      request.container_id = call.environment.at("CNI_CONTAINERID");
      request.ifname = call.environment.at("CNI_IFNAME");
      request.network = nlohmann::json::parse(call.config)["name"];
      return ipam_through_->Del(request, deadline);
    };
    openers.pods = WithFaults(faults, pods);
    return openers;
  };
  deps.ipam = ipam_through_.get();
  deps.origin = origin;
  deps.wake_raild = [this] { ++wakeups; };
  deps.now = [this] { return Clock::now() + passed; };
  deps.step_ended = [this] { ++steps_ended; };
  deps.solicit_routers = [this](const std::string& interface) -> Status {
    solicited.push_back(interface);
    return {};
  };
  return deps;
}

Result<FileLock> World::LockDevices(FileLock::Kind kind) {
  return FileLock::Get(folder_ + "/devices", kind);
}

Result<FileLock> World::LockTenants(const std::string& rail, FileLock::Kind kind) {
  return FileLock::Get(folder_ + "/tenants-" + rail, kind);
}

// raild keeps its connections to the bridges, and each reports what others change.
Deps World::DepsOfRaild() {
  Deps of_raild = deps();
  auto kept = std::make_shared<std::map<std::string, std::unique_ptr<ovs::OpenFlow>>>();
  of_raild.openers = [this, kept, openers = of_raild.openers](const config::NodeConfig& node) {
    Openers all = openers(node);
    all.openflow = [this, kept](const std::string& bridge,
                                Deadline) -> Result<std::unique_ptr<ovs::OpenFlow>> {
      RAIL_TRY(faults.Open(Dependency::kOpenFlow));
      std::unique_ptr<ovs::OpenFlow>& open = (*kept)[bridge];
      if (!open) open = bridges[bridge].Watch();
      return WithFaults(faults, *open);
    };
    return all;
  };
  return of_raild;
}

std::unique_ptr<Raild> World::StartRaild(Clock::duration gone_grace, int64_t booted_ms) {
  return std::make_unique<Raild>(*this, gone_grace, booted_ms);
}

PodSpec World::MakePod(const std::string& name, const std::string& pod_namespace, const std::string& device,
                       const std::string& rail) {
  PodSpec pod{.name = name, .pod_namespace = pod_namespace, .device = device, .rail = rail};
  namespaces_.push_back(Namespace(namespaces_.size()));
  pod.identity = namespaces_.back().identity();
  pod.netns = folder_ + "/" + name + "-" + std::to_string(namespaces_.size());
  std::filesystem::create_symlink("/proc/self/fd/" + std::to_string(namespaces_.back().fd()), pod.netns);
  return pod;
}

void World::EndNamespace(const PodSpec& pod) {
  std::filesystem::remove(pod.netns);
  devices.KillNamespace(pod.identity);
  pods.EndNamespace(pod.identity);
}

void World::CrashAt(int at) {
  crash_at_ = at;
  *points_ = 0;
}

std::optional<state::Attachment> World::FindAttachment(const PodSpec& pod) {
  return Must(record.Find({pod.rail, pod.container, pod.ifname}));
}

state::Attachment World::Attachment(const PodSpec& pod) {
  const auto found = FindAttachment(pod);
  if (!found) Must(Status(Fail(Code::kNotFound, "pod " + pod.name + " is not in the record")));
  return *found;
}

std::vector<state::Step> World::Steps(const PodSpec& pod) {
  const auto found = FindAttachment(pod);
  return found ? Must(record.Steps(found->id)) : std::vector<state::Step>();
}

std::vector<std::string> World::Pending(const PodSpec& pod) {
  std::vector<std::string> kinds;
  for (const state::Step& step : Steps(pod)) {
    if (!step.pending.empty()) kinds.push_back(step.kind);
  }
  return kinds;
}

std::vector<ovs::Rule> World::RulesOf(ovs::CookieKind kind, const std::string& bridge) {
  std::vector<ovs::Rule> rules;
  for (const ovs::Rule& rule : bridges[bridge].rules()) {
    if (ovs::CookieMatch::Kind(kind).Selects(rule.cookie)) rules.push_back(rule);
  }
  return rules;
}

std::vector<ovs::Rule> World::RulesOf(const PodSpec& pod) {
  const auto id = static_cast<uint64_t>(Attachment(pod).id);
  std::vector<ovs::Rule> rules;
  for (const ovs::Rule& rule : bridges["br-" + pod.rail].rules()) {
    if (rule.cookie == ovs::Cookie(ovs::CookieKind::kAttachment, id) ||
        rule.cookie == ovs::Cookie(ovs::CookieKind::kTenant, id)) {
      rules.push_back(rule);
    }
  }
  return rules;
}

tenancy::TenantId World::Tenant(const std::string& pod_namespace) const {
  return Must(tenancy::TenantOf(config, pod_namespace, [this] { return tenants; })).id;
}

void World::SetLeafMac(const std::string& bridge, const std::string& mac) {
  Must(host.SetPermanentNeighbour(Must(host.GetLink(bridge)).index, *IpAddress::Parse("fe80::1"),
                                  *MacAddress::Parse(mac)));
}

void World::LearnRemote(const std::string& address, const std::string& pod_namespace,
                        const std::string& interface) {
  const auto [high, low] = tenancy::TenantCommunities(config.bgp.community_asn, Tenant(pod_namespace));
  bgp.Learn(*IpPrefix::Parse(address + "/32"),
            {high, low, tenancy::RailCommunity(config.bgp.community_asn, 0)}, interface);
}

std::vector<std::string> World::Leftovers() {
  std::vector<std::string> left;
  for (const auto& [representor, state] : guard.guards()) {
    if (!state.open) left.push_back("guard: that of " + representor + " refuses");
  }
  for (const state::Attachment& attachment : Must(record.List())) {
    left.push_back("record: attachment " + attachment.key.ToString());
    for (const state::Step& step : Must(record.Steps(attachment.id)))
      left.push_back("record: step " + step.kind +
                     (step.pending.empty() ? "" : ", pending: " + step.pending));
  }
  const auto claimed = [&](state::ClaimKind kind, const std::string& value) {
    if (Must(record.OwnerOf(kind, value))) left.push_back("record: claim of " + value);
  };
  std::vector<std::string> owners = {""};  // and with VLANs, the tenants
  for (const auto& [tenant, vlan] : config.tenancy.vlans.of_tenant) owners.push_back(tenant + "/");
  for (const std::string& owner : owners) {
    for (int i = 1; i <= 20; ++i) claimed(state::ClaimKind::kAddress, fmt::format("{}10.0.3.{}", owner, i));
  }
  for (const auto& [key, prefix] : ipam.held()) left.push_back("IPAM: " + prefix + " of " + key);
  for (const config::Rail& rail : config.rails) {
    const auto bridge = Must(ovsdb.FindBridge(rail.bridge, {}));
    for (const ovs::Port& port : bridge ? bridge->ports : std::vector<ovs::Port>()) {
      // The port of a VLAN stays for some time after its tenant's last pod.
      if (VlanOfPort(rail, port)) continue;
      if (port.name != rail.bridge && port.name != rail.pf) left.push_back("OVS: port " + port.name);
    }
    for (const config::DeviceEntry& entry : rail.devices) {
      claimed(state::ClaimKind::kDevice, entry.device);
      claimed(state::ClaimKind::kPort, entry.representor);
    }
  }
  for (auto& [name, bridge] : bridges) {
    for (const ovs::Rule& rule : bridge.rules()) {
      if (IsAttachments(rule))
        left.push_back(fmt::format("OpenFlow: {} table={} {}", name, rule.table, rule.match));
    }
  }
  for (const frr::Announcement& announced : Must(bgp.Announced({})))
    left.push_back("bgpd: " + announced.address.ToString());
  for (const std::string& vrf : Must(bgp.OurInstances({}))) {
    for (const frr::Announcement& announced : Must(bgp.Instance(vrf).Announced({})))
      left.push_back("bgpd: " + announced.address.ToString() + " in VRF " + vrf);
  }
  for (const auto& [name, untouched] : untouched_) {
    if (devices.Where(name)) left.push_back("device: " + name + " is in a pod");
    const auto now = devices.State(name);  // a virtual one may have gone with its namespace
    if (now && !(*now == untouched)) left.push_back("device: " + name + " is not as it was");
  }
  for (const auto& [key, plan] : pods.configured()) left.push_back("pod: " + key.second + " is configured");
  for (const auto& key : pods.ruled()) left.push_back("pod: policy rules of " + key.second);
  return left;
}

}  // namespace rail::engine::testing
