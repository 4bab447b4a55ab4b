#include "cmd/railctl/accept/suspects.h"

#include <algorithm>
#include <map>
#include <utility>

#include "cmd/railctl/accept/scopes.h"
#include "lib/base/text.h"

namespace rail::accept {
namespace {

std::string NameOf(const Seat& seat) {
  return seat.node + "/" + seat.rail;
}

std::vector<std::string> RailsOf(const Fabric& fabric) {
  std::vector<std::string> rails;
  for (size_t i = 0; i < fabric.Seats().size(); ++i) {
    if (fabric.RailOf(i) == i) rails.push_back(fabric.Seats()[i].rail);
  }
  return rails;
}

std::vector<std::string> NamesOf(const Fabric& fabric, const Scope& scope) {
  if (scope.a == kNone) return RailsOf(fabric);
  const Seat& seat = fabric.Seats()[scope.a];
  switch (scope.kind) {
    case Suspect::kPair: return {NameOf(seat), NameOf(fabric.Seats()[scope.b])};
    case Suspect::kNic: return {NameOf(seat)};
    case Suspect::kNode: return {seat.node};
    case Suspect::kBoundary: return {seat.leaf, fabric.Seats()[scope.b].leaf};
    case Suspect::kUplinks:
    case Suspect::kLeaf: return {seat.leaf};
    case Suspect::kRail: break;
  }
  return {seat.rail};
}

std::string SentenceOfNic(const Seat& seat, const std::string& all) {
  const std::string leaf = seat.leaf.empty() ? "its leaf" : "leaf " + seat.leaf;
  return all + "of " + seat.node + " on rail " + seat.rail + " are bad: its NIC, or its cable to " + leaf +
         ". Symbol or FEC errors that grow at either end of the link mean the cable: put in another one. No "
         "errors mean the NIC: look at its PCIe width and speed and its temperature, and measure again with "
         "the cable in another NIC.";
}

std::string SentenceOf(const Fabric& fabric, const Scope& scope, size_t bad, size_t measured) {
  const std::vector<std::string> names = NamesOf(fabric, scope);
  const std::string all = (bad < measured ? std::to_string(bad) + " of " + std::to_string(measured)
                           : bad == 1     ? "All"
                                          : "All " + std::to_string(bad)) +
                          " measured pairs ";
  switch (scope.kind) {
    case Suspect::kPair:
      return "Only the pair " + names[0] + " and " + names[1] +
             " is bad: one of the paths between them (a link that ECMP gives to this pair alone), or, where "
             "they have no other pair, either end. Look for errors and drops on the links between their "
             "leaves.";
    case Suspect::kNic: return SentenceOfNic(fabric.Seats()[scope.a], all);
    case Suspect::kNode:
      return all + "of node " + names[0] +
             " are bad on all of its rails: the node, not a cable. Look at what its NICs share: `railctl "
             "doctor` there, PCIe settings, IOMMU, power profile, versions of driver and firmware.";
    case Suspect::kBoundary:
      return all + "between leaf " + names[0] + " and leaf " + names[1] +
             " are bad, and those inside each leaf are not: what is between the two. Look at the links to "
             "the spines and at the routes that each leaf has to the other.";
    case Suspect::kUplinks:
      return all + "from leaf " + names[0] +
             " to other leaves are bad, and those inside it are not: its links to the spines. Look at how "
             "many are up, at their speed and errors, and at its routes.";
    case Suspect::kLeaf:
      return all + "that touch leaf " + names[0] +
             " are bad: the leaf. Look at its MTU, PFC and ECN, and compare its configuration with another "
             "leaf's.";
    case Suspect::kRail: break;
  }
  return all + "of " + (scope.a == kNone ? "all rails" : "rail " + names[0]) +
         " are bad: what all of them share. Look at MTU, PFC and ECN of nodes and leaves, and at whether "
         "more is expected than the NICs can do.";
}

}  // namespace

std::vector<Suspect> Blame(const std::vector<Seat>& seats, const std::vector<Measured>& measured) {
  std::map<std::pair<size_t, size_t>, bool> last;
  for (const Measured& pair : measured) last[std::minmax(pair.a, pair.b)] = pair.bad;
  std::vector<Measured> once;
  once.reserve(last.size());
  for (const auto& [pair, bad] : last) once.push_back({pair.first, pair.second, bad});
  const Fabric fabric(seats);
  std::vector<Suspect> suspects;
  for (const auto& [scope, bad] : Explain(fabric, once)) {
    const auto is_of = [&fabric, &one = scope](const Measured& pair) {
      const auto scopes = fabric.ScopesOf(pair.a, pair.b);
      return std::ranges::find(scopes, one) != scopes.end();
    };
    const auto all =
        scope.kind == Suspect::kPair ? 1 : static_cast<size_t>(std::ranges::count_if(once, is_of));
    suspects.push_back({scope.kind, NamesOf(fabric, scope), SentenceOf(fabric, scope, bad.size(), all)});
  }
  return suspects;
}

}  // namespace rail::accept
