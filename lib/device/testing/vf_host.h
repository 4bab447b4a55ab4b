// A host with a ConnectX-7 in memory and on a recorded sysfs tree: links, VFs, representors and RDMA devices that move together,
// and one pod.
//
// Use:      VfHost host(netlink::RdmaNetns::kExclusive);
//           host.On([&] { return host.backend().Find(host.rail(), VfHost::kVf0); });     // in the host's namespace
//           host.KillPod();           // the kernel returns what was in it when somebody waits for it
// Threads:  one at a time
// Source:   lib/sriov/testing/machine.h; lib/netlink/testing
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "lib/device/sriov.h"
#include "lib/netlink/netns.h"
#include "lib/netlink/testing/fake.h"
#include "lib/netlink/testing/rates.h"
#include "lib/netlink/testing/rdma.h"
#include "lib/netlink/testing/vfs.h"
#include "lib/sriov/testing/machine.h"

namespace rail::device::testing {

class VfHost {
 public:
  static constexpr char kVf0[] = "0000:3b:00.2";
  static constexpr char kVf1[] = "0000:3b:00.3";
  static constexpr char kOtherPfsVf[] = "0000:3b:01.2";
  static constexpr char kPf[] = "0000:3b:00.0";
  static constexpr char kOtherPf[] = "0000:3b:00.1";

  explicit VfHost(netlink::RdmaNetns mode);

  Sriov& backend() { return *backend_; }
  const config::Rail& rail() const { return rail_; }
  config::Rail& rail() { return rail_; }
  const netns::Netns& pod() const { return *pod_; }

  // Runs in the host's namespace, with sysfs as it is then.
  Status On(const std::function<Status()>& body);
  // The pod's namespace ends; the kernel brings its devices back when they are waited for: under the names that they have, or as dev0,
  // dev1, ... where these are taken.
  void KillPod();
  // The VF has no RDMA device: mlx5_ib is not loaded.
  void ForgetRdma(const std::string& address) {
    rdma_of_.erase(address);
    machine.Remove(sriov::testing::DevicePath(address) + "/infiniband");
  }
  // As a boot does: the kernel counts the RDMA devices in another order.
  void RecountRdma();
  // sysfs as the devices are now; On does it too.
  void Sync();

  netlink::testing::Fake host;
  netlink::testing::Fake inside;  // the pod
  netlink::testing::FakeVfs vfs;
  netlink::testing::RatesOfNics rates;  // at first none: the rates go through the PF
  netlink::testing::RdmaMachine rdma;
  sriov::testing::Machine machine;
  std::function<void()> on_wait;  // what happens while Restore waits; at first: what KillPod says

 private:
  void SyncRdma();
  void AddVf(const std::string& address, int pf, uint32_t index, const std::string& name);

  const netns::Netns host_ns_;
  std::optional<netns::Netns> pod_;
  config::Rail rail_;
  std::map<std::string, uint32_t> rdma_of_;  // by the VF's address
  std::optional<Sriov> backend_;
};

}  // namespace rail::device::testing
