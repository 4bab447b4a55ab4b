// Addresses that several have.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "lib/base/text.h"
#include "lib/fabric/cause.h"
#include "lib/fabric/text.h"

namespace rail::fabric {
namespace {

// As many of the same nodes are one line: it is not the pods.
constexpr size_t kFewestOfSeveral = 3;

bool Holds(const Placed& placed) {
  return placed.node->IsSeen() && placed.attachment->phase() != v1::Attachment::DELETING;
}

std::string PodText(const Placed& placed) {
  const v1::Attachment& a = *placed.attachment;
  const std::string tenant = a.tenant().name().empty() ? "" : ", tenant " + a.tenant().name();
  return fmt::format("{}/{} on {} ({}{})", a.pod().namespace_(), a.pod().name(), placed.node->name, a.rail(),
                     tenant);
}

// Each tenant's VLAN is a network of its own.
bool AreApart(const Placed& a, const Placed& b) {
  return a.attachment->vlan() != 0 && b.attachment->vlan() != 0 &&
         a.attachment->tenant().id() != b.attachment->tenant().id();
}

struct Shared {
  std::string address;
  std::vector<Placed> holders;
};

// The kind, and the nodes: who shares one address mostly shares more.
using OfNodes = std::pair<const Kind*, std::vector<std::string>>;

void AddShared(const Fleet& fleet, const std::string& address, std::map<OfNodes, std::vector<Shared>>& all) {
  Shared shared{address, {}};
  for (const Placed& placed : fleet.OfAddress(address)) {
    if (Holds(placed)) shared.holders.push_back(placed);
  }
  if (shared.holders.size() < 2) return;
  const Placed& first = shared.holders.front();
  const auto& rest = shared.holders;
  if (std::all_of(rest.begin() + 1, rest.end(),
                  [&first](const Placed& each) { return AreApart(first, each); }))
    return;
  const bool one_tenant = std::ranges::all_of(rest, [&first](const Placed& each) {
    return each.attachment->tenant().id() == first.attachment->tenant().id();
  });
  std::vector<std::string> nodes;
  for (const Placed& each : rest) {
    if (nodes.empty() || nodes.back() != each.node->name) nodes.push_back(each.node->name);
  }
  all[{&KindOf(one_tenant ? "address-twice" : "address-of-two-tenants"), nodes}].push_back(std::move(shared));
}

Cause Made(const Kind& kind, std::string subject, std::string what, std::vector<std::string> nodes,
           size_t attachments) {
  Cause cause{
      .kind = &kind, .subject = std::move(subject), .what = std::move(what), .nodes = std::move(nodes)};
  cause.follows["attachments"] = static_cast<uint32_t>(attachments);
  return cause;
}

void Tell(const OfNodes& of, const std::vector<Shared>& shared, std::vector<Cause>& found) {
  const auto& [kind, nodes] = of;
  if (shared.size() < kFewestOfSeveral) {
    for (const Shared& each : shared)
      found.push_back(Made(*kind, each.address,
                           each.address + " is the address of " + Join(each.holders, " and of ", PodText),
                           nodes, each.holders.size()));
    return;
  }
  std::vector<std::string> addresses;
  size_t attachments = 0;
  for (const Shared& each : shared) {
    addresses.push_back(each.address);
    attachments += each.holders.size();
  }
  const std::string subject = Join(nodes, ", ");
  found.push_back(Made(*kind, subject,
                       fmt::format("{} have {} addresses in common ({}): blocks of addresses that overlap, "
                                   "or one node.json for all of them",
                                   nodes.size() > 1 ? ListOf(nodes) : subject + "'s pods", addresses.size(),
                                   ListOf(addresses)),
                       nodes, attachments));
}

// Whom the fleet's documents do not show.
void TellElsewhere(const Look& look, std::vector<Cause>& found) {
  std::vector<Placed> elsewhere;
  for (const auto& [key, placed] : look.fleet.attachments()) {
    if (placed.attachment->announced_elsewhere_size() == 0 || !Holds(placed)) continue;
    const auto is_known = [&](const std::string& address) {
      const auto all = look.fleet.OfAddress(address);
      return std::ranges::count_if(all, Holds) > 1;
    };
    if (std::ranges::none_of(placed.attachment->addresses(), is_known)) elsewhere.push_back(placed);
  }
  const Kind& kind = KindOf("address-announced-elsewhere");
  std::set<std::string, NaturalLess> nodes;
  for (const Placed& each : elsewhere) nodes.insert(each.node->name);
  if (elsewhere.size() >= kFewestOfSeveral) {
    found.push_back(Made(kind, "several addresses",
                         fmt::format("addresses of {} pods' interfaces are announced elsewhere; first {}: {}",
                                     elsewhere.size(), PodText(elsewhere.front()),
                                     elsewhere.front().attachment->announced_elsewhere(0)),
                         {nodes.begin(), nodes.end()}, elsewhere.size()));
    return;
  }
  for (const Placed& each : elsewhere) {
    const std::string& address =
        each.attachment->addresses_size() > 0 ? each.attachment->addresses(0) : each.attachment->ifname();
    found.push_back(Made(kind, address, PodText(each) + ": " + each.attachment->announced_elsewhere(0),
                         {each.node->name}, 1));
  }
}

}  // namespace

void JudgeOwners(const Look& look, std::vector<Cause>& found) {
  std::map<OfNodes, std::vector<Shared>> all;
  for (const auto& [address, count] : look.fleet.shared_addresses()) AddShared(look.fleet, address, all);
  for (const auto& [of, shared] : all) Tell(of, shared, found);
  TellElsewhere(look, found);
}

}  // namespace rail::fabric
