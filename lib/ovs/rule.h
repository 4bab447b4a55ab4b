// OpenFlow rules in the syntax of ovs-ofctl, and the cookies that mark ours.
//
// Use:      Rule rule{.table = 2, .priority = 100, .cookie = Cookie(CookieKind::kTenant, id),
//                     .match = "ip,nw_dst=10.0.3.7", .actions = "set_field:0x7->xxreg1,resubmit(,3)"};
// Threads:  values
// Source:   ovs-fields(7), ovs-actions(7); design: eight tables, lib/engine/attach/TABLES.md
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace rail::ovs {

// One rule of a bridge. `match` and `actions` are in the syntax of ovs-ofctl. OpenFlow::Dump returns them in canonical
// form, and OpenFlow::Canonical converts a wanted rule to that form, so that the two can be compared as strings.
struct Rule {
  uint8_t table = 0;
  uint16_t priority = 0;
  uint64_t cookie = 0;
  std::string match;    // without table and priority; "" matches all
  std::string actions;  // "drop", or a list of actions
  auto operator<=>(const Rule&) const = default;
};

struct RuleStats {
  Rule rule;
  uint64_t packets = 0;
  uint64_t bytes = 0;
};

// A cookie is 0x5241494C ("RAIL") << 32 | kind << 24 | id. A mask selects all rules of ours, to list or delete them.
enum class CookieKind : uint8_t {
  kPipeline = 1,    // control traffic and table misses; id 0
  kAttachment = 2,  // tables 0, 4, 5, 6 of an attachment; id: the attachment's
  kTenant = 3,      // tables 1 and 2 of an attachment; id: the attachment's
  kCompare = 4,     // table 3; id: the low 24 bits of the tenant's
  kLeaf = 6,        // table 4 towards the uplink; id 0
  kRemote =
      0x80,  // table 7, of a remote; id: its slice, 0..kRemoteSlices-1. No other kind has this bit: see CookieMatch
};

// There may be very many remotes. A hash of its address puts each remote into a slice, so that the rules of a part of them can be
// listed or counted.
inline constexpr uint64_t kRemoteSlices = 4096;

inline constexpr uint64_t kCookieOwner = 0x5241494CULL << 32;
inline constexpr uint64_t kCookieIdMask = 0xffffff;

inline constexpr uint64_t Cookie(CookieKind kind, uint64_t id) {
  return kCookieOwner | static_cast<uint64_t>(kind) << 24 | (id & kCookieIdMask);
}

// Selects rules whose cookie & mask == value & mask.
struct CookieMatch {
  uint64_t value = 0;
  uint64_t mask = 0;

  static constexpr CookieMatch Ours() { return {kCookieOwner, 0xffffffffULL << 32}; }
  // All of ours except the rules of remotes.
  static constexpr CookieMatch OursButRemotes() { return {kCookieOwner, 0xffffffffULL << 32 | 1ULL << 31}; }
  // The slices of remotes whose number modulo `of` (a power of 2 up to kRemoteSlices) is `part`.
  static constexpr CookieMatch RemotesPart(uint64_t part, uint64_t of) {
    return {Cookie(CookieKind::kRemote, part), ~kCookieIdMask | (of - 1)};
  }
  static constexpr CookieMatch Kind(CookieKind kind) { return {Cookie(kind, 0), ~kCookieIdMask}; }
  // Others' rules, in 32 parts that do not overlap: those whose cookie has the first `bit` bits of ours and not the next one.
  // Together they are all rules that Ours does not select.
  static constexpr int kForeignParts = 32;
  static constexpr CookieMatch ForeignPart(int bit) {
    const uint64_t differs = 1ULL << (63 - bit);
    return {kCookieOwner ^ differs, ~(differs - 1)};
  }
  static constexpr CookieMatch Everything() { return {0, 0}; }
  static constexpr CookieMatch Whole(uint64_t cookie) { return {cookie, ~0ULL}; }
  static constexpr CookieMatch Exact(CookieKind kind, uint64_t id) { return {Cookie(kind, id), ~0ULL}; }
  constexpr bool MaySelectRemotes() const { return (mask & 1ULL << 31) == 0 || (value & 1ULL << 31) != 0; }
  constexpr bool Selects(uint64_t cookie) const { return (cookie & mask) == (value & mask); }
  constexpr auto operator<=>(const CookieMatch&) const = default;
};

}  // namespace rail::ovs
