// Devices in memory that move between a host and pods.
//
// Use:      Fake backend;  backend.Add("rail0", "vf0", "rep0");
//           backend.FailOn("MoveIn", {Code::kTransient, "no"});
//           EXPECT_EQ(backend.Where("vf0"), pod.identity());      // nullopt: on the host
// Threads:  one at a time
// Source:   test/contract/device_contract_test.cc
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/device/device.h"

namespace rail::device::testing {

class Fake : public Backend {
 public:
  void Add(const std::string& rail, const std::string& device, const std::string& representor);
  // The namespace dies, and its devices with it, as virtual ones do.
  void KillNamespace(const netns::Identity& pod);

  // Its NIC makes it anew: it is on the host, with another MAC, whatever pod had it.
  void Reset(const std::string& device);
  // The NIC has it no more; Add makes it again.
  void Remove(const std::string& device) { entries_.erase(device); }
  // Another device has its place. `words`: what WhyGone says then.
  void Replace(const std::string& device, const std::string& words) { gone_[device] = words; }

  // The namespace has died, and the kernel has returned them under each other's names, as physical ones.
  void ReturnSwapped(const std::string& one, const std::string& other);

  // The next call of the function called `function` fails with `error`, having done nothing.
  void FailOn(const std::string& function, Error error);

  // What Verify says of the device.
  void Amiss(const std::string& device, std::vector<std::string> sentences) {
    amiss_[device] = std::move(sentences);
  }

  // Where the device is: the pod's identity, or nothing when it is on the host (or gone).
  std::optional<netns::Identity> Where(const std::string& device) const;
  // The state as Save would tell it now.
  std::optional<Saved> State(const std::string& device) const;
  // Calls that succeeded: "MoveIn vf0".
  const std::vector<std::string>& calls() const { return calls_; }

  Result<Location> Locate(const Saved& saved) override;
  Result<std::string> WhyGone(const Saved& saved) override;
  Result<Device> Find(const config::Rail& rail, const std::string& id) override;
  Status CheckRail(const config::Rail& rail, const std::string& id) override;
  Result<Saved> Save(const Device& device) override;
  Status RaiseRepresentor(const Device& device, uint32_t mtu) override;
  Result<MacAddress> MoveIn(const Device& device, const netns::Netns& pod,
                            const std::string& ifname) override;
  Result<std::vector<std::string>> Verify(const Saved& saved, const std::optional<Settings>& settings,
                                          const netns::Netns& pod) override;
  Status Restore(const Saved& saved, const netns::Netns* pod, const std::string& ifname,
                 Deadline deadline) override;

 private:
  struct Entry {
    std::string rail;
    Saved state;
    std::optional<netns::Identity> pod;
    std::string ifname;
  };

  static tl::unexpected<Error> NotOf(const config::Rail& rail, const std::string& id);
  Status Begin(const std::string& function);

  std::map<std::string, Entry> entries_;
  std::map<std::string, std::vector<std::string>> amiss_;
  std::map<std::string, std::string> gone_;
  std::map<std::string, Error> failures_;
  std::vector<std::string> calls_;
};

}  // namespace rail::device::testing
