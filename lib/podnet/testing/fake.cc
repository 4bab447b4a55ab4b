#include "lib/podnet/testing/fake.h"

#include <algorithm>

#include "lib/netlink/text.h"
#include "lib/podnet/commands.h"
#include "lib/podnet/plan.h"

namespace rail::podnet::testing {

void Fake::AddLink(const netns::Identity& pod, const std::string& name) {
  links_.insert({pod.inode, name});
}

void Fake::RemoveLink(const netns::Identity& pod, const std::string& name) {
  links_.erase({pod.inode, name});
  configured_.erase({pod.inode, name});
}

void Fake::EndNamespace(const netns::Identity& pod) {
  const auto inside = [&](const Key& key) { return key.first == pod.inode; };
  std::erase_if(links_, inside);
  std::erase_if(configured_, [&](const auto& entry) { return inside(entry.first); });
  std::erase_if(ruled_, inside);
}

void Fake::FailOn(const std::string& function, Error error) {
  failures_[function] = std::move(error);
}

Status Fake::Begin(const std::string& function) {
  if (const auto failure = failures_.extract(function)) return tl::make_unexpected(failure.mapped());
  return {};
}

Result<bool> Fake::HasLink(const netns::Netns& pod, const std::string& name) {
  RAIL_TRY(Begin("HasLink"));
  return links_.contains({pod.identity().inode, name});
}

Status Fake::Configure(const netns::Netns& pod, const Plan& plan) {
  RAIL_TRY(Begin("Configure"));
  RAIL_TRY(Validate(plan));
  const Key key{pod.identity().inode, plan.ifname};
  if (!links_.contains(key))
    return Fail(Code::kNotFound, "configure " + plan.ifname + ": it is not in the pod");
  configured_[key] = plan;
  ruled_.insert(key);
  return {};
}

Status Fake::Deconfigure(const netns::Netns& pod, const Plan& plan) {
  RAIL_TRY(Begin("Deconfigure"));
  RAIL_TRY(Validate(plan));
  ruled_.erase({pod.identity().inode, plan.ifname});
  return {};
}

Result<std::vector<Deviation>> Fake::Verify(const netns::Netns& pod, const Plan& plan) {
  RAIL_TRY(Begin("Verify"));
  RAIL_TRY(Validate(plan));
  const Key key{pod.identity().inode, plan.ifname};
  if (!links_.contains(key))
    return std::vector<Deviation>{{plan.ifname + ": there is no such interface in the pod", ""}};
  std::vector<Deviation> found;
  const auto it = configured_.find(key);
  const std::string set = "ip link set " + plan.ifname;
  if (it == configured_.end() || (plan.mtu != 0 && it->second.mtu != plan.mtu)) {
    found.push_back({plan.ifname + ": the MTU is not " + std::to_string(plan.mtu),
                     set + " mtu " + std::to_string(plan.mtu),
                     /*cuts=*/false});
  }
  if (it != configured_.end() && !plan.mac.is_zero() && it->second.mac != plan.mac) {
    found.push_back({plan.ifname + ": the MAC address is " + it->second.mac.ToString() + " instead of " +
                         plan.mac.ToString(),
                     set + " address " + plan.mac.ToString()});
  }
  for (const netlink::Address& address : AddressesOf(plan, 0)) {
    if (it != configured_.end() &&
        std::ranges::find(it->second.addresses, address.prefix.address) != it->second.addresses.end())
      continue;
    found.push_back({plan.ifname + ": address " + address.prefix.ToString() + " is missing",
                     CommandFor(address, plan.ifname)});
  }
  if (!ruled_.contains(key)) {
    for (const netlink::PolicyRule& rule : RulesOf(plan))
      found.push_back(
          {plan.ifname + ": policy rule " + netlink::ToText(rule) + " is missing", CommandFor(rule)});
  }
  return found;
}

}  // namespace rail::podnet::testing
