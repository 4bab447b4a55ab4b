#include "cmd/railctl/accept/partners.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace rail::accept {
namespace {

int Distance(const Port& a, const Port& b) {
  if (a.node == b.node) return 0;
  return a.leaf == b.leaf ? 1 : 2;
}

template <class Wanted>
const Port* Farthest(const Stage& stage, const Port& from, Wanted wanted) {
  const Port* found = nullptr;
  for (const Port& port : stage.ports()) {
    if (&port == &from || port.rail != from.rail || !wanted(port)) continue;
    if (found == nullptr || Distance(from, port) > Distance(from, *found)) found = &port;
  }
  return found;
}

using Couples = std::vector<std::pair<const Port*, const Port*>>;

// Each once, as the ports are ordered.
template <class Others>
Couples BothWays(const Stage& stage, Others others) {
  std::set<std::pair<const Port*, const Port*>> couples;
  for (const Port& port : stage.ports()) {
    for (const Port* other : others(port)) couples.insert({{&port, other}, {other, &port}});
  }
  return {couples.begin(), couples.end()};
}

}  // namespace

const Port* Mate(const Stage& stage, const Port& port) {
  return Farthest(stage, port, [&](const Port& other) { return other.tenant == port.tenant; });
}

std::vector<const Port*> Strangers(const Stage& stage, const Port& port) {
  std::vector<const Port*> strangers;
  for (const bool near : {true, false}) {
    const Port* const found = Farthest(stage, port, [&](const Port& other) {
      return other.tenant != port.tenant && (other.node == port.node) == near;
    });
    if (found != nullptr) strangers.push_back(found);
  }
  return strangers;
}

Couples Mates(const Stage& stage) {
  return BothWays(stage, [&](const Port& port) {
    const Port* const mate = Mate(stage, port);
    return mate == nullptr ? std::vector<const Port*>{} : std::vector{mate};
  });
}

Couples Opponents(const Stage& stage) {
  return BothWays(stage, [&](const Port& port) { return Strangers(stage, port); });
}

std::vector<std::vector<const Port*>> Circles(const std::vector<Port>& ports) {
  std::map<std::pair<std::string, std::string>, std::vector<const Port*>> circles;
  for (const Port& port : ports) circles[{port.rail, port.tenant}].push_back(&port);
  std::vector<std::vector<const Port*>> found;
  for (auto& [key, circle] : circles) found.push_back(std::move(circle));
  return found;
}

Attempt Between(const Port& from, const Port& to, Attempt attempt) {
  attempt.set_rail(from.rail);
  attempt.set_from(from.pod());
  attempt.set_to(to.pod());
  return attempt;
}

}  // namespace rail::accept
