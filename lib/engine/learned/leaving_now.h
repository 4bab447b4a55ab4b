// Addresses that their node has moved into another tenant a moment ago, each until its time is over.
//
// Use:      LeavingNow leaving;  leaving.Begin(address, {from, to, node, until});  leaving.Find(address);
//           while (const auto address = leaving.TakeDue(now)) leaving.End(*address);
// Threads:  one
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "lib/base/clock.h"
#include "lib/engine/attach/pipeline.h"

namespace rail::engine {

// Most of the time there are none, so an entry of a RemoteSet has no room for it: each of 100,000 would pay.
using LeavingAddresses = std::map<IpAddress, pipeline::TenantIds>;

class LeavingNow {
 public:
  struct Leaving {
    tenancy::TenantId from;
    tenancy::TenantId to;
    uint32_t node = 0;  // its AS
    Deadline until;
  };

  // `until` is never earlier than in the call before.
  void Begin(const IpAddress& address, const Leaving& leaving) {
    leaving_[address] = leaving;
    until_.emplace_back(leaving.until, address);
  }
  // Whether it was leaving.
  bool End(const IpAddress& address) { return leaving_.erase(address) > 0; }
  // nullptr: it is not leaving.
  const Leaving* Find(const IpAddress& address) const {
    const auto found = leaving_.find(address);
    return found == leaving_.end() ? nullptr : &found->second;
  }
  // An address whose time is over, each once. It stays until End.
  std::optional<IpAddress> TakeDue(Deadline now) {
    while (!until_.empty() && now >= until_.front().first) {
      const auto [until, address] = until_.front();
      until_.pop_front();
      const Leaving* leaving = Find(address);
      if (leaving != nullptr && leaving->until == until) return address;
    }
    return std::nullopt;
  }
  // When to call TakeDue again.
  std::optional<Deadline> next() const {
    return until_.empty() ? std::nullopt : std::optional(until_.front().first);
  }
  LeavingAddresses Snapshot() const {
    LeavingAddresses all;
    for (const auto& [address, one] : leaving_) all.emplace(address, pipeline::TenantIds(one.to, one.from));
    return all;
  }

 private:
  std::map<IpAddress, Leaving> leaving_;
  // In this order. What is not in leaving_ any more counts for nothing.
  std::deque<std::pair<Deadline, IpAddress>> until_;
};

}  // namespace rail::engine
