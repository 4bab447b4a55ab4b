#include "cmd/railctl/accept/isolation.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <random>

#include "cmd/railctl/accept/announced.h"
#include "cmd/railctl/accept/forge.h"
#include "cmd/railctl/accept/partners.h"
#include "cmd/railctl/accept/verbs.h"
#include "cmd/railctl/accept/watch.h"
#include "lib/base/text.h"

namespace rail::accept {
namespace {

constexpr uint32_t kRounds = 20;    // how often each frame is sent
constexpr uint16_t kPlainPort = 9;  // discard (RFC 863): a port that no NIC treats in its own way
constexpr Milliseconds kPatience{5000};
constexpr Milliseconds kQuiet{100};  // nothing has come for so long: nothing is under way

// Who tries, and against whom, on one rail.
struct Scene {
  const Port& me;
  const Port& mate;        // of my tenant
  const Port& stranger;    // of another tenant
  const Port& their_mate;  // of that tenant
};

struct Forgery {
  const char* check;
  const char* what;
  // None: it does not apply, as an address of the family is missing.
  std::optional<std::string> (*frame)(const Scene& scene, const std::string& mark);
};

std::string Datagram(const Link& link, const IpAddress& source, const IpAddress& target, uint16_t port,
                     const std::string& mark) {
  return Ethernet(link, Ip(source, target, kUdp, Udp(source, target, port, mark)));
}

// To `target`'s address of the family of `source`.
std::optional<std::string> From(const IpAddress& source, const MacAddress& mac, const Port& me,
                                const Port& target, uint16_t port, const std::string& mark,
                                std::optional<uint16_t> vlan = {}) {
  const IpAddress& to = source.is_v6() ? target.ipv6 : target.ipv4;
  if (source.is_unspecified() || to.is_unspecified()) return {};
  return Datagram({mac, me.gateway, vlan}, source, to, port, mark);
}

// A UC SEND ONLY to queue pair 17 (InfiniBand Architecture Specification, volume 1, 9.2: BTH), with a room for the ICRC.
std::string Bth(const std::string& mark) {
  constexpr char kHead[] = {0x24, 0, '\xff', '\xff', 0, 0, 0, 17, 0, 0, 0, 1};
  return std::string(kHead, sizeof kHead) + mark + std::string(4, '\0');
}

std::string Advertisement(const Scene& scene, uint8_t type, const std::string& body) {
  constexpr MacAddress kAllNodes{{0x33, 0x33, 0, 0, 0, 1}};
  const IpAddress from = LinkLocal(scene.me.mac);
  const IpAddress all = IpAddress::Parse("ff02::1").value();
  return Ethernet({scene.me.mac, kAllNodes, {}}, Ip(from, all, kIcmpV6, IcmpV6(from, all, type, body)));
}

using Frame = std::optional<std::string>;
const Forgery kForgeries[] = {
    {"isolation.other-tenant", "a UDP datagram over IPv4 to the other tenant's pod",
     [](const Scene& s, const std::string& mark) {
       return From(s.me.ipv4, s.me.mac, s.me, s.stranger, kPlainPort, mark);
     }},
    {"isolation.other-tenant", "a UDP datagram over IPv6 to the other tenant's pod",
     [](const Scene& s, const std::string& mark) {
       return From(s.me.ipv6, s.me.mac, s.me, s.stranger, kPlainPort, mark);
     }},
    {"isolation.handmade-rocev2", "a RoCEv2 packet over IPv4 to the other tenant's pod",
     [](const Scene& s, const std::string& mark) {
       return From(s.me.ipv4, s.me.mac, s.me, s.stranger, kRocePort, Bth(mark));
     }},
    {"isolation.handmade-rocev2", "a RoCEv2 packet over IPv6 to the other tenant's pod",
     [](const Scene& s, const std::string& mark) {
       return From(s.me.ipv6, s.me.mac, s.me, s.stranger, kRocePort, Bth(mark));
     }},
    {"isolation.forged-source", "a datagram with the other pod's IPv4 address to the own tenant's pod",
     [](const Scene& s, const std::string& mark) {
       return From(s.stranger.ipv4, s.me.mac, s.me, s.mate, kPlainPort, mark);
     }},
    {"isolation.forged-source", "a datagram with the other pod's IPv4 address to a pod of its tenant",
     [](const Scene& s, const std::string& mark) {
       return From(s.stranger.ipv4, s.me.mac, s.me, s.their_mate, kPlainPort, mark);
     }},
    {"isolation.forged-gid", "a datagram with the other pod's IPv6 address to the own tenant's pod",
     [](const Scene& s, const std::string& mark) {
       return From(s.stranger.ipv6, s.me.mac, s.me, s.mate, kPlainPort, mark);
     }},
    {"isolation.forged-gid", "a RoCEv2 packet with the other pod's IPv6 address to a pod of its tenant",
     [](const Scene& s, const std::string& mark) {
       return From(s.stranger.ipv6, s.me.mac, s.me, s.their_mate, kPlainPort, mark);
     }},
    {"isolation.forged-mac", "a datagram with the other pod's MAC address to the own tenant's pod",
     [](const Scene& s, const std::string& mark) {
       return From(s.me.ipv4, s.stranger.mac, s.me, s.mate, kPlainPort, mark);
     }},
    {"isolation.forged-mac", "a datagram with the other pod's MAC and IPv4 address to a pod of its tenant",
     [](const Scene& s, const std::string& mark) {
       return From(s.stranger.ipv4, s.stranger.mac, s.me, s.their_mate, kPlainPort, mark);
     }},
    {"isolation.vlan", "a datagram in VLAN 100 to the own tenant's pod",
     [](const Scene& s, const std::string& mark) {
       return From(s.me.ipv4, s.me.mac, s.me, s.mate, kPlainPort, mark, 100);
     }},
    {"isolation.vlan", "a datagram in VLAN 4094 to the other tenant's pod",
     [](const Scene& s, const std::string& mark) {
       return From(s.me.ipv4, s.me.mac, s.me, s.stranger, kPlainPort, mark, 4094);
     }},
    {"isolation.arp-nd", "an ARP request that claims the other pod's address",
     [](const Scene& s, const std::string& mark) -> Frame {
       if (s.stranger.ipv4.is_unspecified()) return {};
       return Ethernet({s.me.mac, kBroadcast, {}}, ArpRequest(s.me.mac, s.stranger.ipv4, s.mate.ipv4, mark));
     }},
    {"isolation.arp-nd", "a neighbour advertisement that claims the other pod's address",
     [](const Scene& s, const std::string& mark) -> Frame {
       if (s.stranger.ipv6.is_unspecified()) return {};
       return Advertisement(s, 136,
                            std::string("\x20\0\0\0", 4) + std::string(s.stranger.ipv6.bytes()) + mark);
     }},
    {"isolation.arp-nd", "a router advertisement",
     [](const Scene& s, const std::string& mark) -> Frame {
       return Advertisement(s, 134, std::string("\x40\0\x07\x08\0\0\0\0\0\0\0\0", 12) + mark);
     }},
    {"isolation.flood", "a broadcast of an EtherType for experiments",
     [](const Scene& s, const std::string& mark) -> Frame {
       return Ethernet({s.me.mac, kBroadcast, {}}, {kExperiment, mark});
     }},
    {"isolation.flood", "a datagram to 255.255.255.255",
     [](const Scene& s, const std::string& mark) -> Frame {
       if (s.me.ipv4.is_unspecified()) return {};
       return Datagram({s.me.mac, kBroadcast, {}}, s.me.ipv4, IpAddress::Parse("255.255.255.255").value(),
                       kPlainPort, mark);
     }},
};
constexpr size_t kForged = std::size(kForgeries);

// The marks of a scene: of each forgery, and of what is allowed.
enum Allowed : size_t { kMine = kForged, kMineRoce, kTheirs, kMarks };

std::vector<std::string> Marks() {
  std::random_device random;
  std::vector<std::string> marks(kMarks);
  for (std::string& mark : marks) {
    mark = "RailCNI accept ";
    for (int i = 0; i < 16; ++i) mark += static_cast<char>('a' + random() % 26);
  }
  return marks;
}

// One scene: eyes open, what is allowed, what is forbidden, what is allowed again.
class Trial {
 public:
  Trial(const Scene& scene, Book& book) : scene_(scene), book_(book), marks_(Marks()) {}

  void Run() {
    if (const Status done = Try(); !done) {
      for (size_t i = 0; i < kForged; ++i) Report(i, kCouldNotMeasure, done.error().message);
    }
    book_.AddTogether(std::move(found_));
  }

 private:
  struct Eyes {
    const Port* port;
    std::unique_ptr<Watch> watch;
  };

  Status Try() {
    RAIL_TRY(OpenEyes());
    RAIL_TRY(SendAllowed());
    const bool roce = Came(scene_.mate, kMineRoce, kRounds);
    if (!Came(scene_.mate, kMine, kRounds))
      return Fail(Code::kTransient, "what is allowed does not arrive: datagrams of " + scene_.me.pod() +
                                        " to " + scene_.mate.pod() + " of its own tenant");
    if (!Came(scene_.stranger, kTheirs, kRounds))
      return Fail(Code::kTransient,
                  scene_.stranger.pod() + " does not receive what " + scene_.their_mate.pod() +
                      " of its own tenant sends: whether it receives what is forbidden cannot be seen");
    RAIL_TRY(SendForbidden());
    RAIL_TRY(SendAllowed());
    const bool after = Came(scene_.mate, kMine, uint64_t{2} * kRounds) &&
                       Came(scene_.stranger, kTheirs, uint64_t{2} * kRounds);
    for (const Eyes& eyes : eyes_) eyes.watch->Settle(kQuiet);
    for (size_t i = 0; i < kForged; ++i) Judge(i, after, roce);
    return {};
  }

  Status OpenEyes() {
    for (const Port* port : {&scene_.mate, &scene_.stranger, &scene_.their_mate}) {
      if (std::ranges::find(eyes_, port, &Eyes::port) != eyes_.end()) continue;
      RAIL_ASSIGN(auto watch, Watch::Open(*port->agent, {port->ifname}, marks_));
      eyes_.push_back({port, std::move(watch)});
    }
    return {};
  }

  Status SendAllowed() {
    const auto [me, mate, stranger, theirs] = scene_;
    const auto plain = From(me.ipv4, me.mac, me, mate, kPlainPort, marks_[kMine]);
    const auto roce = From(me.ipv4, me.mac, me, mate, kRocePort, Bth(marks_[kMineRoce]));
    const auto answer = From(theirs.ipv4, theirs.mac, theirs, stranger, kPlainPort, marks_[kTheirs]);
    if (!plain || !roce || !answer)
      return Fail(Code::kUnsupported, "a pod has no IPv4 address on " + me.rail);
    RAIL_TRY(SendRounds(me, {*plain, *roce}, kRounds));
    return SendRounds(theirs, {*answer}, kRounds);
  }

  // One forgery after the other: a burst of all of them could be lost on the way to the switch.
  Status SendForbidden() {
    for (size_t i = 0; i < kForged; ++i) {
      if (const auto frame = kForgeries[i].frame(scene_, marks_[i]))
        RAIL_TRY(SendRounds(scene_.me, {*frame}, kRounds));
    }
    return {};
  }

  bool Came(const Port& port, size_t mark, uint64_t frames) {
    return std::ranges::find(eyes_, &port, &Eyes::port)->watch->WaitFor(mark, frames, kPatience);
  }

  void Judge(size_t number, bool after, bool roce) {
    if (!kForgeries[number].frame(scene_, marks_[number])) return;
    std::string seen;
    for (const Eyes& eyes : eyes_) {
      const auto frames = eyes.watch->Counts()[number].frames();
      if (frames == 0) continue;
      Append(
          seen, ", ",
          fmt::format("{} of {} arrived at {} ({})", frames, kRounds, eyes.port->pod(), eyes.port->ifname));
    }
    if (!seen.empty()) return Report(number, kFail, seen);
    if (!after) return Report(number, kCouldNotMeasure, "what is allowed no longer arrives after it");
    if (!roce && std::string_view(kForgeries[number].check) == "isolation.handmade-rocev2")
      return Report(number, kCouldNotMeasure,
                    "the same packet to the own tenant's pod is not seen there either: its NIC keeps UDP "
                    "port 4791 to itself");
    Report(
        number, kPass,
        "0 of " + std::to_string(kRounds) + " arrived at any of " + std::to_string(eyes_.size()) + " pods");
  }

  void Report(size_t number, v1::AcceptReport::Verdict verdict, const std::string& seen) {
    Attempt attempt;
    attempt.set_verdict(verdict);
    attempt.set_did(std::to_string(kRounds) + " times " + kForgeries[number].what);
    if (verdict != kCouldNotMeasure)
      attempt.set_control(fmt::format(
          "before and after it, {} datagrams of {} arrived at {}, and as many of {} at {}", kRounds,
          scene_.me.pod(), scene_.mate.pod(), scene_.their_mate.pod(), scene_.stranger.pod()));
    attempt.set_seen(seen);
    found_.push_back({kForgeries[number].check, Between(scene_.me, scene_.stranger, std::move(attempt))});
  }

  const Scene& scene_;
  Book& book_;
  const std::vector<std::string> marks_;
  std::vector<Eyes> eyes_;
  std::vector<Book::Found> found_;
};

}  // namespace

void CheckIsolation(const Stage& stage, Book& book) {
  CheckVerbs(stage, book);
  CheckAnnounced(stage, book);
  const bool wanted =
      std::ranges::any_of(kForgeries, [&](const Forgery& forgery) { return book.Wants(forgery.check); });
  if (!wanted) return;
  bool tried = false;
  for (const auto& [me, stranger] : Opponents(stage)) {
    const Port* const mate = Mate(stage, *me);
    const Port* const their_mate = Mate(stage, *stranger);
    if (mate == nullptr || their_mate == nullptr) continue;
    book.Say(me->pod() + " against " + stranger->pod() + " on " + me->rail);
    Trial({*me, *mate, *stranger, *their_mate}, book).Run();
    tried = true;
  }
  if (!tried)
    book.AddToAll(
        "isolation",
        NotMeasured("there are no two tenants with two pods each on one rail, so nothing can be tried"));
}

}  // namespace rail::accept
