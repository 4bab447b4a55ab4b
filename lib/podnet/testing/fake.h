// The insides of pods in memory: which interfaces they have, and the plan that each was configured by.
//
// Use:      Fake pods;  pods.AddLink(pod.identity(), "net1");
//           pods.FailOn("Configure", {Code::kTransient, "no"});
//           EXPECT_TRUE(pods.configured().empty());
// Threads:  one at a time
// Source:   test/contract/podnet_contract_test.cc
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/podnet/podnet.h"

namespace rail::podnet::testing {

class Fake : public PodNet {
 public:
  using Key = std::pair<uint64_t, std::string>;  // the namespace's inode, the interface's name

  // An interface comes into a pod, or leaves it and takes with it all but the policy rules.
  void AddLink(const netns::Identity& pod, const std::string& name);
  void RemoveLink(const netns::Identity& pod, const std::string& name);
  // By the pod, after Configure.
  void SetMac(const netns::Identity& pod, const std::string& name, const MacAddress& mac) {
    configured_.at({pod.inode, name}).mac = mac;
  }
  void SetMtu(const netns::Identity& pod, const std::string& name, uint32_t mtu) {
    configured_.at({pod.inode, name}).mtu = mtu;
  }
  void EndNamespace(const netns::Identity& pod);

  // The next call of the function called `function` fails with `error`, having done nothing.
  void FailOn(const std::string& function, Error error);

  // What Configure was last given for each interface that is there.
  const std::map<Key, Plan>& configured() const { return configured_; }
  // Interfaces, there or not, whose policy rules are in the pod.
  const std::set<Key>& ruled() const { return ruled_; }

  Result<bool> HasLink(const netns::Netns& pod, const std::string& name) override;
  Status Configure(const netns::Netns& pod, const Plan& plan) override;
  Status Deconfigure(const netns::Netns& pod, const Plan& plan) override;
  Result<std::vector<Deviation>> Verify(const netns::Netns& pod, const Plan& plan) override;

 private:
  Status Begin(const std::string& function);

  std::set<Key> links_;
  std::map<Key, Plan> configured_;
  std::set<Key> ruled_;
  std::map<std::string, Error> failures_;
};

}  // namespace rail::podnet::testing
