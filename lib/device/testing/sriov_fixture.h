// The backend `sriov` on a VfHost: what its tests begin with.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/device/sriov.h"
#include "lib/device/testing/vf_host.h"

namespace rail::device::testing {

// A network that asks for everything.
inline Settings Everything() {
  Settings settings;
  settings.vlan = {100, 3, true};
  settings.rates = {100, 1000};
  settings.spoofchk = false;
  settings.trust = true;
  settings.link_state = netlink::VfLinkState::kEnable;
  settings.rdma_name = "mlx5_rail0";
  return settings;
}

class SriovTest : public ::testing::Test {
 protected:
  explicit SriovTest(netlink::RdmaNetns mode = netlink::RdmaNetns::kExclusive) : host_(mode) {}

  template <class T>
  Result<T> OnHost(const std::function<Result<T>()>& body) {
    Result<T> result = Fail(Code::kInternal, "not run");
    Must(host_.On([&]() -> Status {
      result = body();
      return {};
    }));
    return result;
  }
  Result<Device> Find(const std::string& id = VfHost::kVf0) {
    return OnHost<Device>([&] { return host_.backend().Find(host_.rail(), id); });
  }
  Saved Save(const Device& device) {
    return OnHost<Saved>([&] { return host_.backend().Save(device); }).value();
  }
  Result<MacAddress> MoveIn(const Device& device, const std::string& ifname = "net1") {
    return OnHost<MacAddress>([&]() -> Result<MacAddress> {
      RAIL_TRY(host_.backend().RaiseRepresentor(device, 4200));
      return host_.backend().MoveIn(device, host_.pod(), ifname);
    });
  }
  // The first VF; what it was before.
  Saved MoveInAsAskedForEverything() {
    Device device = Find().value();
    const Saved saved = Save(device);
    device.settings = Everything();
    EXPECT_TRUE(MoveIn(device));
    return saved;
  }
  Status Restore(const Saved& saved, bool pod_lives = true, const std::string& ifname = "net1") {
    return host_.On([&] {
      return host_.backend().Restore(saved, pod_lives ? &host_.pod() : nullptr, ifname,
                                     After(std::chrono::seconds(5)));
    });
  }
  std::vector<std::string> Verify(const Saved& saved, const std::optional<Settings>& settings) {
    return OnHost<std::vector<std::string>>(
               [&] { return host_.backend().Verify(saved, settings, host_.pod()); })
        .value();
  }
  static void Must(const Status& status) { ASSERT_TRUE(status) << status.error().message; }
  // But for its MAC address by the PF, which it keeps when it has had none before.
  static Saved Pinned(Saved saved) {
    if (saved.vf->state.mac.is_zero()) saved.vf->state.mac = saved.mac;
    return saved;
  }
  void ExpectAsItWas(const Saved& saved) {
    const auto device = Find(saved.id);
    ASSERT_TRUE(device) << device.error().message;
    EXPECT_EQ(Save(*device), Pinned(saved));
  }
  netlink::VfState Vf0() { return host_.vfs.Get(host_.host.GetLink("ens1f0np0")->index, 0).value(); }
  bool RdmaIsIn(const netns::Netns& where, const std::string& name) {
    const auto* entry = host_.rdma.Find(name);
    return entry != nullptr && entry->where == where.identity();
  }

  VfHost host_;
};

}  // namespace rail::device::testing
