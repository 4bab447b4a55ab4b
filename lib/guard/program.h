// The guard's program for the kernel (BPF, of the type XDP), and what its maps hold.
//
// Use:      RAIL_ASSIGN(const Maps maps, NewMaps());  const std::vector<bpf_insn> code = Program(maps);
// Threads:  values
// Source:   kernel Documentation/bpf/instruction-set.rst, include/uapi/linux/bpf.h; README.md of this folder
#pragma once

#include <linux/bpf.h>

#include <array>
#include <cstdint>
#include <vector>

#include "lib/base/fd.h"
#include "lib/guard/guard.h"

namespace rail::guard {

// Changes with the program and with the layout of its maps: a guard of another version is replaced.
inline constexpr char kProgramName[] = "rail_guard_1";  // at most 15 bytes, as the kernel asks
inline constexpr char kFactsMap[] = "rail_facts";
inline constexpr char kRefusedMap[] = "rail_refused";
inline constexpr uint32_t kMostLinks = 4096;  // of one namespace
inline constexpr char kSeenMap[] = "rail_seen";

// What one link may send. All in network order; an address that is zero is none.
struct Facts {
  uint32_t open = 0;  // 1: everything passes, whatever else is here
  std::array<uint8_t, 6> mac{};
  std::array<uint8_t, 6> gateway{};
  std::array<std::array<uint8_t, 4>, kMostAddresses> v4{};
  std::array<std::array<uint8_t, 16>, kMostAddresses> v6{};
  bool operator==(const Facts&) const = default;
};
static_assert(sizeof(Facts) == 16 + kMostAddresses * 20);

// Errors: kInvalid more than kMostAddresses of a family.
Result<Facts> FactsOf(const Allowed& allowed);

using Destination = std::array<uint8_t, 16>;  // IPv4 as ::ffff:a.b.c.d

// The maps of a program. All ask by the link's index (uint32_t).
struct Maps {
  Fd facts;    // hash: Facts
  Fd refused;  // hash: Refused
  Fd seen;     // hash of maps: Destination -> uint64_t, the last frame in ns of CLOCK_MONOTONIC
};
// Errors of both: of CreateMap.
Result<Maps> NewMaps();
Result<Fd> NewDestinations();  // for Maps::seen, of one link

std::vector<bpf_insn> Program(const Maps& maps);

}  // namespace rail::guard
