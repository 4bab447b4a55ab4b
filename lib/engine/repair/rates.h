// Keeps the rate nodes of tenants on the NICs as "rates" of node.json wants them, and the ports of attachments under them.
//
// Use:      RatesRepair rates(config, deps, *store, node_status);
//           if (rates.Look()) ... publish ...        // at the start, when the record or devlink has changed, and now and then
// Threads:  one; the NodeStatus may be shared
// Source:   README.md of this folder ("Shares and limits")
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/engine/attach/record.h"
#include "lib/engine/attach/tenant_rates.h"
#include "lib/engine/attach/verb_context.h"
#include "lib/engine/repair/node_status.h"

namespace rail::engine {

// What is wanted of the NICs. Nothing: none of our nodes is to be there.
struct WantedRates {
  struct Tenant {
    std::string name, rail;
    tenancy::TenantId id;
    netlink::Rate rate;
    uint32_t pods = 0;
  };
  struct Leaf {
    std::string node;
    int64_t attachment = 0;
  };
  std::map<netlink::DevlinkHandle, std::map<std::string, Tenant>> nodes;  // by NIC and by node
  std::map<netlink::NicPort, Leaf> leaves;
};

// Gives back what is under one of our nodes and not wanted: ports to the node under which they were before (`parents`, as
// OriginRecord::rate_parents) or to none, then removes our nodes. `forget` is called for each port that has been given back.
// `done`: what was done, a sentence each. Errors: of the first that failed; the others are done.
Status ReturnRates(netlink::Rates& rates, const netlink::RateTrees& trees, const WantedRates& wanted,
                   const std::map<std::string, std::string>& parents,
                   const std::function<Status(const std::string& port)>& forget,
                   std::vector<std::string>& done);

class RatesRepair {
 public:
  RatesRepair(const config::NodeConfig& config, const Deps& deps, state::Store& store,
              NodeStatus& node_status)
      : config_(config), deps_(deps), record_(store), node_status_(node_status) {}

  // Returns whether something has changed that a view shows.
  bool Look();
  // Whether there may be something to do although nothing has changed.
  bool is_needed() const { return config_.rates.has_value() || !is_clean_; }
  // What the last Look has warned of: refusals that the look before did not have.
  const std::vector<std::string>& news() const { return news_; }

 private:
  Status Put(RatesSeen& seen);
  Result<WantedRates> Wanted(const NicRates& nics, RatesSeen& seen);
  bool PutNode(netlink::Rates& rates, const netlink::DevlinkHandle& nic, const std::string& name,
               const WantedRates::Tenant& tenant, const netlink::RateNode* has, RatesSeen& seen);
  Status PutLeaf(netlink::Rates& rates, const netlink::NicPort& port, const std::string& node,
                 const std::string& parent);
  void Show(const netlink::RateTrees& trees, const WantedRates& wanted, RatesSeen& seen);
  // `same`: by which it is the same in the next look, although the words count anew; "": the words.
  void Refused(RatesSeen& seen, const std::string& rail, std::string what, std::string fix,
               const std::string& same = "");

  const config::NodeConfig& config_;
  const Deps deps_;
  RecordReader record_;
  NodeStatus& node_status_;
  // Nodes whose driver took a rate and shows another one: what was wanted, and what is shown. It is not set again for nothing.
  std::map<std::string, std::pair<netlink::Rate, netlink::Rate>> ignored_;
  std::vector<std::string> done_;
  std::set<std::string> stood_;                     // of what done_ may say: what was so after the last look
  std::set<std::string> taken_;                     // nodes that were set in this look
  std::set<std::string> refused_, refused_before_;  // in this look and in the one before
  std::vector<std::string> news_;
  bool is_clean_ = false;
};

}  // namespace rail::engine
