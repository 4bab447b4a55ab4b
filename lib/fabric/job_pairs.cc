#include "lib/fabric/job_pairs.h"

#include <map>
#include <optional>
#include <unordered_map>

namespace rail::fabric {
namespace {

constexpr int kMostPairs = 1'000;

// "": it reaches it. Nothing: nobody knows.
using Why = std::optional<std::string>;

class Pairs {
 public:
  explicit Pairs(const Learned& learned) {
    for (const auto& [node, remotes] : learned) {
      auto& known = known_[node];
      for (const v1::Remote& remote : remotes) known[Key(remote.address(), remote.tenant())] = &remote;
    }
  }

  Why Of(const JobInterface& a, const JobInterface& b) const {
    if (!a.placed.node->IsSeen() || !b.placed.node->IsSeen()) return std::nullopt;
    for (const JobInterface* each : {&a, &b}) {
      if (!each->problem.empty()) return each->placed.attachment->pod().name() + ": " + each->problem;
    }
    const v1::Tenant& one = a.placed.attachment->tenant();
    const v1::Tenant& other = b.placed.attachment->tenant();
    if (one.id() != other.id()) return "they are of two tenants, " + one.name() + " and " + other.name();
    if (a.placed.node == b.placed.node) return "";
    const Why there = Learns(a, b);
    if (there && !there->empty()) return there;
    const Why back = Learns(b, a);
    if (back && !back->empty()) return back;
    return there && back ? Why("") : std::nullopt;
  }

 private:
  using Remotes = std::unordered_map<std::string, const v1::Remote*>;

  static std::string Key(const std::string& address, const v1::Tenant& tenant) {
    return address + " " + tenant.id();
  }

  // Whether the node of `a` has learned the addresses of `b`.
  Why Learns(const JobInterface& a, const JobInterface& b) const {
    const std::string& node = a.placed.node->name;
    const auto known = known_.find(node);
    if (known == known_.end()) return std::nullopt;
    for (const std::string& address : b.placed.attachment->addresses()) {
      const auto at = known->second.find(Key(address, b.placed.attachment->tenant()));
      const std::string whose = address + ", which " + b.placed.node->name + " announces";
      if (at == known->second.end()) return node + " has not learned " + whose;
      if (at->second->contested())
        return node + " sends nothing to " + whose + ": another tenant announces it, too";
      if (!at->second->installed()) return node + " has learned " + whose + ", and has no rules for it";
    }
    return "";
  }

  std::map<std::string, Remotes> known_;  // by node
};

}  // namespace

void AddPairs(const std::vector<JobInterface>& all, const Learned& learned, v1::GetJobResponse& response) {
  const Pairs pairs(learned);
  v1::JobTotals& totals = *response.mutable_totals();
  const auto count_if = [](bool is_so) -> uint32_t { return is_so ? 1 : 0; };
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = i + 1; j < all.size(); ++j) {
      const JobInterface& a = all[i];
      const JobInterface& b = all[j];
      const v1::Pod& pod = a.placed.attachment->pod();
      const v1::Pod& other = b.placed.attachment->pod();
      if (a.rail != b.rail || pod.name() == other.name()) continue;
      totals.set_pairs(totals.pairs() + 1);
      totals.set_pairs_across_leaves(totals.pairs_across_leaves() + count_if(a.leaf != b.leaf));
      totals.set_pairs_across_units(totals.pairs_across_units() + count_if(a.unit != b.unit));
      const Why why = pairs.Of(a, b);
      if (!why) totals.set_pairs_unknown(totals.pairs_unknown() + 1);
      if (!why || why->empty()) continue;
      response.set_pairs_total(response.pairs_total() + 1);
      if (response.pairs_size() >= kMostPairs) continue;
      v1::JobPair& pair = *response.add_pairs();
      pair.set_rail(a.placed.attachment->rail());
      pair.set_pod(pod.name());
      pair.set_node(a.placed.node->name);
      pair.set_other_pod(other.name());
      pair.set_other_node(b.placed.node->name);
      pair.set_why(*why);
    }
  }
}

}  // namespace rail::fabric
