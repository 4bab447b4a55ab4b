#include "cmd/railctl/accept/pauses.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <future>
#include <set>
#include <string_view>

#include "lib/base/text.h"

namespace rail::accept {
namespace {

// Frames that nobody wants (LLDP, STP) count as discarded, too: a few of them say nothing.
constexpr uint64_t kStray = 10;
// As mlx5 names them: notifications that were sent and heeded, and packets that came with the mark.
constexpr std::array<std::string_view, 3> kCongestion{"np_cnp_sent", "rp_cnp_handled",
                                                      "np_ecn_marked_roce_packets"};

// A counter that begins anew has grown by nothing.
uint64_t Growth(uint64_t before, uint64_t after) {
  return after > before ? after - before : 0;
}

const v1::PfcCounters& Of(const v1::PortCounters& port, uint32_t priority) {
  static const v1::PfcCounters kNone;
  const auto found = std::ranges::find(port.pfc(), priority, &v1::PfcCounters::priority);
  return found == port.pfc().end() ? kNone : *found;
}

std::set<uint32_t> Lossless(const v1::PortCounters& port) {
  std::set<uint32_t> priorities;
  for (const auto& pfc : port.pfc()) {
    if (pfc.enabled()) priorities.insert(pfc.priority());
  }
  return priorities;
}

std::string Shown(const std::set<uint32_t>& priorities) {
  return priorities.empty() ? "none"
                            : Join(priorities, ", ", [](uint32_t each) { return std::to_string(each); });
}

// What one end tells: what is wrong, what it does not count, and what has moved.
struct Told {
  std::string wrong;
  std::string missing;
  std::string seen;
};

void TellPauses(const UplinkLoad& end, Told& told) {
  if (end.after.pfc().empty())
    Append(told.missing, "; ",
           end.node + " counts no pauses: its driver has no DCB, or PFC is off for all priorities");
  for (const auto& pfc : end.after.pfc()) {
    const auto& then = Of(end.before, pfc.priority());
    const uint64_t sent = Growth(then.sent(), pfc.sent());
    const uint64_t received = Growth(then.received(), pfc.received());
    const std::string moved = fmt::format("priority {} of {}: {} pauses sent, {} received", pfc.priority(),
                                          end.node, sent, received);
    Append(told.seen, "; ", moved);
    if (!pfc.enabled() && sent + received > 0)
      Append(told.wrong, "; ",
             fmt::format("{}, and PFC is on for {} alone", moved, Shown(Lossless(end.after))));
  }
}

void TellCongestion(const UplinkLoad& end, Told& told) {
  bool counted = false;
  for (const auto& counter : end.after.rdma()) {
    if (std::ranges::find(kCongestion, counter.name()) == kCongestion.end()) continue;
    counted = true;
    const auto then = std::ranges::find(end.before.rdma(), counter.name(), &v1::NamedCounter::name);
    const uint64_t grown = then == end.before.rdma().end() ? 0 : Growth(then->value(), counter.value());
    Append(told.seen, "; ", fmt::format("{} of {}: +{}", counter.name(), end.node, grown));
  }
  if (!counted)
    Append(told.missing, "; ",
           fmt::format("{} counts no congestion: none of {}", end.node, Join(kCongestion, ", ")));
}

void TellDiscards(const UplinkLoad& end, bool by_verbs, Told& told) {
  const uint64_t dropped = Growth(end.before.sent().dropped(), end.after.sent().dropped()) +
                           Growth(end.before.received().dropped(), end.after.received().dropped());
  const std::string moved = fmt::format("{} discards {} packets", end.node, dropped);
  Append(told.seen, "; ", moved);
  if (by_verbs && dropped > kStray) Append(told.wrong, "; ", moved + " while RoCE is sent");
}

// The rail's uplink in what a node has counted. Errors: those of asking; kTransient: it is not there.
Result<v1::PortCounters> UplinkOf(const Port& port, const UplinkCounters& counters) {
  const auto& counted = counters.at(port.node->name);
  if (!counted) return tl::make_unexpected(counted.error());
  const auto found = std::ranges::find_if(counted->ports(), [&](const v1::PortCounters& each) {
    return each.port().attachment() == 0 && each.port().rail() == port.rail;
  });
  if (found == counted->ports().end())
    return Fail(Code::kTransient, port.node->Whom() + " counts nothing of the uplink of " + port.rail);
  return *found;
}

}  // namespace

UplinkCounters CountUplinks(const Stage& stage) {
  std::map<std::string, std::future<Result<v1::ListCountersResponse>>> asked;
  for (const auto& node : stage.nodes())
    asked[node->name] = std::async(std::launch::async, [&node = *node] {
      return Ask(*node.raild, &v1::Node::Stub::ListCounters, {}, node.Whom());
    });
  UplinkCounters counters;
  for (auto& [name, answer] : asked) counters.emplace(name, answer.get());
  return counters;
}

Attempt JudgePauses(const std::vector<UplinkLoad>& ends, bool by_verbs) {
  Told told;
  for (const UplinkLoad& end : ends) {
    TellPauses(end, told);
    TellCongestion(end, told);
    TellDiscards(end, by_verbs, told);
  }
  const auto unlike = std::ranges::find_if(
      ends, [&](const UplinkLoad& end) { return Lossless(end.after) != Lossless(ends.front().after); });
  if (unlike != ends.end())
    Append(told.wrong, "; ",
           fmt::format("{} pauses for {}, {} for {}", ends.front().node, Shown(Lossless(ends.front().after)),
                       unlike->node, Shown(Lossless(unlike->after))));
  Attempt attempt = NotMeasured(told.missing + "; " + told.seen);
  if (!told.wrong.empty()) {
    attempt.set_verdict(kFail);
    attempt.set_seen(told.wrong + "; " + told.seen);
  } else if (told.missing.empty()) {
    attempt.set_verdict(kPass);
    attempt.set_seen(told.seen);
  }
  return attempt;
}

Attempt PausesBetween(const Port& from, const Port& to, const UplinkCounters& before,
                      const UplinkCounters& after, bool by_verbs) {
  std::vector<UplinkLoad> ends;
  std::string problem;
  for (const Port* port : {&from, &to}) {
    const auto then = UplinkOf(*port, before);
    const auto now = UplinkOf(*port, after);
    if (then && now) {
      ends.push_back({port->node->name, *then, *now});
    } else {
      problem = (then ? now : then).error().message;
    }
  }
  Attempt attempt = problem.empty() ? JudgePauses(ends, by_verbs) : NotMeasured(problem);
  attempt.set_rail(from.rail);
  attempt.set_from(from.node->name);
  attempt.set_to(to.node->name);
  attempt.set_did("`railctl top`'s counters of both uplinks, before and after the noise of qos.neighbour");
  return attempt;
}

}  // namespace rail::accept
