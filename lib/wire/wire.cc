#include "lib/wire/wire.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "lib/base/clock.h"
#include "lib/base/timing.h"
#include "lib/cni/ipam.h"
#include "lib/config/node_config.h"
#include "lib/device/netdev.h"
#include "lib/device/select.h"
#include "lib/device/sriov.h"
#include "lib/event/wake.h"
#include "lib/frr/solicit.h"
#include "lib/frr/vty.h"
#include "lib/frr/vty_bgp.h"
#include "lib/frr/zebra.h"
#include "lib/guard/kernel.h"
#include "lib/netlink/drop_rule.h"
#include "lib/netlink/exits.h"
#include "lib/netlink/kernel.h"
#include "lib/netlink/kernel_dcb.h"
#include "lib/netlink/kernel_devlink.h"
#include "lib/netlink/kernel_rates.h"
#include "lib/netlink/kernel_rdma.h"
#include "lib/netlink/kernel_vf.h"
#include "lib/ovs/db_connection.h"
#include "lib/ovs/mgmt_connection.h"
#include "lib/ovs/unixctl.h"
#include "lib/podnet/kernel.h"
#include "lib/sriov/prepare.h"
#include "lib/state/sqlite.h"
#include "lib/tenancy/tenancy.h"

namespace rail::wire {

namespace {

sriov::Preparer MakePreparer(const std::string& sysfs) {
  return {sriov::Sysfs(sysfs),
          netlink::KernelDevlink::Open,
          {.netlink = netlink::Kernel::Open, .vfs = netlink::KernelVfs::Open}};
}

}  // namespace

engine::Openers RealOpeners(const config::NodeConfig& config) {
  engine::Openers openers;
  openers.ovsdb = [db = config.ovs.db_socket](Deadline deadline) {
    return ovs::DbConnection::Open(db, deadline);
  };
  openers.openflow = [run_dir = config.ovs.run_dir](const std::string& bridge, Deadline deadline) {
    return ovs::MgmtConnection::Open(run_dir + "/" + bridge + ".mgmt", deadline);
  };
  openers.bgp = [run_dir = config.frr.run_dir, bgp = config.bgp,
                 vrfs = config.tenancy.mode ==
                        config::TenancyMode::kVrf](Deadline deadline) -> Result<std::unique_ptr<frr::Bgp>> {
    RAIL_ASSIGN(std::unique_ptr<frr::Bgp> open,
                frr::VtyBgp::Open(
                    {.run_dir = run_dir, .asn = bgp.asn, .community_asn = bgp.community_asn, .vrfs = vrfs},
                    deadline));
    return open;
  };
  openers.netlink = [] { return netlink::Kernel::Open(); };
  openers.devices = [sysfs = config::Paths::FromEnvironment().sysfs](
                        netlink::Netlink& host) -> std::unique_ptr<device::Backend> {
    device::Sriov::Connections connections{.sysfs = sysfs,
                                           .devlink = netlink::KernelDevlink::Open,
                                           .vfs = netlink::KernelVfs::Open,
                                           .rdma = netlink::KernelRdma::Open,
                                           .rates = netlink::KernelRates::Open};
    return std::make_unique<device::Select>(
        std::make_unique<device::Sriov>(host, netlink::Kernel::Open, std::move(connections)),
        std::make_unique<device::Netdev>(host, netlink::Kernel::Open));
  };
  openers.prepare_nic = [sysfs = config::Paths::FromEnvironment().sysfs](
                            const config::Rail& rail, const sriov::Preparer::Claimed& claimed) {
    sriov::Preparer preparer = MakePreparer(sysfs);
    return preparer.Ensure({.pf = rail.pf, .vfs = rail.num_vfs, .steering = rail.flow_steering}, claimed);
  };
  openers.give_nic_back = [sysfs = config::Paths::FromEnvironment().sysfs](
                              const std::string& pf, const std::vector<sriov::NicState>& before,
                              const sriov::Preparer::Claimed& claimed) {
    return MakePreparer(sysfs).GiveBack(pf, before, claimed);
  };
  openers.guard = guard::Kernel::Make;
  openers.lock_devices = [path = config::Paths::FromEnvironment().state_file](FileLock::Kind kind) {
    return FileLock::Get(path + ".devices", kind);
  };
  openers.lock_device = [path = config::Paths::FromEnvironment().state_file](const std::string& device,
                                                                             Deadline deadline) {
    return FileLock::Wait(path + ".device-" + device, FileLock::Kind::kAlone, deadline);
  };
  openers.lock_tenants = [path = config::Paths::FromEnvironment().state_file](
                             const std::string& rail, FileLock::Kind kind, Deadline deadline) {
    return FileLock::Wait(path + ".tenants-" + rail, kind, deadline);
  };
  openers.look_at_nic = [sysfs = config::Paths::FromEnvironment().sysfs](const config::Rail& rail) {
    return MakePreparer(sysfs).Look(rail.pf);
  };
  openers.rdma_guids = [sysfs = config::Paths::FromEnvironment().sysfs] {
    return sriov::RdmaGuids(sriov::Sysfs(sysfs));
  };
  openers.dcb = netlink::KernelDcb::Open;
  openers.look_at_qos = [sysfs = config::Paths::FromEnvironment().sysfs](const std::string& uplink,
                                                                         netlink::Dcb& dcb) {
    return qos::Look(uplink, dcb, sriov::Sysfs(sysfs));
  };
  openers.rates = netlink::KernelRates::Open;
  openers.zebra = [run_dir = config.frr.run_dir](Deadline deadline) {
    return frr::ZebraVersion(run_dir, deadline);
  };
  openers.exits = netlink::ExitsOf;
  openers.own_next_hops = [run_dir = config.frr.run_dir](const std::function<Status()>& before,
                                                         Deadline deadline) {
    return frr::OwnNextHops(run_dir, before, deadline);
  };
  openers.daemon_runs = [run_dir = config.frr.run_dir](const std::string& daemon) {
    return frr::DaemonRuns(run_dir, daemon);
  };
  openers.echo = frr::Echo;
  openers.drop_rules = netlink::ListDropRules;
  openers.rdma_netns =
      [sysfs = config::Paths::FromEnvironment().sysfs]() -> Result<std::optional<netlink::RdmaNetns>> {
    // Opening the protocol would load the RDMA modules of a node that has no use for them.
    if (sriov::Sysfs(sysfs).List("class/infiniband").empty()) return std::nullopt;
    RAIL_ASSIGN(const auto rdma, netlink::KernelRdma::Open());
    RAIL_ASSIGN(const netlink::RdmaNetns mode, rdma->NetnsMode());
    return mode;
  };
  openers.ask_vswitchd = [run_dir = config.ovs.run_dir](const std::string& command,
                                                        const std::vector<std::string>& arguments,
                                                        Deadline deadline) -> Result<std::string> {
    RAIL_ASSIGN(const std::string socket, ovs::FindUnixctl(run_dir));
    return ovs::UnixctlCall(socket, command, arguments, deadline);
  };
  openers.release_addresses = [](const cni::IpamCall& call, Deadline deadline) {
    return cni::Release(call, deadline);
  };
  openers.pods = std::make_shared<podnet::Kernel>();
  return openers;
}

engine::Deps RealDeps() {
  static cni::ExecIpam ipam;
  const config::Paths paths = config::Paths::FromEnvironment();
  return {.load_config = [paths] { return config::Load(paths.config_file); },
          .tenants = [paths]() -> Result<tenancy::TenantMapPtr> {
            RAIL_ASSIGN(const config::NodeConfig config, config::Load(paths.config_file));
            RAIL_ASSIGN(tenancy::TenantMap map,
                        tenancy::LoadTenantMap(paths.tenants_file, config.kubernetes.tenant_label));
            return std::make_shared<const tenancy::TenantMap>(std::move(map));
          },
          .open_store = [paths] { return state::Sqlite::Open(paths.state_file); },
          .read_store = [paths] { return state::Sqlite::OpenAsItIs(paths.state_file); },
          .openers = RealOpeners,
          .ipam = &ipam,
          .wake_raild =
              [paths] {
                (void)event::Wake(paths.wake_socket);
              },  // raild also audits: a lost wakeup costs time only
          .solicit_routers = frr::SolicitRouters,
          .leaves_file = paths.leaves_file};
}

namespace {

// Also tells raild why a pod has not got its interface.
cni::Plugin Telling(cni::Plugin plugin) {
  plugin.add = [name = plugin.name, add = plugin.add](const cni::Request& request) {
    cni::Outcome<std::string> result = add(request);
    if (!result) {
      const cni::CniError& error = result.error();
      (void)event::ReportFailure(config::Paths::FromEnvironment().wake_socket,
                                 {name, request.pod.pod_namespace, request.pod.name, request.pod.uid,
                                  error.details.empty() ? error.msg : error.msg + ": " + error.details});
    }
    return result;
  };
  return plugin;
}

// Runs Main, then tells raild how long it took, if raild is there. Does not wait for raild.
int TimedMain(const cni::Plugin& plugin) {
  const auto began = Clock::now();
  Timings timings;
  const int status = cni::Main(Telling(plugin));
  const char* verb = std::getenv("CNI_COMMAND");
  if (verb == nullptr || std::string_view(verb) == "VERSION") return status;
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began);
  (void)event::ReportRun(config::Paths::FromEnvironment().wake_socket,
                         {plugin.name, verb, took, status != 0, timings.All()});
  return status;
}

}  // namespace

int PluginMain(int argc, char** argv, const cni::Plugin& plugin) {
  if (argc == 1) return TimedMain(plugin);
  if (argc == 2 && std::string_view(argv[1]) == "--check-config") return cni::CheckConfigMain(plugin);
  std::fprintf(
      stderr,
      "usage: %s                   called by a container runtime, with CNI_* in the environment\n"
      "       %s --check-config    reads a network configuration on stdin, says what is wrong with it\n",
      plugin.name.c_str(), plugin.name.c_str());
  return 2;
}

}  // namespace rail::wire
