#include "lib/cni/testing/fake_ipam.h"

#include <algorithm>
#include <sstream>
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

Outcome<AddResult> FakeIpam::Give(const std::string& key, const std::string& prefixes) {
  AddResult result;
  std::istringstream each(prefixes);
  for (std::string text; std::getline(each, text, ',');) {
    RAIL_ASSIGN(const IpPrefix prefix, IpPrefix::Parse(text));
    result.ips.push_back({.address = prefix});
  }
  held_[key] = prefixes;
  return result;
}

Outcome<AddResult> FakeIpam::Add(const Request& request, Deadline) {
  RAIL_TRY(TakeFailure());
  const std::string key = KeyOf(request);
  if (held_.erase(key) != 0) return CniFail(999, "ipam fake: " + key + " has an address already");
  if (const auto asked = ParseArgs(request.args); asked.contains("IP")) return Give(key, asked.at("IP"));
  if (auto answer = std::exchange(answer_, std::nullopt)) {
    held_[key] = answer->ips.at(0).address.ToString();
    return std::move(*answer);
  }
  const auto next = std::exchange(next_, std::nullopt);
  for (const std::string& text : next ? std::vector{*next} : prefixes_) {
    if (!next && std::ranges::any_of(held_, [&](const auto& held) { return held.second == text; })) continue;
    return Give(key, text);
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
