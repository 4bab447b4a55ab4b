#include "cmd/railctl/accept/qos.h"

#include <fmt/format.h>

#include <array>

#include "cmd/railctl/accept/forge.h"
#include "cmd/railctl/accept/neighbour.h"
#include "cmd/railctl/accept/partners.h"
#include "cmd/railctl/accept/watch.h"
#include "lib/base/text.h"

namespace rail::accept {
namespace {

constexpr uint16_t kPort = 9;  // discard (RFC 863)
constexpr Milliseconds kPatience{5000};
// DSCP 26 and 48, which RoCE and its CNPs use, with ECT(0); DSCP 0 without ECN.
constexpr std::array<uint8_t, 3> kSent{26 << 2 | 2, 48 << 2 | 2, 0};
constexpr uint8_t kCongestion = 3;  // CE (RFC 3168): a switch may put it in the place of ECT

bool IsKept(uint8_t sent, uint8_t arrived) {
  return arrived == sent || ((sent & 3) != 0 && arrived == (sent | kCongestion));
}

std::string Shown(uint8_t tos) {
  return fmt::format("DSCP {} ECN {}", tos >> 2, tos & 3);
}

Result<Attempt> TryMarks(const Port& from, const Port& to) {
  std::vector<std::string> marks;
  std::vector<std::string> frames;
  for (const uint8_t tos : kSent) {
    marks.push_back(fmt::format("RailCNI accept {}, {}", Shown(tos), from.pod()).substr(0, 64));
    frames.push_back(
        Ethernet({from.mac, from.gateway, {}},
                 Ip(from.ipv4, to.ipv4, kUdp, Udp(from.ipv4, to.ipv4, kPort, marks.back()), tos)));
  }
  RAIL_ASSIGN(const auto eyes, Watch::Open(*to.agent, {to.ifname}, marks));
  RAIL_TRY(SendRounds(from, frames, 1));
  Attempt attempt;
  attempt.set_verdict(kPass);
  std::string seen;
  for (size_t i = 0; i < kSent.size(); ++i) {
    if (!eyes->WaitFor(i, 1, kPatience))
      return Fail(Code::kTransient, "a datagram with " + Shown(kSent[i]) + " does not arrive");
    const auto arrived = TosOf(eyes->Counts()[i].newest());
    const bool kept = arrived && IsKept(kSent[i], *arrived);
    if (!kept) attempt.set_verdict(kFail);
    Append(seen, ", ",
           Shown(kSent[i]) + " arrives as " + (arrived ? Shown(*arrived) : "something else than IP"));
  }
  attempt.set_seen(seen);
  return attempt;
}

}  // namespace

void CheckQos(const Stage& stage, Book& book) {
  CheckNeighbours(stage, book);
  if (!book.Wants("qos.dscp")) return;
  bool tried = false;
  for (const auto& [from, to] : Mates(stage)) {
    if (from->ipv4.is_unspecified() || to->ipv4.is_unspecified()) continue;
    book.Say("qos.dscp, " + from->pod() + " to " + to->pod() + " on " + from->rail);
    const auto seen = TryMarks(*from, *to);
    Attempt attempt = seen ? *seen : NotMeasured(seen.error().message);
    attempt.set_did("a UDP datagram with each of " + Join(kSent, ", ", Shown));
    book.Add("qos.dscp", Between(*from, *to, std::move(attempt)));
    tried = true;
  }
  if (!tried) book.Add("qos.dscp", NotMeasured("no tenant has two pods with IPv4 addresses on one rail"));
}

}  // namespace rail::accept
