// Remotes with two rails and their leaves, and what bgpd pushes to it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lib/engine/learned/remotes.h"

namespace rail::engine::testing {

using bmp::Family;
using bmp::Message;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint32_t kAsn = 4200000000;
constexpr int64_t kNow = 1'800'000'000'000;  // Unix time of a test's beginning

inline IpAddress Ip(const std::string& text) {
  return IpAddress::Parse(text).value();
}

inline std::vector<tenancy::LargeCommunity> Communities(uint32_t asn, uint64_t tenant, uint32_t rail) {
  const auto [high, low] = tenancy::TenantCommunities(asn, {0, tenant});
  return {high, low, tenancy::RailCommunity(asn, rail)};
}

inline const bmp::Peer kLeaf0{0, Ip("fe80::1"), 4200010001, 1};
inline const bmp::Peer kLeaf1{0, Ip("fe80::2"), 4200010002, 2};

class RemotesTest : public ::testing::Test {
 protected:
  static config::NodeConfig TwoRails() {
    config::NodeConfig config;
    config.bgp.community_asn = kAsn;
    config.rails = {{.name = "rail0", .index = 0, .bridge = "br-rail0"},
                    {.name = "rail1", .index = 1, .bridge = "br-rail1"}};
    return config;
  }
  RemotesTest() {
    Leaf("br-rail0", kLeaf0);
    Leaf("br-rail1", kLeaf1);
  }
  // bgpd says that the session on `interface` is with `peer`.
  void Leaf(const std::string& interface, const bmp::Peer& peer) {
    sessions[interface] = {.interface = interface,
                           .peer = peer.address,
                           .leaf = frr::Leaf{peer.asn, Ip("0.0.0." + std::to_string(peer.bgp_id)), "leaf"}};
    remotes.SetLeaves(sessions);
  }
  void Pass(milliseconds time) { now += time; }
  int64_t UnixNow() const { return kNow + std::chrono::duration_cast<milliseconds>(now - begin).count(); }
  void Take(const Message& message) { remotes.Take(message, now, UnixNow()); }
  void Up(const bmp::Peer& peer, milliseconds age = seconds(3600)) {
    Message message;
    message.kind = Message::Kind::kPeerUp;
    message.peer = peer;
    message.since_ms = UnixNow() - age.count();
    message.families = {Family::kIpv4};
    message.local_port = 179;
    message.remote_port = port++;
    Take(message);
  }
  void Down(const bmp::Peer& peer) {
    Message message;
    message.kind = Message::Kind::kPeerDown;
    message.peer = peer;
    Take(message);
  }
  static Message RoutesOf(const bmp::Peer& peer) {
    Message message;
    message.kind = Message::Kind::kRoutes;
    message.peer = peer;
    return message;
  }
  void Announce(const bmp::Peer& peer, const std::string& address, uint64_t tenant, uint32_t rail = 0,
                std::vector<uint32_t> as_path = {}) {
    Message message = RoutesOf(peer);
    message.update.announced = {Ip(address)};
    message.update.communities = Communities(kAsn, tenant, rail);
    message.update.as_path = std::move(as_path);
    Take(message);
  }
  void AnnounceWith(const std::string& address, std::vector<tenancy::LargeCommunity> communities) {
    Message message = RoutesOf(kLeaf0);
    message.update.announced = {Ip(address)};
    message.update.communities = std::move(communities);
    Take(message);
  }
  void Withdraw(const bmp::Peer& peer, const std::string& address) {
    Message message = RoutesOf(peer);
    message.update.withdrawn = {Ip(address)};
    Take(message);
  }
  void End(const bmp::Peer& peer) {
    Message message = RoutesOf(peer);
    message.update.end_of_rib = Family::kIpv4;
    Take(message);
  }
  // A connection over which both leaves have told everything.
  void Settle() {
    remotes.FeedOpened(now);
    Up(kLeaf0);
    Up(kLeaf1);
  }
  void EndBoth() {
    End(kLeaf0);
    End(kLeaf1);
  }
  // "address tenant", contested ones with every claimant.
  std::vector<std::string> Known() {
    std::vector<std::string> known;
    for (const auto& [tenant, set] : remotes.table().by_tenant) {
      set->ForEach([&, name = std::to_string(tenant.low)](const RemoteEntry& remote) {
        known.push_back(remote.address.ToString() + " " + name);
      });
    }
    std::ranges::sort(known);
    return known;
  }

  const Deadline begin = Clock::now();
  Deadline now = begin;
  config::NodeConfig config = TwoRails();
  std::map<std::string, frr::Session> sessions;
  Remotes remotes{config, begin};
  uint16_t port = 40000;
};

}  // namespace rail::engine::testing
