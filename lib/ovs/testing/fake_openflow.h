// A bridge's rules in memory, behaving as ovs-vswitchd's do (test/contract/ovs_openflow_contract_test.cc).
//
// Use:      FakeOpenFlow bridge;  auto connection = bridge.Connect();  ... bridge.AddPackets(rule, 3, 300);
//           auto watching = bridge.Watch();  ... watching->Changes() tells what the others have changed
// Threads:  any thread; each connection one at a time
// Owns:     the rules; must outlive its connections
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "lib/ovs/openflow.h"
#include "lib/ovs/testing/faults.h"

namespace rail::ovs::testing {

class FakeOpenFlow : public OpenFlow, public Faults {
 public:
  // Another connection to the same bridge, for code that opens its own; it does not watch.
  std::unique_ptr<OpenFlow> Connect();
  // As FlowMonitor's connection.
  std::unique_ptr<OpenFlow> Watch();

  Status ForEach(CookieMatch which, const EachRule& each, Deadline deadline) override;
  Result<uint64_t> Count(CookieMatch which, Deadline deadline) override;
  Result<RuleChanges> Changes() override;
  Status Commit(const Change& change, Deadline deadline) override;

  // What a test does in the place of traffic and of a restart of ovs-vswitchd.
  void AddPackets(const Rule& rule, uint64_t packets, uint64_t bytes);
  void LoseAllRules();

  // So far: commits that were not empty, the messages in them, and requests for a list of rules.
  int commits() const;
  size_t messages() const;
  int dumps() const;
  std::vector<Rule> rules();

 private:
  class Connection;
  using Key = std::tuple<uint8_t, uint16_t, std::string>;

  Status CommitAs(const Connection* who, const Change& change);
  void Tell(const Connection* who, const Rule& rule, bool removed);

  mutable std::mutex mutex_;
  std::map<Key, RuleStats> rules_;
  std::set<Connection*> watching_;
  int commits_ = 0;
  size_t messages_ = 0;
  int dumps_ = 0;
};

}  // namespace rail::ovs::testing
