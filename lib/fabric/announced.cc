#include "lib/fabric/announced.h"

#include <algorithm>

#include "lib/fabric/text.h"

namespace rail::fabric {
namespace {

// How long an address travels until every node has it, at most.
constexpr int64_t kTravelsMs = 5'000;

bool IsIn(uint32_t index, const RailSet& rails) {
  return index < rails.size() && rails.test(index);
}

}  // namespace

Announced::Announced(const Look& look, const std::set<std::string>& deaf) : look_(look), deaf_(deaf) {
  for (const Node* node : look.nodes) AddNode(*node);
  for (const auto& [tenant, of] : of_tenant_) {
    for (const Entry& entry : of.entries) {
      if (!entry.cell->unit.empty()) units_.insert(entry.cell->unit);
    }
  }
}

bool Announced::IsYoung(int64_t since_ms) {
  const int64_t due = since_ms + kTravelsMs;
  if (due <= look_.now_ms) return false;
  next_look_ms_ = next_look_ms_ == 0 ? due : std::min(next_look_ms_, due);
  return true;
}

RailSet Announced::RailsOf(const Node& node) const {
  RailSet rails;
  for (const Cell& cell : look_.grid.OfNode(node.name)) {
    const auto since = node.since_ms.find(cell.rail->name());
    const bool is_young = since != node.since_ms.end() && since->second + kTravelsMs > look_.now_ms;
    if (cell.HasLink() && !is_young && !deaf_.contains(LeafScope(cell)) && cell.rail->index() < rails.size())
      rails.set(cell.rail->index());
  }
  return rails;
}

void Announced::AddNode(const Node& node) {
  for (const auto& [rail, since] : node.since_ms) IsYoung(since);
  const RailSet rails = RailsOf(node);
  std::map<std::pair<std::string_view, const Cell*>, size_t> counts;
  for (const auto& [id, attachment] : node.attachments) {
    const bool is_told =
        attachment.announced() && attachment.phase() == v1::Attachment::READY &&
        !attachment.tenant().name().empty() &&
        attachment.announced_elsewhere_size() == 0;  // which nobody takes, and which has a line of its own
    if (!is_told || (attachment.has_created() && IsYoung(UnixMsOf(attachment.created())))) continue;
    const Cell* cell = look_.grid.Find(node.name, attachment.rail());
    if (cell == nullptr || !IsIn(cell->rail->index(), rails)) continue;
    const auto alone = std::ranges::count_if(attachment.addresses(), [&](const std::string& address) {
      return !look_.fleet.shared_addresses().contains(address);
    });
    counts[{attachment.tenant().name(), cell}] += static_cast<size_t>(alone);
  }
  for (const auto& [of, count] : counts) {
    const auto& [tenant, cell] = of;
    OfTenant& known = of_tenant_[tenant];
    known.entries.push_back({cell, count});
    known.totals[cell->rail->index()] += count;
    own_[{&node, tenant}][cell->rail->index()] += count;
  }
}

size_t Announced::To(const Node& node, std::string_view tenant, const RailSet& rails) const {
  const auto at = of_tenant_.find(tenant);
  if (at == of_tenant_.end()) return 0;
  size_t sum = 0;
  for (const auto& [index, count] : at->second.totals) sum += IsIn(index, rails) ? count : 0;
  const auto own = own_.find({&node, tenant});
  if (own == own_.end()) return sum;
  for (const auto& [index, count] : own->second) sum -= IsIn(index, rails) ? count : 0;
  return sum;
}

const Announced::Counts& Announced::Groups(std::string_view tenant, const RailSet& rails) {
  const auto [at, is_new] = groups_.try_emplace({tenant, rails.to_string()});
  Counts& counts = at->second;
  const auto of = of_tenant_.find(tenant);
  if (!is_new || of == of_tenant_.end()) return counts;
  std::map<Group, const Node*> last;  // entries are by node
  size_t all = 0;
  size_t nodes = 0;
  const Node* node = nullptr;
  for (const Entry& entry : of->second.entries) {
    const Cell& cell = *entry.cell;
    if (!IsIn(cell.rail->index(), rails)) continue;
    all += entry.addresses;
    if (node != cell.node) ++nodes;
    node = cell.node;
    for (const Group& group : {Group{Group::kUnit, cell.unit}, Group{Group::kNode, cell.node->name},
                               Group{Group::kLeaf, LeafScope(cell)}}) {
      if (group.name.empty()) continue;
      counts[group].addresses += entry.addresses;
      const Node*& seen = last[group];
      if (seen != cell.node) ++counts[group].nodes;
      seen = cell.node;
    }
  }
  if (units_.size() < 3) return counts;  // with two, all others are the other one
  for (const std::string& unit : units_) {
    const auto own = counts.find({Group::kUnit, unit});
    const GroupCount inside = own == counts.end() ? GroupCount{} : own->second;
    if (all > inside.addresses)
      counts[{Group::kOthers, unit}] = {all - inside.addresses, nodes - inside.nodes};
  }
  return counts;
}

}  // namespace rail::fabric
