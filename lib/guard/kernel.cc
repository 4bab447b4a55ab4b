#include "lib/guard/kernel.h"

#include <array>
#include <utility>

#include "lib/guard/bpf.h"
#include "lib/guard/program.h"

namespace rail::guard {
namespace {

constexpr char kOurs[] = "rail_guard_";  // begins the name of every version
constexpr uint32_t kFirst = 0;           // the key of a map of one value
constexpr Facts kOpen{.open = 1};

// The program of a link, as it is now.
struct Seen {
  netlink::XdpState state;
  Fd program;  // none: the link has no program
  ProgramInfo info;
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

Result<Fd> NewFacts(const Facts& told) {
  RAIL_ASSIGN(Fd facts, CreateMap({.name = kFactsMap,
                                   .type = BPF_MAP_TYPE_ARRAY,
                                   .key_size = sizeof kFirst,
                                   .value_size = sizeof(Facts),
                                   .entries = 1}));
  RAIL_TRY(Write(facts, &kFirst, &told));
  return facts;
}

Result<Fd> NewProgram(const Fd& facts) {
  RAIL_ASSIGN(const Fd refused, CreateMap({.name = kRefusedMap,
                                           .type = BPF_MAP_TYPE_ARRAY,
                                           .key_size = sizeof kFirst,
                                           .value_size = sizeof(Refused),
                                           .entries = 1}));
  RAIL_ASSIGN(const Fd seen, CreateMap({.name = kSeenMap,
                                        .type = BPF_MAP_TYPE_HASH,
                                        .key_size = sizeof(Destination),
                                        .value_size = sizeof(uint64_t),
                                        .entries = kMostDestinations,
                                        .flags = BPF_F_NO_PREALLOC}));
  return LoadXdp(kProgramName, Program({facts.get(), refused.get(), seen.get()}));
}

// Those that a pod has spoken to, and when: at most as many as the map has room for.
struct Spoken {
  std::vector<Destination> to{kMostDestinations};
  std::vector<uint64_t> last_ns = std::vector<uint64_t>(kMostDestinations);
};

Status ForgetAll(const Seen& seen) {
  RAIL_ASSIGN(const Fd refused, MapOfGuard(seen, kRefusedMap));
  RAIL_ASSIGN(const Fd map, MapOfGuard(seen, kSeenMap));
  Spoken spoken;
  RAIL_TRY(ReadMany(map, Batch::kTake, spoken.to.data(), spoken.last_ns.data(), kMostDestinations));
  const Refused none;
  return Write(refused, &kFirst, &none);
}

}  // namespace

Result<std::unique_ptr<Guard>> Kernel::Make() {
  RAIL_ASSIGN(netlink::Xdp xdp, netlink::Xdp::Open());
  return std::unique_ptr<Guard>(new Kernel(std::move(xdp)));
}

// What the maps hold changes without a word to the network. A program that is attached or taken away makes the kernel wait for all CPUs,
// for some 15 ms, while nobody can change a link.
Result<Fd> Kernel::Tell(const std::string& representor, const Facts& facts, bool anew) {
  RAIL_ASSIGN(const Seen seen, Look(xdp_, representor));
  if (seen.IsCurrent()) {
    RAIL_ASSIGN(Fd map, MapOfGuard(seen, kFactsMap));
    RAIL_TRY(Write(map, &kFirst, &facts));
    if (anew) RAIL_TRY(ForgetAll(seen));
    return map;
  }
  if (seen.state.program != 0 && !seen.IsOurs()) {
    return Fail(Code::kExists, "it has an XDP program of others (number " +
                                   std::to_string(seen.state.program) + ", " + seen.info.name +
                                   "): `ip link set " + representor +
                                   (seen.state.generic ? " xdpgeneric" : " xdp") + " off` takes it away");
  }
  RAIL_ASSIGN(Fd map, NewFacts(facts));
  RAIL_ASSIGN(const Fd program, NewProgram(map));
  RAIL_TRY(xdp_.Set(seen.state, program.get(), seen.program.get()));
  return map;
}

Status Kernel::Close(const std::string& representor) {
  closed_facts_.Reset();
  RAIL_ASSIGN_AS(closed_facts_, Tell(representor, {}, true), "guard " + representor);
  closed_ = representor;
  return {};
}

Status Kernel::Allow(const std::string& representor, const Allowed& allowed) {
  const std::string doing = "tell the guard of " + representor + " what its pod may send";
  RAIL_ASSIGN_AS(const Facts facts, FactsOf(allowed), doing);
  const Fd closed = std::exchange(closed_facts_, Fd());
  if (closed && closed_ == representor)
    RAIL_TRY_AS(Write(closed, &kFirst, &facts), doing);
  else
    RAIL_TRY_AS(Tell(representor, facts, false), doing);
  return {};
}

Result<bool> Kernel::Holds(const std::string& representor, const Allowed& allowed) {
  const std::string doing = "look at the guard of " + representor;
  RAIL_ASSIGN_AS(const Facts wanted, FactsOf(allowed), doing);
  RAIL_ASSIGN_AS(const Seen seen, Look(xdp_, representor), doing);
  if (!seen.IsCurrent()) return false;
  RAIL_ASSIGN_AS(const Fd map, MapOfGuard(seen, kFactsMap), doing);
  Facts facts;
  RAIL_TRY_AS(Read(map, &kFirst, &facts), doing);
  return facts == wanted;
}

Result<Refused> Kernel::Count(const std::string& representor) {
  const std::string doing = "read the counters of the guard of " + representor;
  RAIL_ASSIGN_AS(const Seen seen, Look(xdp_, representor), doing);
  Refused refused;
  if (!seen.IsCurrent()) return refused;
  RAIL_ASSIGN_AS(const Fd map, MapOfGuard(seen, kRefusedMap), doing);
  RAIL_TRY_AS(Read(map, &kFirst, &refused), doing);
  return refused;
}

Result<size_t> Kernel::Forget(const std::string& representor, Clock::duration idle) {
  const std::string doing = "forget who the pod of " + representor + " has spoken to";
  RAIL_ASSIGN_AS(const Seen seen, Look(xdp_, representor), doing);
  RAIL_ASSIGN_AS(const Fd map, MapOfGuard(seen, kSeenMap), doing);
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
  const auto seen = Look(xdp_, representor);
  if (!seen) return seen.error().code == Code::kNotFound ? Status() : FailWrapped(seen.error(), doing);
  if (!seen->IsOurs()) return {};
  if (!seen->IsCurrent()) return xdp_.Set(seen->state, -1, seen->program.get());
  RAIL_ASSIGN_AS(const Fd map, MapOfGuard(*seen, kFactsMap), doing);
  RAIL_TRY_AS(Write(map, &kFirst, &kOpen), doing);
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
