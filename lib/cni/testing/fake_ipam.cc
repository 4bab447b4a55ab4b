#include "lib/cni/testing/fake_ipam.h"

#include <algorithm>
#include <utility>

namespace rail::cni::testing {
namespace {

std::string KeyOf(const Request& request) {
  return request.network + "/" + request.container_id + "/" + request.ifname;
}

}  // namespace

Outcome<void> FakeIpam::TakeFailure() {
  if (refusal_) return tl::make_unexpected(*refusal_);
  if (auto failure = std::exchange(failure_, std::nullopt)) return tl::make_unexpected(std::move(*failure));
  return {};
}

Outcome<AddResult> FakeIpam::Add(const Request& request, Deadline) {
  RAIL_TRY(TakeFailure());
  const std::string key = KeyOf(request);
  if (held_.erase(key) != 0) return CniFail(999, "ipam fake: " + key + " has an address already");
  const auto next = std::exchange(next_, std::nullopt);
  for (const std::string& text : next ? std::vector{*next} : prefixes_) {
    if (!next && std::ranges::any_of(held_, [&](const auto& held) { return held.second == text; })) continue;
    RAIL_ASSIGN(const IpPrefix prefix, IpPrefix::Parse(text));
    held_[key] = text;
    AddResult result;
    result.ips.push_back({.address = prefix});
    return result;
  }
  return CniFail(999, "ipam fake: no address is left");
}

Outcome<void> FakeIpam::Del(const Request& request, Deadline) {
  RAIL_TRY(TakeFailure());
  held_.erase(KeyOf(request));
  return {};
}

Outcome<void> FakeIpam::Check(const Request& request, Deadline) {
  RAIL_TRY(TakeFailure());
  if (held_.contains(KeyOf(request))) return {};
  return CniFail(999, "ipam fake: " + KeyOf(request) + " has no address");
}

Outcome<void> FakeIpam::Forward(const Request&, Deadline) {
  return TakeFailure();
}

}  // namespace rail::cni::testing
