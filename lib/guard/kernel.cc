#include "lib/guard/kernel.h"

#include <algorithm>
#include <array>
#include <utility>

#include "lib/guard/bpf.h"
#include "lib/guard/program.h"

namespace rail::guard {
namespace {

constexpr char kOurs[] = "rail_guard_";  // begins the name of every version
constexpr Facts kOpen{.open = 1};

// The program of a link, as it is now.
struct Seen {
  netlink::XdpState state;
  Fd program;  // none: the link has no program
  ProgramInfo info;
  uint32_t link() const { return static_cast<uint32_t>(state.link); }
  bool IsOurs() const { return state.generic && info.name.starts_with(kOurs); }  // of any version
  bool IsCurrent() const { return state.generic && info.name == kProgramName; }  // of this one
};

Result<Seen> LookAt(const netlink::XdpState& state) {
  Seen seen{.state = state, .program = {}, .info = {}};
  if (state.program == 0) return seen;
  RAIL_ASSIGN(seen.program, ProgramOf(state.program));
  RAIL_ASSIGN(seen.info, InfoOf(seen.program));
  return seen;
}

Result<Seen> Look(netlink::Xdp& xdp, const std::string& representor) {
  RAIL_ASSIGN(const netlink::XdpState state, xdp.Of(representor));
  return LookAt(state);
}

// Of a guard of this version.
Result<Fd> MapOfGuard(const Seen& seen, const char* name) {
  if (seen.IsCurrent()) {
    for (const uint32_t id : seen.info.maps) {
      RAIL_ASSIGN(Fd map, MapOf(id));
      RAIL_ASSIGN(const std::string its, NameOf(map));
      if (its == name) return map;
    }
  }
  return Fail(Code::kNotFound, "the link has no guard");
}

// Those that a pod has spoken to, and when: at most as many as the map has room for.
struct Spoken {
  std::vector<Destination> to{kMostDestinations};
  std::vector<uint64_t> last_ns = std::vector<uint64_t>(kMostDestinations);
};

// Of one link. Errors: kNotFound it has none yet.
Result<Fd> DestinationsOf(const Fd& seen, uint32_t link) {
  uint32_t id = 0;
  RAIL_TRY(Read(seen, &link, &id));
  return MapOf(id);
}

// As one that has seen nothing.
Status Clear(const Seen& guard) {
  const uint32_t link = guard.link();
  RAIL_ASSIGN(const Fd refused, MapOfGuard(guard, kRefusedMap));
  const Refused none;
  RAIL_TRY(Write(refused, &link, &none));
  RAIL_ASSIGN(const Fd seen, MapOfGuard(guard, kSeenMap));
  auto destinations = DestinationsOf(seen, link);
  if (!destinations) {
    RAIL_ASSIGN(const Fd fresh, NewDestinations());
    const int fd = fresh.get();
    return Write(seen, &link, &fd);
  }
  Spoken spoken;
  RAIL_TRY(ReadMany(*destinations, Batch::kTake, spoken.to.data(), spoken.last_ns.data(), kMostDestinations));
  return {};
}

// Forgets links that are gone. One that another process gives the program right now has it before the maps know the link.
Status Sweep(netlink::Xdp& xdp, const Seen& guard) {
  RAIL_ASSIGN(const Fd facts, MapOfGuard(guard, kFactsMap));
  RAIL_ASSIGN(const Fd refused, MapOfGuard(guard, kRefusedMap));
  RAIL_ASSIGN(const Fd seen, MapOfGuard(guard, kSeenMap));
  std::vector<uint32_t> known(kMostLinks);
  std::vector<Refused> unused(kMostLinks);
  RAIL_ASSIGN(const size_t count, ReadMany(refused, Batch::kRead, known.data(), unused.data(), kMostLinks));
  known.resize(count);
  RAIL_ASSIGN(const auto links, xdp.All());
  for (const uint32_t link : known) {
    const auto is_it = [&](const auto& one) { return static_cast<uint32_t>(one.second.link) == link; };
    if (std::ranges::any_of(links, is_it)) continue;
    for (const Fd* map : {&facts, &seen, &refused}) {
      const Status gone = Erase(*map, &link);
      if (!gone && gone.error().code != Code::kNotFound) return gone;
    }
  }
  return {};
}

// The guard of the link, which gets it if it has none. One program serves all links of a namespace: the kernel waits until no CPU runs it,
// with RTNL held, when the first link gets it and when the last one loses it, for some 15 ms, and not in between.
Result<Seen> Guarded(netlink::Xdp& xdp, const std::string& representor) {
  RAIL_ASSIGN(Seen guard, Look(xdp, representor));
  if (guard.IsCurrent()) return guard;
  if (guard.state.program != 0 && !guard.IsOurs()) {
    return Fail(Code::kExists, "it has an XDP program of others (number " +
                                   std::to_string(guard.state.program) + ", " + guard.info.name +
                                   "): `ip link set " + representor +
                                   (guard.state.generic ? " xdpgeneric" : " xdp") + " off` takes it away");
  }
  Fd program;
  RAIL_ASSIGN(const auto links, xdp.All());
  for (const auto& [name, state] : links) {
    auto other = LookAt(state);
    if (!program && other && other->IsCurrent()) program = std::move(other->program);
  }
  if (!program) {
    RAIL_ASSIGN(const Maps maps, NewMaps());
    RAIL_ASSIGN(program, LoadXdp(kProgramName, Program(maps)));
  }
  RAIL_TRY(xdp.Set(guard.state, program.get(), guard.program.get()));
  guard.state.generic = true;
  guard.program = std::move(program);
  RAIL_ASSIGN(guard.info, InfoOf(guard.program));
  RAIL_TRY(Clear(guard));
  RAIL_TRY(Sweep(xdp, guard));
  return guard;
}

}  // namespace

Result<std::unique_ptr<Guard>> Kernel::Make() {
  RAIL_ASSIGN(netlink::Xdp xdp, netlink::Xdp::Open());
  return std::unique_ptr<Guard>(new Kernel(std::move(xdp)));
}

Status Kernel::Close(const std::string& representor) {
  const std::string doing = "guard " + representor;
  closed_facts_.Reset();
  RAIL_ASSIGN_AS(const Seen guard, Guarded(xdp_, representor), doing);
  RAIL_ASSIGN_AS(Fd map, MapOfGuard(guard, kFactsMap), doing);
  const Facts none;
  closed_link_ = guard.link();
  RAIL_TRY_AS(Write(map, &closed_link_, &none), doing);
  RAIL_TRY_AS(Clear(guard), doing);
  closed_facts_ = std::move(map);
  closed_ = representor;
  return {};
}

Status Kernel::Allow(const std::string& representor, const Allowed& allowed) {
  const std::string doing = "tell the guard of " + representor + " what its pod may send";
  RAIL_ASSIGN_AS(const Facts facts, FactsOf(allowed), doing);
  Fd map = std::exchange(closed_facts_, Fd());
  uint32_t link = closed_link_;
  if (!map || closed_ != representor) {
    RAIL_ASSIGN_AS(const Seen guard, Guarded(xdp_, representor), doing);
    RAIL_ASSIGN_AS(map, MapOfGuard(guard, kFactsMap), doing);
    link = guard.link();
  }
  RAIL_TRY_AS(Write(map, &link, &facts), doing);
  return {};
}

Result<bool> Kernel::Holds(const std::string& representor, const Allowed& allowed) {
  const std::string doing = "look at the guard of " + representor;
  RAIL_ASSIGN_AS(const Facts wanted, FactsOf(allowed), doing);
  RAIL_ASSIGN_AS(const Seen guard, Look(xdp_, representor), doing);
  if (!guard.IsCurrent()) return false;
  RAIL_ASSIGN_AS(const Fd map, MapOfGuard(guard, kFactsMap), doing);
  Facts facts;
  const uint32_t link = guard.link();
  const Status read = Read(map, &link, &facts);
  if (!read && read.error().code != Code::kNotFound) return FailWrapped(read.error(), doing);
  return read && facts == wanted;
}

Result<Refused> Kernel::Count(const std::string& representor) {
  const std::string doing = "read the counters of the guard of " + representor;
  RAIL_ASSIGN_AS(const Seen guard, Look(xdp_, representor), doing);
  Refused refused;
  if (!guard.IsCurrent()) return refused;
  RAIL_ASSIGN_AS(const Fd map, MapOfGuard(guard, kRefusedMap), doing);
  const uint32_t link = guard.link();
  const Status read = Read(map, &link, &refused);
  if (!read && read.error().code != Code::kNotFound) return FailWrapped(read.error(), doing);
  return refused;
}

Result<size_t> Kernel::Forget(const std::string& representor, Clock::duration idle) {
  const std::string doing = "forget who the pod of " + representor + " has spoken to";
  RAIL_ASSIGN_AS(const Seen guard, Look(xdp_, representor), doing);
  RAIL_ASSIGN_AS(const Fd seen, MapOfGuard(guard, kSeenMap), doing);
  RAIL_ASSIGN_AS(const Fd map, DestinationsOf(seen, guard.link()), doing);
  Spoken spoken;
  RAIL_ASSIGN_AS(const size_t count,
                 ReadMany(map, Batch::kRead, spoken.to.data(), spoken.last_ns.data(), kMostDestinations),
                 doing);
  // The program's clock, bpf_ktime_get_ns, is this one.
  const auto since = std::chrono::nanoseconds(Clock::now().time_since_epoch() - idle).count();
  size_t left = count;
  for (size_t i = 0; i < count; ++i) {
    if (static_cast<int64_t>(spoken.last_ns[i]) > since) continue;
    const Status gone = Erase(map, &spoken.to[i]);
    if (!gone && gone.error().code != Code::kNotFound) return FailWrapped(gone.error(), doing);
    --left;
  }
  return left;
}

Status Kernel::Open(const std::string& representor) {
  const std::string doing = "open the guard of " + representor;
  const auto guard = Look(xdp_, representor);
  if (!guard) return guard.error().code == Code::kNotFound ? Status() : FailWrapped(guard.error(), doing);
  if (!guard->IsOurs()) return {};
  if (!guard->IsCurrent()) return xdp_.Set(guard->state, -1, guard->program.get());
  RAIL_ASSIGN_AS(const Fd map, MapOfGuard(*guard, kFactsMap), doing);
  const uint32_t link = guard->link();
  RAIL_TRY_AS(Write(map, &link, &kOpen), doing);
  return {};
}

Result<std::vector<std::string>> Kernel::RemoveAll() {
  const std::string doing = "take the guards away";
  std::vector<std::string> removed;
  RAIL_ASSIGN_AS(const auto states, xdp_.All(), doing);
  for (const auto& [link, state] : states) {
    const auto seen = LookAt(state);
    if (!seen && seen.error().code == Code::kNotFound) continue;
    if (!seen) return FailWrapped(seen.error(), doing);
    if (!seen->IsOurs()) continue;
    const Status set = xdp_.Set(state, -1, seen->program.get());
    // Somebody has changed it since, or the link is gone.
    if (!set && (set.error().code == Code::kNotFound || set.error().code == Code::kExists)) continue;
    RAIL_TRY_AS(set, doing);
    removed.push_back(link);
  }
  return removed;
}

}  // namespace rail::guard
