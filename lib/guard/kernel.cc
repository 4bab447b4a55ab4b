#include "lib/guard/kernel.h"

#include <array>
#include <ctime>
#include <functional>
#include <utility>

#include "lib/guard/bpf.h"
#include "lib/guard/program.h"

namespace rail::guard {
namespace {

constexpr char kOurs[] = "rail_guard_";  // begins the name of every version

using Destination = std::array<uint8_t, 16>;

Status WriteFacts(const Fd& map, const Facts& facts) {
  const uint32_t first = 0;
  return Write(map, &first, &facts);
}

Result<Fd> NewProgram() {
  RAIL_ASSIGN(const Fd facts, CreateMap({.name = kFactsMap,
                                         .type = BPF_MAP_TYPE_ARRAY,
                                         .key_size = sizeof(uint32_t),
                                         .value_size = sizeof(Facts),
                                         .entries = 1}));
  RAIL_ASSIGN(const Fd refused, CreateMap({.name = kRefusedMap,
                                           .type = BPF_MAP_TYPE_PERCPU_ARRAY,
                                           .key_size = sizeof(uint32_t),
                                           .value_size = sizeof(uint64_t),
                                           .entries = kReasons}));
  RAIL_ASSIGN(const Fd seen, CreateMap({.name = kSeenMap,
                                        .type = BPF_MAP_TYPE_HASH,
                                        .key_size = sizeof(Destination),
                                        .value_size = sizeof(uint64_t),
                                        .entries = kMostDestinations,
                                        .flags = BPF_F_NO_PREALLOC}));
  return LoadXdp(kProgramName, Program({facts.get(), refused.get(), seen.get()}));
}

// The clock of the program's bpf_ktime_get_ns.
uint64_t MonotonicNs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// Calls `each` for every destination; it may delete that one.
Status ForEach(const Fd& seen, const std::function<Status(const Destination&)>& each) {
  Destination key{};
  Destination next{};
  Status more = NextKey(seen, nullptr, &next);
  while (more) {
    key = next;
    more = NextKey(seen, &key, &next);  // before it is deleted: a key that is gone begins the list anew
    RAIL_TRY(each(key));
  }
  return more.error().code == Code::kNotFound ? Status() : more;
}

}  // namespace

Result<std::unique_ptr<Guard>> Kernel::Open() {
  RAIL_ASSIGN(netlink::Xdp xdp, netlink::Xdp::Open());
  return std::unique_ptr<Guard>(new Kernel(std::move(xdp)));
}

bool Kernel::Seen::IsOurs() const {
  return state.generic && name.starts_with(kOurs);
}
bool Kernel::Seen::IsCurrent() const {
  return state.generic && name == kProgramName;
}

Result<Kernel::Seen> Kernel::Look(const std::string& representor) {
  Seen seen;
  RAIL_ASSIGN(seen.state, xdp_.Of(representor));
  if (seen.state.program == 0) return seen;
  RAIL_ASSIGN(seen.program, ProgramOf(seen.state.program));
  RAIL_ASSIGN(ProgramInfo info, InfoOf(seen.program));
  seen.name = std::move(info.name);
  seen.maps = std::move(info.maps);
  return seen;
}

Result<Fd> Kernel::MapOfLink(const std::string& representor, const char* name) {
  RAIL_ASSIGN(const Seen seen, Look(representor));
  if (seen.IsCurrent()) {
    for (const uint32_t id : seen.maps) {
      RAIL_ASSIGN(Fd map, MapOf(id));
      RAIL_ASSIGN(const std::string its, NameOf(map));
      if (its == name) return map;
    }
  }
  return Fail(Code::kNotFound, representor + " has no guard");
}

Status Kernel::Attach(const std::string& representor) {
  const std::string doing = "guard " + representor;
  RAIL_ASSIGN_AS(const Seen seen, Look(representor), doing);
  if (seen.state.program != 0 && !seen.IsOurs()) {
    return Fail(Code::kExists, doing + ": it has an XDP program of others (number " +
                                   std::to_string(seen.state.program) + ", " + seen.name +
                                   "): `ip link set " + representor + " xdp off` takes it away");
  }
  // A program of its own, and not its old maps made empty: nobody could empty them at once.
  RAIL_ASSIGN_AS(const Fd program, NewProgram(), doing);
  RAIL_TRY_AS(xdp_.Set(seen.state, program.get(), seen.program.get()), doing);
  return {};
}

Status Kernel::Allow(const std::string& representor, const Allowed& allowed) {
  const std::string doing = "tell the guard of " + representor + " what its pod may send";
  RAIL_ASSIGN_AS(const Facts facts, FactsOf(allowed), doing);
  RAIL_ASSIGN_AS(const Fd map, MapOfLink(representor, kFactsMap), doing);
  RAIL_TRY_AS(WriteFacts(map, facts), doing);
  return {};
}

Result<bool> Kernel::Holds(const std::string& representor, const Allowed& allowed) {
  const std::string doing = "look at the guard of " + representor;
  RAIL_ASSIGN_AS(const Facts wanted, FactsOf(allowed), doing);
  RAIL_ASSIGN_AS(const Seen seen, Look(representor), doing);
  if (!seen.IsCurrent()) return false;
  RAIL_ASSIGN_AS(const Fd map, MapOfLink(representor, kFactsMap), doing);
  Facts facts;
  const uint32_t first = 0;
  RAIL_TRY_AS(Read(map, &first, &facts), doing);
  return facts == wanted;
}

Result<Refused> Kernel::Count(const std::string& representor) {
  const std::string doing = "read the counters of the guard of " + representor;
  RAIL_ASSIGN_AS(const Seen seen, Look(representor), doing);
  Refused refused;
  if (!seen.IsCurrent()) return refused;
  RAIL_ASSIGN_AS(const Fd map, MapOfLink(representor, kRefusedMap), doing);
  RAIL_ASSIGN_AS(const size_t cpus, PossibleCpus(), doing);
  std::vector<uint64_t> of_cpus(cpus);
  for (uint32_t reason = 0; reason < kReasons; ++reason) {
    RAIL_TRY_AS(Read(map, &reason, of_cpus.data()), doing);
    for (const uint64_t count : of_cpus) refused.frames.at(reason) += count;
  }
  return refused;
}

Result<size_t> Kernel::Forget(const std::string& representor, Clock::duration idle) {
  const std::string doing = "forget who the pod of " + representor + " has spoken to";
  RAIL_ASSIGN_AS(const Fd seen, MapOfLink(representor, kSeenMap), doing);
  const auto idle_ns = static_cast<uint64_t>(std::chrono::nanoseconds(idle).count());
  const uint64_t now = MonotonicNs();
  size_t left = 0;
  const auto each = [&](const Destination& destination) -> Status {
    uint64_t last = 0;
    const Status read = Read(seen, &destination, &last);
    if (!read) return read.error().code == Code::kNotFound ? Status() : read;
    if (last + idle_ns > now) {
      ++left;
      return {};
    }
    return Erase(seen, &destination);
  };
  RAIL_TRY_AS(ForEach(seen, each), doing);
  return left;
}

Status Kernel::Detach(const std::string& representor) {
  const std::string doing = "take the guard from " + representor;
  const auto seen = Look(representor);
  if (!seen) return seen.error().code == Code::kNotFound ? Status() : FailWrapped(seen.error(), doing);
  if (!seen->IsOurs()) return {};
  const Status set = xdp_.Set(seen->state, -1, seen->program.get());
  // Somebody has changed it since, or the link is gone.
  if (!set && (set.error().code == Code::kNotFound || set.error().code == Code::kExists)) return {};
  RAIL_TRY_AS(set, doing);
  return {};
}

}  // namespace rail::guard
