// A bridge's rules in memory, behaving as ovs-vswitchd's do (test/contract/ovs_openflow_contract_test.cc).
//
// Use:      FakeOpenFlow bridge;  auto connection = bridge.Connect();  ... bridge.Count(rule, 3, 300);
// Threads:  any thread; each connection one at a time
// Owns:     the rules; must outlive its connections
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "lib/ovs/openflow.h"
#include "lib/ovs/testing/faults.h"

namespace rail::ovs::testing {

class FakeOpenFlow : public OpenFlow, public Faults {
 public:
  // Another connection to the same bridge, for code that opens its own.
  std::unique_ptr<OpenFlow> Connect();

  Result<std::vector<RuleStats>> Dump(CookieMatch which, Deadline deadline) override;
  Status Commit(const Change& change, Deadline deadline) override;

  // What a test does in the place of traffic and of a restart of ovs-vswitchd.
  void Count(const Rule& rule, uint64_t packets, uint64_t bytes);
  void LoseAllRules();

  // Commits so far that were not empty.
  int commits() const;
  std::vector<Rule> rules();

 private:
  using Key = std::tuple<uint8_t, uint16_t, std::string>;

  mutable std::mutex mutex_;
  std::map<Key, RuleStats> rules_;
  int commits_ = 0;
};

}  // namespace rail::ovs::testing
