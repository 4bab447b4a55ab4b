// A node made of fakes that verbs, sessions and raild's repair share; they come and go, the node stays.
//
// Use:      World world;
//           const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
//           ... world.deps() into MakePlugin, Session::Open or StartRaild; see chain.h for whole verbs ...
//           EXPECT_THAT(world.Leftovers(), IsEmpty());
// Threads:  one at a time
// Owns:     every fake, the namespaces of its pods and a folder with their paths; needs root
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/cni/testing/fake_ipam.h"
#include "lib/device/testing/fake.h"
#include "lib/engine/repair/bgp.h"
#include "lib/engine/repair/sweep.h"
#include "lib/engine/repair/switch.h"
#include "lib/engine/repair/uplink.h"
#include "lib/engine/testing/fault_injector.h"
#include "lib/engine/testing/push.h"
#include "lib/frr/testing/fake.h"
#include "lib/guard/testing/fake.h"
#include "lib/netlink/testing/fake.h"
#include "lib/netlink/testing/rates.h"
#include "lib/ovs/testing/fake_openflow.h"
#include "lib/ovs/testing/fake_ovsdb.h"
#include "lib/podnet/testing/fake.h"
#include "lib/state/testing/crash_store.h"
#include "lib/state/testing/memory.h"

namespace rail::engine::testing {

// Thrown where a process would have died. A test that runs a verb with a crash plan catches it.
struct Crash {};

struct PodSpec {
  std::string name;
  std::string pod_namespace;
  std::string device;
  std::string rail = "rail0";
  std::string container = "c-" + name;
  std::string ifname = "net1";
  std::string netns = {};  // a path; leads to `identity` until World::EndNamespace
  netns::Identity identity = {};
};

class World;

// raild, as far as lib/engine makes it up. Its parts run one after another.
struct Raild {
  Raild(World& world, Clock::duration gone_grace, int64_t booted_ms);

  void Audit();          // every part, once
  void RecordChanged();  // as when a plugin wakes raild
  void Poll();           // takes in what bgpd pushes and what is due, then repairs the rules
  void Learn();          // the same without the rules

  std::unique_ptr<state::Store> store;
  RecordReader record{*store};
  ViewPublisher views;
  NodeStatus node_status;
  UplinkWatch uplinks;
  SwitchRepair the_switch;
  BgpRepair bgp;
  Push push;
  Sweeper sweeper;
  std::function<bool()> bgpd_is_there;
};

class World {
 public:
  // Two rails with bridges, uplinks and established sessions: rail0 (vf0..vf3, rep0..rep3) and rail1 (vf10, vf11, rep10,
  // rep11). IPAM hands out 10.0.3.1, 10.0.3.2, ... Bridges are not managed: that would write real sysctls.
  World();
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Deps deps();
  Deps DepsOfRaild();  // raild keeps its connections to the bridges
  std::unique_ptr<Raild> StartRaild(Clock::duration gone_grace = {}, int64_t booted_ms = 0);

  PodSpec MakePod(const std::string& name, const std::string& pod_namespace, const std::string& device,
                  const std::string& rail = "rail0");
  // Ends the pod's namespace. Its path goes, too, and its device, as a virtual device goes with its namespace.
  void EndNamespace(const PodSpec& pod);

  // The next processes crash at point `at` of their writes to the record (see CrashStore), counted from now.
  void CrashAt(int at);
  void NoCrash() { CrashAt(0); }
  int points() const { return *points_; }

  state::Attachment Attachment(const PodSpec& pod);  // ends the test's program when there is none
  std::optional<state::Attachment> FindAttachment(const PodSpec& pod);
  std::vector<state::Step> Steps(const PodSpec& pod);
  std::vector<std::string> Pending(const PodSpec& pod);  // kinds of steps whose undo failed
  ovs::testing::FakeOpenFlow& Bridge(const std::string& name = "br-rail0") { return bridges[name]; }
  std::vector<ovs::Rule> RulesOf(ovs::CookieKind kind, const std::string& bridge = "br-rail0");
  std::vector<ovs::Rule> RulesOf(const PodSpec& pod);
  tenancy::TenantId Tenant(const std::string& pod_namespace) const;
  void SetLeafMac(const std::string& bridge, const std::string& mac);
  // Takes the lock as another process of the node.
  Result<FileLock> LockDevices(FileLock::Kind kind);
  Result<FileLock> LockTenants(const std::string& rail, FileLock::Kind kind);
  // Makes the leaf announce the address of a pod elsewhere.
  void LearnRemote(const std::string& address, const std::string& pod_namespace,
                   const std::string& interface = "br-rail0");

  // One sentence for everything that an attachment has left anywhere.
  std::vector<std::string> Leftovers();

  FaultInjector faults;
  std::launch beside = std::launch::deferred;  // so that a test knows the order of calls
  config::NodeConfig config;
  Result<tenancy::TenantMapPtr> tenants = tenancy::NoMap();  // with kubernetes.tenants
  std::string config_problem;                                // why node.json cannot be read; "": it can
  ovs::testing::FakeOvsdb ovsdb;
  std::map<std::string, ovs::testing::FakeOpenFlow> bridges;
  frr::testing::FakeBgp bgp{{}};
  netlink::testing::Fake host;
  device::testing::Fake devices;
  guard::testing::Fake guard;
  podnet::testing::Fake pods;
  cni::testing::FakeIpam ipam;
  state::testing::Memory record;
  std::shared_ptr<Origin> origin;      // null: not recorded
  netlink::testing::RatesOfNics nics;  // none: devlink knows no NIC
  int wakeups = 0;
  int steps_ended = 0;                 // what raild's watchdog sees
  Clock::duration passed{};            // by how much raild's clock is ahead of the real one
  std::vector<std::string> solicited;  // interfaces
  // Answers what is asked of ovs-vswitchd.
  std::function<Result<std::string>(const std::string& command, const std::vector<std::string>& arguments)>
      vswitchd = [](auto&&...) { return std::string(); };

 private:
  void AddRail(const std::string& name, uint32_t index, const std::vector<int>& devices);

  std::string folder_;
  std::vector<netns::Netns> namespaces_;
  std::map<std::string, device::Saved> untouched_;  // by device
  std::unique_ptr<cni::Ipam> ipam_through_;
  int crash_at_ = 0;
  std::shared_ptr<int> points_ = std::make_shared<int>(0);
};

}  // namespace rail::engine::testing
