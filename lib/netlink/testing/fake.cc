#include "lib/netlink/testing/fake.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "lib/netlink/text.h"

namespace rail::netlink::testing {
namespace {

constexpr size_t kLongestName = 15;
constexpr uint32_t kIpv6DefaultMetric = 1024;

std::string Number(int link) {
  return "link " + std::to_string(link);
}

bool Covers(const IpPrefix& prefix, const IpAddress& address) {
  if (prefix.address.is_v6() != address.is_v6()) return false;
  for (size_t bit = 0; bit < prefix.length; ++bit) {
    const int mask = 0x80 >> (bit % 8);
    if (((prefix.address.bytes()[bit / 8] ^ address.bytes()[bit / 8]) & mask) != 0) return false;
  }
  return true;
}

// As the kernel lists it: IPv6 has a default metric and no scope.
Route Listed(Route route) {
  if (!route.destination.address.is_v6()) return route;
  if (route.priority == kIpv6DefaultMetric) route.priority = 0;
  route.link_scope = !route.gateway;
  return route;
}

bool SamePlace(const Route& one, const Route& other) {
  return one.destination == other.destination && one.table == other.table && one.priority == other.priority;
}

bool IsCalled(const Link& link, std::string_view name) {
  return link.name == name || std::ranges::find(link.altnames, name) != link.altnames.end();
}

template <class Value>
Status Remove(std::vector<Value>& values, const Value& value, const std::string& doing) {
  if (std::erase(values, value) > 0) return {};
  return FailErrno(ENOENT, doing);
}

}  // namespace

int Fake::AddLink(Link link) {
  link.index = next_index_++;
  if (link.mtu == 0) link.mtu = 1500;
  if (link.mac.is_zero()) {
    // One that no other fake gives, as two ends in two namespaces are told apart by it.
    static uint8_t last = 0;
    link.mac.bytes = {0x02, 0xfa, 0xce, 0, 0, ++last};
  }
  const int index = link.index;
  links_.emplace(index, std::move(link));
  return index;
}

void Fake::AddVeth(const std::string& one, const std::string& other) {
  Link link;
  link.kind = "veth";
  link.name = one;
  const int first = AddLink(link);
  link.name = other;
  const int second = AddLink(link);
  ends_[first] = End{this, second};
  ends_[second] = End{this, first};
}

void Fake::AddAltname(const std::string& name, const std::string& altname) {
  for (auto& [index, link] : links_) {
    if (link.name == name) link.altnames.push_back(altname);
  }
}

void Fake::RemoveLink(const std::string& name) {
  const auto link =
      std::ranges::find_if(links_, [&](const auto& entry) { return entry.second.name == name; });
  if (link == links_.end()) return;
  const int index = link->first;
  for (auto& [other, part] : links_) {
    if (part.master == index) part.master = 0;
  }
  const End end = ends_.contains(index) ? ends_[index] : End{};
  Flush(index);
  links_.erase(index);
  ends_.erase(index);
  if (end.where == nullptr) return;
  end.where->Flush(end.index);
  end.where->links_.erase(end.index);
  end.where->ends_.erase(end.index);
}

void Fake::Connect(int netns_fd, Fake& other) {
  struct stat st{};
  if (::fstat(netns_fd, &st) == 0) connected_[{st.st_dev, st.st_ino}] = &other;
}

Fake* Fake::Destination(int netns_fd) const {
  struct stat st{};
  if (::fstat(netns_fd, &st) != 0) return nullptr;
  const auto it = connected_.find({st.st_dev, st.st_ino});
  return it == connected_.end() ? nullptr : it->second;
}

void Fake::FailOn(const std::string& function, Error error) {
  failures_[function] = std::move(error);
}

Status Fake::Begin(const std::string& function, int link) {
  if (const auto failure = failures_.extract(function)) return tl::make_unexpected(failure.mapped());
  if (link != 0 && !links_.contains(link)) return FailErrno(ENODEV, function + " " + Number(link));
  const bool reads = function.starts_with("Get") || function.starts_with("List");
  if (!reads) calls_.push_back(function);
  return {};
}

Link Fake::View(const Link& link) const {
  Link view = link;
  view.carrier = link.up;
  if (const auto it = ends_.find(link.index); it != ends_.end()) {
    view.peer = it->second.index;
    view.peer_elsewhere = it->second.where != this;
    view.carrier = link.up && it->second.where->links_.at(it->second.index).up;
  }
  return view;
}

bool Fake::HasName(std::string_view name) const {
  return std::ranges::any_of(links_, [&](const auto& entry) { return IsCalled(entry.second, name); });
}

void Fake::Flush(int link) {
  std::erase_if(addresses_, [&](const Address& a) { return a.link == link; });
  std::erase_if(routes_, [&](const Route& r) { return r.link == link; });
  std::erase_if(neighbours_, [&](const Neighbour& n) { return n.link == link; });
}

Result<Link> Fake::GetLink(std::string_view name) {
  RAIL_TRY(Begin("GetLink", 0));
  const std::string doing = "find link " + std::string(name);
  if (name.empty() || name.size() > kLongestName) return FailErrno(EINVAL, doing);
  for (const auto& [index, link] : links_) {
    if (IsCalled(link, name)) return View(link);
  }
  return FailErrno(ENODEV, doing);
}

Result<std::vector<Link>> Fake::ListLinks() {
  RAIL_TRY(Begin("ListLinks", 0));
  std::vector<Link> links;
  links.reserve(links_.size());
  for (const auto& [index, link] : links_) links.push_back(View(link));
  return links;
}

Status Fake::SetUp(int link) {
  RAIL_TRY(Begin("SetUp", link));
  links_.at(link).up = true;
  return {};
}

Status Fake::SetDown(int link) {
  RAIL_TRY(Begin("SetDown", link));
  if (View(links_.at(link)).carrier) ++links_.at(link).carrier_losses;
  links_.at(link).up = false;
  std::erase_if(addresses_, [&](const Address& a) { return a.link == link && a.prefix.address.is_v6(); });
  std::erase_if(routes_, [&](const Route& r) { return r.link == link; });
  std::erase_if(neighbours_, [&](const Neighbour& n) { return n.link == link; });
  return {};
}

Status Fake::SetMtu(int link, uint32_t mtu) {
  RAIL_TRY(Begin("SetMtu", link));
  if (mtu < 68 || mtu > 65535) return FailErrno(EINVAL, "set the MTU of " + Number(link));
  links_.at(link).mtu = mtu;
  return {};
}

Status Fake::SetMac(int link, const MacAddress& mac) {
  RAIL_TRY(Begin("SetMac", link));
  if (mac.is_zero() || mac.is_multicast())
    return FailErrno(EADDRNOTAVAIL, "set the MAC address of " + Number(link));
  links_.at(link).mac = mac;
  return {};
}

Status Fake::Rename(int link, std::string_view name) {
  RAIL_TRY(Begin("Rename", link));
  const std::string doing = "rename " + Number(link) + " to " + std::string(name);
  if (name.empty() || name.size() > kLongestName) return FailErrno(EINVAL, doing);
  if (links_.at(link).name == name) return {};
  std::erase(links_.at(link).altnames, name);
  if (HasName(name)) return FailErrno(EEXIST, doing);
  links_.at(link).name = name;
  return {};
}

Status Fake::MoveLink(int link, int netns_fd, std::string_view name) {
  RAIL_TRY(Begin("MoveLink", link));
  const std::string doing = "move " + Number(link) + " to another namespace as " + std::string(name);
  Fake* there = Destination(netns_fd);
  if (there == nullptr || name.empty() || name.size() > kLongestName) return FailErrno(EINVAL, doing);
  if (there->HasName(name)) return FailErrno(EEXIST, doing);

  Flush(link);
  Link moved = links_.extract(link).mapped();
  std::erase_if(moved.altnames,
                [&](const std::string& altname) { return altname == name || there->HasName(altname); });
  moved.name = name;
  moved.up = false;
  const int index = there->AddLink(std::move(moved));
  if (const auto end = ends_.extract(link)) {
    there->ends_[index] = end.mapped();
    end.mapped().where->ends_[end.mapped().index] = End{there, index};
  }
  return {};
}

Status Fake::AddVrf(std::string_view name, uint32_t table) {
  RAIL_TRY(Begin("AddVrf", 0));
  const std::string doing = "make the VRF " + std::string(name);
  if (name.empty() || name.size() > kLongestName || table == 0) return FailErrno(EINVAL, doing);
  if (HasName(name)) return FailErrno(EEXIST, doing);
  Link link;
  link.name = name;
  link.kind = "vrf";
  link.table = table;
  AddLink(link);
  return {};
}

Status Fake::SetMaster(int link, int master) {
  RAIL_TRY(Begin("SetMaster", link));
  const std::string doing = "make " + Number(link) + " a part of " + Number(master);
  if (master != 0 && !links_.contains(master)) return FailErrno(EINVAL, doing);
  if (master != 0 && links_.at(master).kind != "vrf") return FailErrno(EOPNOTSUPP, doing);
  links_.at(link).master = master;
  return {};
}

Status Fake::DeleteLink(int link) {
  RAIL_TRY(Begin("DeleteLink", link));
  if (links_.at(link).kind.empty()) return FailErrno(EOPNOTSUPP, "delete " + Number(link));
  const std::string name = links_.at(link).name;
  RemoveLink(name);
  return {};
}

Status Fake::AddAddress(const Address& address) {
  RAIL_TRY(Begin("AddAddress", address.link));
  const std::string doing = "add address " + ToText(address);
  if (address.link == 0) return FailErrno(ENODEV, doing);
  if (std::ranges::find(addresses_, address) != addresses_.end()) return FailErrno(EEXIST, doing);
  addresses_.push_back(address);
  return {};
}

Status Fake::DeleteAddress(const Address& address) {
  RAIL_TRY(Begin("DeleteAddress", address.link));
  return Remove(addresses_, address, "delete address " + ToText(address));
}

Result<std::vector<Address>> Fake::ListAddresses(int link) {
  RAIL_TRY(Begin("ListAddresses", link));
  std::vector<Address> found;
  std::ranges::copy_if(addresses_, std::back_inserter(found),
                       [&](const Address& a) { return link == 0 || a.link == link; });
  return found;
}

Status Fake::AddRoute(const Route& given) {
  RAIL_TRY(Begin("AddRoute", given.link));
  const Route route = Listed(given);
  const std::string doing = "add route " + ToText(route);
  if (!links_.at(route.link).up) return FailErrno(ENETDOWN, doing);
  const bool covered = std::ranges::any_of(addresses_, [&](const Address& a) {
    return a.link == route.link && route.gateway && Covers(a.prefix, *route.gateway);
  });
  if (route.gateway && !route.onlink && !covered) return FailErrno(ENETUNREACH, doing);
  if (std::ranges::any_of(routes_, [&](const Route& r) { return SamePlace(r, route); }))
    return FailErrno(EEXIST, doing);
  routes_.push_back(route);
  return {};
}

Status Fake::DeleteRoute(const Route& given) {
  RAIL_TRY(Begin("DeleteRoute", given.link));
  const Route route = Listed(given);
  const auto found = std::ranges::find_if(routes_, [&](const Route& r) {
    return SamePlace(r, route) && r.link == route.link && (!route.gateway || r.gateway == route.gateway);
  });
  if (found == routes_.end()) return FailErrno(ESRCH, "delete route " + ToText(route));
  routes_.erase(found);
  return {};
}

Result<std::vector<Route>> Fake::ListRoutes(uint32_t table) {
  RAIL_TRY(Begin("ListRoutes", 0));
  std::vector<Route> found;
  std::ranges::copy_if(routes_, std::back_inserter(found), [&](const Route& r) { return r.table == table; });
  return found;
}

Status Fake::AddRule(const PolicyRule& rule) {
  RAIL_TRY(Begin("AddRule", 0));
  const std::string doing = "add rule " + ToText(rule);
  if (rule.from && rule.from->address.is_v6() != rule.v6) return FailErrno(EINVAL, doing);
  if (std::ranges::find(rules_, rule) != rules_.end()) return FailErrno(EEXIST, doing);
  rules_.push_back(rule);
  return {};
}

Status Fake::DeleteRule(const PolicyRule& rule) {
  RAIL_TRY(Begin("DeleteRule", 0));
  return Remove(rules_, rule, "delete rule " + ToText(rule));
}

Result<std::vector<PolicyRule>> Fake::ListRules() {
  RAIL_TRY(Begin("ListRules", 0));
  return rules_;
}

Status Fake::SetPermanentNeighbour(int link, const IpAddress& address, const MacAddress& mac) {
  RAIL_TRY(Begin("SetPermanentNeighbour", link));
  std::erase_if(neighbours_, [&](const Neighbour& n) { return n.link == link && n.address == address; });
  neighbours_.push_back({.address = address, .mac = mac, .link = link, .permanent = true, .usable = true});
  return {};
}

Result<std::vector<Neighbour>> Fake::ListNeighbours(int link) {
  RAIL_TRY(Begin("ListNeighbours", link));
  std::vector<Neighbour> found;
  std::ranges::copy_if(neighbours_, std::back_inserter(found),
                       [&](const Neighbour& n) { return link == 0 || n.link == link; });
  return found;
}

}  // namespace rail::netlink::testing
