#include "lib/engine/repair/rates.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "lib/base/log.h"
#include "lib/engine/repair/origin.h"

namespace rail::engine {
namespace {

using netlink::DevlinkHandle;
using netlink::NicPort;
using netlink::RateNode;
using netlink::RateTrees;
using state::Attachment;

std::string NodeText(const DevlinkHandle& nic, const std::string& name) {
  return "rate node " + name + " of " + nic.ToString();
}

// What is done when they are not so; "tenant a is to have ..." is `words`.
std::string NodeDone(const DevlinkHandle& nic, const std::string& name, const std::string& words) {
  return NodeText(nic, name) + ": " + words;
}

std::string LeafDone(const NicPort& port, const std::string& node) {
  return "port " + TextOf(port) + ": under rate node " + node;
}

std::string WordsOf(const WantedRates::Tenant& tenant) {
  return "tenant " + tenant.name + " is to have " + InWords(tenant.rate);
}

void Keep(Status& result, const Status& next) {
  if (!next && result) result = next;
}

}  // namespace

Status ReturnRates(netlink::Rates& rates, const RateTrees& trees, const WantedRates& wanted,
                   const std::map<std::string, std::string>& parents,
                   const std::function<Status(const std::string& port)>& forget,
                   std::vector<std::string>& done) {
  Status result;
  for (const auto& [nic, tree] : trees) {
    for (const netlink::RateLeaf& leaf : tree.leaves) {
      const NicPort port{nic, leaf.port};
      if (!IsOurRateNode(leaf.parent) || wanted.leaves.contains(port)) continue;
      const auto had = parents.find(TextOf(port));
      // Its owner may have removed it meanwhile.
      const bool is_there = had != parents.end() && FindNode(trees, nic, had->second) != nullptr;
      const std::string parent = is_there ? had->second : "";
      const Status given = rates.SetLeaf(nic, leaf.port, std::nullopt, parent);
      Keep(result, given);
      if (!given) continue;
      done.push_back("port " + TextOf(port) + ": under " +
                     (parent.empty() ? "no rate node" : "rate node " + parent) + ", as it was");
      Keep(result, forget(TextOf(port)));
    }
    const auto nodes = wanted.nodes.find(nic);
    for (const RateNode& node : tree.nodes) {
      if (!IsOurRateNode(node.name)) continue;
      if (nodes != wanted.nodes.end() && nodes->second.contains(node.name)) continue;
      const Status gone = rates.DeleteNode(nic, node.name);
      Keep(result, gone);
      if (gone) done.push_back(NodeText(nic, node.name));
    }
  }
  return result;
}

bool RatesRepair::Look() {
  RatesSeen seen;
  done_.clear();
  taken_.clear();
  news_.clear();
  refused_before_ = std::exchange(refused_, {});
  const std::set<std::string> stood = stood_;
  const Status put = Put(seen);
  is_clean_ = put.has_value();
  if (config_.rates || !put || node_status_.Knows(Part::kRates)) node_status_.Note(Part::kRates, put);
  if (!done_.empty()) {
    for (const std::string& each : done_) log::Info("rates: {}", each);
    const auto lost = std::ranges::count_if(done_, [&](const auto& each) { return stood.contains(each); });
    node_status_.Repaired("rates", static_cast<uint64_t>(lost));
  }
  for (const std::string& each : news_) log::Warning("{}", each);
  return node_status_.SetRates(std::move(seen)) || !done_.empty();
}

void RatesRepair::Refused(RatesSeen& seen, const std::string& rail, std::string what, std::string fix,
                          const std::string& same) {
  const std::string name = rail + " " + (same.empty() ? what : same);
  if (refused_.insert(name).second && !refused_before_.contains(name))
    news_.push_back("rail " + rail + ": rates: " + what);
  std::vector<qos::Difference>& problems = seen.rails[rail].problems;
  const qos::Difference one{.id = "rates-refused",
                            .what = std::move(what),
                            .why =
                                "what `rates` of node.json says does not hold for what these pods send on "
                                "this rail: they can take the share of others",
                            .fix = std::move(fix)};
  if (std::ranges::find(problems, one) == problems.end()) problems.push_back(one);
}

Status RatesRepair::Put(RatesSeen& seen) {
  if (config_.rates) {
    for (const config::Rail& rail : config_.rails) seen.rails[rail.name];
  }
  const Openers openers = deps_.openers(config_);
  auto opened = openers.rates ? openers.rates() : Fail(Code::kUnsupported, "rates are not set here");
  const bool has_devlink = opened || opened.error().code != Code::kUnsupported;
  if (!opened && has_devlink) return tl::make_unexpected(opened.error());
  NicRates nics;
  // Without "rates" the ports are nobody's business: a driver may ask its firmware about each.
  if (opened && config_.rates) {
    RAIL_ASSIGN(nics, ReadRates(**opened));
  } else if (opened) {
    RAIL_ASSIGN(nics.trees, (*opened)->ListAll());
  }
  RateTrees& trees = nics.trees;
  RAIL_ASSIGN(WantedRates wanted, Wanted(nics, seen));
  if (!opened) return {};
  netlink::Rates& rates = **opened;
  Status result;
  for (const auto& [nic, nodes] : wanted.nodes) {
    for (const auto& [name, tenant] : nodes) {
      const bool is_there = PutNode(rates, nic, name, tenant, FindNode(trees, nic, name), seen);
      const auto of_node = [&nic = nic, &name = name](const auto& each) {
        return each.first.nic == nic && each.second.node == name;
      };
      // Without it they are not to be under another tenant's.
      if (!is_there) std::erase_if(wanted.leaves, of_node);
      for (const auto& leaf : wanted.leaves) {
        if (!of_node(leaf)) continue;
        const NicPort& port = leaf.first;
        const Status put = PutLeaf(rates, port, name, FindLeaf(trees, port)->parent);
        if (!put)
          Refused(seen, tenant.rail, put.error().message,
                  "`devlink port function rate show` shows what the NIC has; raild tries again by itself");
      }
    }
  }
  OriginRecord before;
  if (deps_.origin) {
    RAIL_ASSIGN(before, deps_.origin->Read());
  }
  const auto& parents = before.rate_parents;
  const auto forget = [&](const std::string& port) {
    return deps_.origin ? deps_.origin->RateParent(port, "") : Status();
  };
  Keep(result, ReturnRates(rates, trees, wanted, parents, forget, done_));
  if (!done_.empty()) {
    RAIL_ASSIGN(trees, rates.ListAll());
  }
  Show(trees, wanted, seen);
  return result;
}

Result<WantedRates> RatesRepair::Wanted(const NicRates& nics, RatesSeen& seen) {
  WantedRates wanted;
  if (!config_.rates) return wanted;
  RAIL_ASSIGN(const RecordPtr record, record_.Read());
  std::map<std::string, std::vector<const Attachment*>> without;  // by rail
  for (const Attachment& attachment : record->attachments) {
    if (!HasRate(attachment) || config_.FindRail(attachment.rail) == nullptr) continue;
    const std::string node = RateNodeOf(attachment.tenant_id);
    const auto leaf = LeafOf(attachment, nics);
    if (!leaf) {
      without[attachment.rail].push_back(&attachment);
      continue;
    }
    WantedRates::Tenant& tenant = wanted.nodes[leaf->nic][node];
    tenant.name = attachment.tenant;
    tenant.id = attachment.tenant_id;
    tenant.rail = attachment.rail;
    tenant.rate = RateOf(config_.rates->Of(attachment.tenant));
    ++tenant.pods;
    wanted.leaves[*leaf] = {.node = node, .attachment = attachment.id};
  }
  for (const auto& [rail, attachments] : without) {
    const Attachment& one = *attachments.front();
    Refused(seen, rail,
            fmt::format("the devices of {} pods' interfaces have no rate in devlink, such as {} of {}",
                        attachments.size(), one.device, one.Owner()),
            "a VF has one where its NIC is in switchdev mode and its driver has devlink-rate (`devlink port "
            "function rate show`); on a node whose devices have none, leave `rates` out of node.json",
            "devices without a rate");
  }
  return wanted;
}

// Returns whether the node is there afterwards.
bool RatesRepair::PutNode(netlink::Rates& rates, const DevlinkHandle& nic, const std::string& name,
                          const WantedRates::Tenant& tenant, const RateNode* has, RatesSeen& seen) {
  if (has != nullptr && has->rate == tenant.rate) return true;
  const std::string words = WordsOf(tenant);
  const auto ignored = ignored_.find(NodeText(nic, name));
  if (has != nullptr && ignored != ignored_.end() && ignored->second == std::pair(tenant.rate, has->rate)) {
    return true;  // Show says so
  }
  const Status put =
      has != nullptr ? rates.SetNode(nic, name, tenant.rate) : rates.AddNode(nic, name, tenant.rate);
  if (put) {
    done_.push_back(NodeDone(nic, name, words));
    taken_.insert(NodeText(nic, name));
    return true;
  }
  Refused(seen, tenant.rail,
          words + (has != nullptr ? ", has " + InWords(has->rate) + " still" : "") +
              ", and its NIC refuses: " + put.error().message,
          "give it in `rates` of node.json what the NIC can: not more than its link speed (`ethtool " +
              config_.FindRail(tenant.rail)->pf + "`)");
  return has != nullptr;
}

// What was there before is on the disk first.
Status RatesRepair::PutLeaf(netlink::Rates& rates, const NicPort& port, const std::string& node,
                            const std::string& parent) {
  if (parent == node) return {};
  if (!IsOurRateNode(parent) && deps_.origin) RAIL_TRY(deps_.origin->RateParent(TextOf(port), parent));
  RAIL_TRY(rates.SetLeaf(port.nic, port.port, std::nullopt, node));
  done_.push_back(LeafDone(port, node));
  return {};
}

void RatesRepair::Show(const RateTrees& trees, const WantedRates& wanted, RatesSeen& seen) {
  std::map<std::string, std::pair<netlink::Rate, netlink::Rate>> ignored;
  stood_.clear();
  for (const auto& [nic, nodes] : wanted.nodes) {
    for (const auto& [name, tenant] : nodes) {
      const RateNode* node = FindNode(trees, nic, name);
      if (node == nullptr) continue;
      seen.rails[tenant.rail].tenants.push_back({.tenant = tenant.name,
                                                 .tenant_id = tenant.id,
                                                 .nic = nic.ToString(),
                                                 .share = node->rate.share / kBytesPerMbit,
                                                 .max_mbit = node->rate.max / kBytesPerMbit,
                                                 .pods = tenant.pods});
      if (node->rate == tenant.rate) stood_.insert(NodeDone(nic, name, WordsOf(tenant)));
      const std::string text = NodeText(nic, name);
      if (node->rate == tenant.rate || !(taken_.contains(text) || ignored_.contains(text))) continue;
      ignored[text] = {tenant.rate, node->rate};
      Refused(seen, tenant.rail,
              WordsOf(tenant) + ": its NIC's driver accepted that, and has " + InWords(node->rate),
              "`devlink port function rate show` shows what the NIC has; does another program set rates?");
    }
  }
  ignored_ = std::move(ignored);
  for (const auto& [port, leaf] : wanted.leaves) {
    const netlink::RateLeaf* found = FindLeaf(trees, port);
    const RateNode* node = FindNode(trees, port.nic, leaf.node);
    if (found == nullptr || found->parent != leaf.node || node == nullptr) continue;
    stood_.insert(LeafDone(port, leaf.node));
    seen.attachments[leaf.attachment] = {.tenant_share = node->rate.share / kBytesPerMbit,
                                         .tenant_max_mbit = node->rate.max / kBytesPerMbit,
                                         .min_mbit = found->rate.share / kBytesPerMbit,
                                         .max_mbit = found->rate.max / kBytesPerMbit};
  }
}

}  // namespace rail::engine
