#include "lib/engine/testing/push.h"

#include <algorithm>

#include "lib/base/clock.h"
#include "lib/frr/bmp/bytes.h"

namespace rail::engine::testing {
namespace {

using bmp::Message;

Message Of(Message::Kind kind, const bmp::Peer& peer) {
  Message message;
  message.kind = kind;
  message.peer = peer;
  return message;
}

}  // namespace

void Push::Deliver(BgpRepair& raild, bool bgpd_is_there) {
  const bool can_push = bgpd_is_there && bgp_.feed_port();
  if (open_ && (!can_push || bgpd_ != bgp_.restarts() || !raild.feed_to_close(vrf_).empty())) {
    raild.FeedClosed("the test's bgpd has closed it", vrf_);
    open_ = false;
  }
  if (!can_push || bgp_.hangs()) return;
  const bool dump = !open_;
  if (dump) Open(raild);
  Sessions(raild);
  Routes(raild);
  for (const auto& [interface, told] : told_) {
    for (const bmp::Family family : {bmp::Family::kIpv4, bmp::Family::kIpv6}) {
      Message end = Of(Message::Kind::kRoutes, told.peer);
      end.update.end_of_rib = family;
      if (dump) Pushed(raild, end);
    }
  }
  raild.Tell();
}

void Push::Open(BgpRepair& raild) {
  ++connections_;
  open_ = true;
  bgpd_ = bgp_.restarts();
  told_.clear();
  raild.FeedOpened(vrf_);
}

void Push::Sessions(BgpRepair& raild) {
  const std::vector<frr::Session> sessions = bgp_.SessionsNow();
  // bgpd says nothing of a neighbor whose statement was removed.
  std::erase_if(told_, [&](const auto& told) {
    return std::ranges::find(sessions, told.first, &frr::Session::interface) == sessions.end();
  });
  for (const frr::Session& session : sessions) {
    const auto told = told_.find(session.interface);
    if (told != told_.end()) {
      if (session.established() && session.uptime_ms >= told->second.uptime_ms) continue;
      Pushed(raild, Of(Message::Kind::kPeerDown, told->second.peer));
      told_.erase(told);
    }
    if (!session.established()) continue;
    const bmp::Peer peer{0, *session.peer, session.leaf->asn,
                         bmp::Bytes(session.leaf->router_id.bytes()).U32()};
    Message up = Of(Message::Kind::kPeerUp, peer);
    up.since_ms = UnixMs() - static_cast<int64_t>(session.uptime_ms);
    up.local_port = 179;
    up.remote_port = port_++;
    up.families = {bmp::Family::kIpv4, bmp::Family::kIpv6};
    Pushed(raild, up);
    told_[session.interface] = {peer, session.uptime_ms, {}};
  }
}

void Push::Routes(BgpRepair& raild) {
  for (auto& [interface, told] : told_) {
    auto routes = bgp_.LearnedFrom(interface);
    for (const auto& [address, communities] : told.routes) {
      if (routes.contains(address)) continue;
      Message withdrawal = Of(Message::Kind::kRoutes, told.peer);
      withdrawal.update.withdrawn = {address};
      Pushed(raild, withdrawal);
    }
    for (const auto& [address, communities] : routes) {
      const auto before = told.routes.find(address);
      if (before != told.routes.end() && before->second == communities) continue;
      Message route = Of(Message::Kind::kRoutes, told.peer);
      route.update.announced = {address};
      route.update.communities = communities;
      Pushed(raild, route);
    }
    told.routes = std::move(routes);
  }
}

}  // namespace rail::engine::testing
