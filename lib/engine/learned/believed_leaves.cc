#include "lib/engine/learned/believed_leaves.h"

#include <algorithm>

#include "lib/engine/attach/tenant_vlans.h"

namespace rail::engine {
namespace {

// As BMP names the leaf of the session; nullopt: it is not known.
std::optional<bmp::Peer> PeerOf(const frr::Session& session) {
  if (!session.peer || !session.leaf || session.leaf->router_id.is_v6()) return std::nullopt;
  uint32_t id = 0;
  for (const char byte : session.leaf->router_id.bytes()) id = id << 8 | static_cast<uint8_t>(byte);
  return bmp::Peer{0, *session.peer, session.leaf->asn, id};
}

}  // namespace

BelievedLeaves::News BelievedLeaves::Set(const std::map<std::string, frr::Session>& sessions) {
  News news;
  for (size_t i = 0; i < leaves_.size(); ++i) {
    const config::Rail& rail = config_.rails[i];
    const auto session = sessions.find(by_rail() ? VlanPortName(rail, vlan_) : rail.bridge);
    const auto leaf = session == sessions.end() ? std::nullopt : PeerOf(session->second);
    if (!leaf || leaves_[i] == leaf) continue;
    leaves_[i] = leaf;
    news.rails.push_back(i);
  }
  if (by_rail()) return news;  // the instance of a tenant on a rail has no other session
  std::map<bmp::Peer, std::string> alike;
  for (const auto& [interface, session] : sessions) {
    const auto peer = PeerOf(session);
    const bool a_rails =
        std::ranges::find(config_.rails, interface, &config::Rail::bridge) != config_.rails.end();
    if (!a_rails && peer && std::ranges::find(leaves_, peer) != leaves_.end()) alike[*peer] = interface;
  }
  news.alike = alike != alike_;
  for (const auto& [leaf, interface] : alike_) {
    if (alike.contains(leaf)) continue;
    news.believed_again = true;
    false_.erase(leaf);
  }
  alike_ = std::move(alike);
  return news;
}

bool BelievedLeaves::Is(const bmp::Peer& peer, size_t feed) const {
  if (by_rail()) return leaves_[feed] == peer;
  return !alike_.contains(peer) && std::ranges::find(leaves_, peer) != leaves_.end();
}

// A leaf that looks the same on several rails may announce what any of them accepts: BMP does not say over which session it comes.
bool BelievedLeaves::MayAnnounce(const bmp::Peer& peer, size_t feed, const IpAddress& address) const {
  for (size_t i = 0; i < leaves_.size(); ++i) {
    if (by_rail() ? i != feed : leaves_[i] != peer) continue;
    const std::vector<IpPrefix>& accept = config_.rails[i].accept;
    if (accept.empty() || std::ranges::any_of(accept, [&](const IpPrefix& p) { return p.Contains(address); }))
      return true;
  }
  return false;
}

// BMP has all neighbors of bgpd, those of the host's own BGP as well, and says nothing of what their import policy lets through.
void BelievedLeaves::TakeFromOther(const bmp::Message& message, bool ours) {
  const auto known = false_.find(message.peer);
  if (known == false_.end()) {
    if (ours && !message.update.announced.empty() && false_.size() < kMaxFalse)
      false_.emplace(message.peer, message.update.announced.front());
    return;
  }
  const auto names = [&](const std::vector<IpAddress>& list) {
    return std::ranges::find(list, known->second) != list.end();
  };
  if (message.kind == bmp::Message::Kind::kPeerUp || names(message.update.withdrawn) ||
      (!ours && names(message.update.announced)))
    false_.erase(known);
}

std::vector<std::string> BelievedLeaves::Problems() const {
  std::vector<std::string> problems;
  for (const auto& [leaf, interface] : alike_) {
    problems.push_back("the BGP neighbor on " + interface +
                       " has the address, AS and identifier of a rail's leaf, " + leaf.ToString() +
                       ", and bgpd's BMP tells the two apart by nothing else: neither is believed, and "
                       "nothing new is learned of that leaf; find out who is on " +
                       interface + ", and give it a router id of its own");
  }
  const auto other =
      std::ranges::find_if(false_, [&](const auto& one) { return !alike_.contains(one.first); });
  if (other == false_.end()) return problems;
  problems.push_back("the BGP neighbor " + other->first.ToString() + " announces " +
                     other->second.ToString() +
                     " with communities of ours and is not the leaf of a rail: it is not believed; find out "
                     "who it is, and let it stop");
  return problems;
}

}  // namespace rail::engine
