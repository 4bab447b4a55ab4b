// A thousand pods come and go on eight rails of sixteen devices, while DELs are late, leaves go and come back, and kubelet and raild start anew.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "cmd/raild/workers/device_offers.h"
#include "cmd/raild/workers/rail_devices.h"
#include "lib/kubelet/testing/device_manager.h"
#include "lib/kubelet/testing/test_folder.h"

namespace rail::raild {
namespace {

using namespace std::chrono_literals;
using kubelet::testing::FakeDeviceManager;
using kubelet::testing::Plugin;

constexpr size_t kRails = 8;
constexpr size_t kDevices = 16;  // of a rail
constexpr int kPods = 1000;
constexpr auto kGrace = 15s;

class DeviceAllocations : public ::testing::Test {
 protected:
  struct Pod {
    std::string name;
    std::vector<std::string> devices;
  };

  DeviceAllocations() {
    for (size_t i = 0; i < kRails; ++i) {
      config::Rail rail;
      rail.name = "rail" + std::to_string(i);
      rail.index = static_cast<uint32_t>(i);
      for (size_t vf = 0; vf < kDevices; ++vf)
        rail.devices.push_back({.device = rail.name + "-vf" + std::to_string(vf), .representor = {}});
      config_.rails.push_back(rail);
    }
    config_.kubelet.device_plugin = true;
    config_.kubelet.folder = folder_.path();
    Record();
    StartRaild();
  }

  size_t Any(size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random_); }
  bool Once(size_t in) { return Any(in) == 0; }

  // What raild publishes: pods that live, and those whose DEL has not come yet.
  void Record() {
    engine::NodeView view;
    view.health.push_back({.part = {engine::Part::kBgpSessions, ""}, .ok = true, .problem = {}});
    for (const config::Rail& rail : config_.rails) {
      view.rails.emplace_back().rail = rail;
      view.health.push_back({.part = {engine::Part::kRail, rail.name}, .ok = true, .problem = {}});
    }
    for (const std::vector<Pod>* pods : {&living_, &dying_}) {
      for (const Pod& pod : *pods) {
        for (const std::string& device : pod.devices) {
          state::Attachment& attachment = view.attachments.emplace_back().attachment;
          attachment.device = device;
          attachment.pod_namespace = "ml";
          attachment.pod_name = pod.name;
        }
      }
    }
    views_.Publish(std::move(view));
  }
  std::map<std::string, std::vector<kubelet::Seen>> See(const engine::NodeView& view) {
    std::map<std::string, PodName> given;
    for (const Pod& pod : living_) {
      for (const std::string& device : pod.devices) given.emplace(device, PodName("ml", pod.name));
    }
    std::map<std::string, std::vector<kubelet::Seen>> seen;
    for (const config::Rail& rail : config_.rails) {
      seen[rail.name] = SeeDevices(DevicesOf(rail, sysfs_),
                                   {.problem = faults_.contains(rail.name) ? "its uplink has no carrier" : "",
                                    .view = view,
                                    .given = given,
                                    .can_attach = [](const std::string&) { return Status(); }},
                                   sysfs_);
    }
    return seen;
  }
  void StartRaild() {
    offers_ = std::make_unique<DeviceOffers>(config_, views_, sysfs_, folder_.path() + "/devinfo", nullptr,
                                             [this](const engine::NodeView& view) { return See(view); });
    Look();
  }
  void Look() {
    Record();
    (void)offers_->Look(now_);
    const Status served = offers_->Serve();
    ASSERT_TRUE(served) << served.error().message;
  }

  static double Since(Clock::time_point began) {
    return std::chrono::duration<double, std::milli>(Clock::now() - began).count();
  }
  static double Median(std::vector<double> values) {
    std::ranges::nth_element(values, values.begin() + static_cast<ptrdiff_t>(values.size() / 2));
    return values[values.size() / 2];
  }

  // The socket of the rail's plugin that serves now.
  std::string Endpoint(const config::Rail& rail) const {
    const auto names = folder_.Names("railcni-" + rail.name + "-");
    EXPECT_EQ(names.size(), 1U);
    return names.empty() ? "" : names.front();
  }
  std::set<std::string> Held(const std::vector<Pod>& pods) const {
    std::set<std::string> held;
    for (const Pod& pod : pods) held.insert(pod.devices.begin(), pod.devices.end());
    return held;
  }

  // As the kubelet: one device, of those that are healthy and that it has not given. "": there is none.
  std::string Take(const config::Rail& rail) {
    const std::string endpoint = Endpoint(rail);
    EXPECT_TRUE(kubelet_.Waits(endpoint, [](const Plugin& plugin) { return !plugin.lists.empty(); }));
    const std::set<std::string> given = Held(living_);
    const std::set<std::string> on_record = Held(dying_);
    std::vector<std::string> available;
    const Plugin plugin = kubelet_.Of(endpoint);
    for (const kubelet::Device& device : plugin.lists.back()) {
      if (device.healthy && !given.contains(device.id)) available.push_back(device.id);
    }
    if (available.empty()) return {};
    const auto preferred = kubelet_.Prefer(endpoint, available, {}, 1);
    EXPECT_TRUE(preferred && preferred->size() == 1U);
    std::string device = preferred->front();
    const bool others_are_held =
        std::ranges::all_of(available, [&](const std::string& id) { return on_record.contains(id); });
    EXPECT_TRUE(!on_record.contains(device) || others_are_held) << device << " is still in a pod's record";
    const Clock::time_point began = Clock::now();
    const auto allocation = kubelet_.Allocate(endpoint, {{device}});
    allocate_ms_.push_back(Since(began));
    // A list may be on its way that takes the device's health: then the kubelet refuses the pod.
    if (!allocation) return {};
    EXPECT_EQ(allocation->front().envs.size(), 1U);
    EXPECT_EQ(allocation->front().envs.begin()->second, device);
    return device;
  }
  // A pod asks some rails for a device each; one that does not get all gets none.
  void Begin(int number) {
    Pod pod{.name = "p" + std::to_string(number), .devices = {}};
    for (const config::Rail& rail : config_.rails) {
      if (Once(4)) continue;
      const std::string device = Take(rail);
      if (device.empty()) return;
      pod.devices.push_back(device);
    }
    const std::set<std::string> given = Held(living_);
    for (const std::string& device : pod.devices) {
      EXPECT_FALSE(given.contains(device)) << device << " is given twice";
      // An ADD first finishes the DEL of the pod before.
      std::erase_if(dying_, [&](const Pod& dead) { return std::ranges::count(dead.devices, device) > 0; });
    }
    living_.push_back(std::move(pod));
    ++began_;
  }
  void End() {
    const size_t at = Any(living_.size());
    dying_.push_back(living_[at]);
    living_.erase(living_.begin() + static_cast<ptrdiff_t>(at));
  }
  void Disturb() {
    if (Once(10)) faults_.insert(config_.rails[Any(kRails)].name);
    if (Once(5)) faults_.clear();
    if (Once(3)) dying_.clear();
    now_ += std::chrono::seconds(Any(20));
    if (Once(50)) {
      kubelet_.Stop();
      kubelet_.Start();
    }
    if (Once(50)) {
      offers_.reset();
      StartRaild();
    }
  }

  const kubelet::testing::TestFolder folder_;
  const sriov::Sysfs sysfs_{folder_.path() + "/sys"};
  config::NodeConfig config_;
  engine::ViewPublisher views_;
  std::mt19937 random_{20261128};
  Deadline now_{1h};
  std::set<std::string> faults_;
  std::vector<Pod> living_;
  std::vector<Pod> dying_;
  int began_ = 0;
  std::vector<double> allocate_ms_;
  FakeDeviceManager kubelet_{folder_.path()};
  std::unique_ptr<DeviceOffers> offers_;
};

TEST_F(DeviceAllocations, NoneIsGivenTwiceAndNoneIsLost) {
  for (int i = 0; i < kPods; ++i) {
    Disturb();
    Look();
    Begin(i);
    while (!living_.empty() && (living_.size() > kDevices / 2 || Once(3))) End();
  }
  EXPECT_GT(began_, kPods / 2);
  living_.clear();
  dying_.clear();
  faults_.clear();
  now_ += 2 * kGrace;
  Look();
  for (const config::Rail& rail : config_.rails) {
    EXPECT_TRUE(kubelet_.Waits(Endpoint(rail), [](const Plugin& plugin) {
      return !plugin.lists.empty() && plugin.lists.back().size() == kDevices &&
             std::ranges::all_of(plugin.lists.back(), &kubelet::Device::healthy);
    })) << rail.name;
  }
  std::printf("[          ] %d of %d pods began; %zu devices allocated, median %.2f ms\n", began_, kPods,
              allocate_ms_.size(), Median(allocate_ms_));
}

}  // namespace
}  // namespace rail::raild
