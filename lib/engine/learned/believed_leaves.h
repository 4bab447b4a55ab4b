// Who of bgpd's peers is the leaf of a rail, as BMP names peers. Nobody else is believed: neither who uses our communities without being a
// leaf, nor a leaf while another neighbor looks like it.
//
// Use:      BelievedLeaves leaves(config, vlan);
//           leaves.Set(sessions);  if (!leaves.Is(peer, feed)) leaves.TakeFromOther(message, ours);
// Threads:  one
// Source:   README.md of this folder ("Only leaves are believed")
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/config/node_config.h"
#include "lib/frr/bgp.h"
#include "lib/frr/bmp/message.h"

namespace rail::engine {

class BelievedLeaves {
 public:
  // BGP neighbors that are reported because nobody should believe them.
  static constexpr size_t kMaxFalse = 16;

  // `vlan`: mode `vrf`; each rail's leaf has a feed of its own there, which is the rail's place in node.json.
  BelievedLeaves(const config::NodeConfig& config, uint16_t vlan)
      : config_(config), vlan_(vlan), leaves_(config.rails.size()) {}

  struct News {
    std::vector<size_t> rails;    // their leaf is another
    bool alike = false;           // what Problem says of leaves that are not believed has changed
    bool believed_again = false;  // what such a leaf has told meanwhile was not taken
  };
  // As Remotes::SetLeaves.
  News Set(const std::map<std::string, frr::Session>& sessions);
  void Forget(size_t rail) { leaves_[rail].reset(); }

  const std::optional<bmp::Peer>& of(size_t rail) const { return leaves_[rail]; }
  bool Is(const bmp::Peer& peer, size_t feed) const;
  bool LooksLikeAnother(const bmp::Peer& peer) const { return alike_.contains(peer); }
  // Whether `accept` of the leaf's rail has the address.
  bool MayAnnounce(const bmp::Peer& peer, size_t feed, const IpAddress& address) const;

  // A message of who is no leaf. `ours`: with communities of ours.
  void TakeFromOther(const bmp::Message& message, bool ours);
  void Down(const bmp::Peer& peer) { false_.erase(peer); }
  void FeedOpened() { false_.clear(); }
  // Who is not believed, in sentences.
  std::vector<std::string> Problems() const;

 private:
  bool by_rail() const { return vlan_ != config::kNoVlan; }

  const config::NodeConfig& config_;
  const uint16_t vlan_;
  std::vector<std::optional<bmp::Peer>> leaves_;  // of config_.rails
  std::map<bmp::Peer, std::string> alike_;        // leaves that look like the neighbor on this interface
  std::map<bmp::Peer, IpAddress> false_;          // no leaves; they announce this with communities of ours
};

}  // namespace rail::engine
