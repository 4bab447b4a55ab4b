// What BGP says about pods elsewhere, over all of bgpd's instances: one table in most modes, in mode `vrf` one for each tenant of this
// node. There two tenants may have the same address, and neither is contested by the other.
//
// Use:      TenantRemotes remotes(config, now);
//           remotes.SetInstances(InstancesOf(config, *record), now);
//           remotes.FeedOpened(vrf, now);  remotes.Take(vrf, message, now, unix_ms);   // "": the default instance
//           if (remotes.TakeNews()) Publish(remotes.table());
// Threads:  one
// Source:   remotes.h, to which it passes everything on; README.md of this folder ("Mode vrf")
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/engine/attach/tenant_vlans.h"
#include "lib/engine/learned/remotes.h"

namespace rail::engine {

// An instance of bgpd that raild keeps.
struct BgpInstance {
  std::string vrf;                     // "": the default one
  std::vector<frr::RailPeer> peers;    // its sessions with leaves
  TenantVlan tenant;                   // mode `vrf`: whose it is; no VLAN: the default instance
  const config::Rail* rail = nullptr;  // mode `vrf`: its rail
};
// The default instance, with the rails' sessions; in mode `vrf` it has none, and each tenant has one on each rail that it is on.
std::vector<BgpInstance> InstancesOf(const config::NodeConfig& config, const Record& record);

class TenantRemotes {
 public:
  TenantRemotes(const config::NodeConfig& config, Deadline now);

  // Mode `vrf`: which tenants are on which rails. What was learned for others is forgotten.
  void SetInstances(const std::vector<BgpInstance>& instances, Deadline now);

  void SetLeaves(const std::map<std::string, frr::Session>& sessions);
  // Gives each leaf's End-of-RIB, as bgpd says it of these sessions.
  void SetEndOfRibDue(const std::map<std::string, frr::Session>& sessions, Deadline now);
  void SetOwn(const std::map<tenancy::TenantId, std::map<IpAddress, OwnAddress>>& own);
  void SetAliases(const TenantAliases& aliases);
  void SetMark(std::optional<tenancy::ClusterMark> mark, Deadline now);

  // Of the instance of a VRF. One that is not kept hears nothing.
  bool IsLeaf(const std::string& vrf, const bmp::Peer& peer) const;
  bool missed(const std::string& vrf) const;
  // It is kept, and its connection was opened before it was: only the next connection tells what it has told.
  bool has_no_feed(const std::string& vrf) const { return feeds_.contains(vrf) && !open_.contains(vrf); }
  bool in_doubt(const std::string& vrf) const;
  void FeedOpened(const std::string& vrf, Deadline now, bool settling);
  void FeedClosed(const std::string& vrf, Deadline now);
  void Take(const std::string& vrf, const bmp::Message& message, Deadline now, int64_t unix_ms);

  // Of all of them.
  bool AwaitsEndOfRib() const;
  void Settle(Deadline now);
  std::optional<Deadline> next_settle() const;
  bool complete() const;
  bool ambiguous() const;
  void NotAmbiguous();
  std::string problem() const;
  std::string other_cluster() const;
  bool TakeSessionNews();
  bool TakeNews();
  // Costs nothing while there are no news.
  const RemoteTable& table();

 private:
  struct At {
    Remotes* remotes = nullptr;  // nullptr: it is not kept
    Remotes::Feed feed = 0;
  };
  At Of(const std::string& vrf) const;
  bool by_tenant() const { return config_.tenancy.mode == config::TenancyMode::kVrf; }
  void Join();

  const config::NodeConfig& config_;
  const std::shared_ptr<AsPathsKeeper> as_paths_ = std::make_shared<AsPathsKeeper>();
  std::map<uint16_t, std::unique_ptr<Remotes>> all_;  // by VLAN; 0: the only one of the other modes
  std::map<uint16_t, tenancy::TenantId> tenants_;
  std::map<std::string, std::pair<uint16_t, Remotes::Feed>> feeds_;  // by VRF: VLAN, and the rail's place
  std::map<tenancy::TenantId, std::map<IpAddress, OwnAddress>> own_;
  TenantAliases aliases_;
  std::optional<tenancy::ClusterMark> mark_;
  std::set<std::string> open_;  // of feeds_
  bool started_ = false;        // tenants that come from now on are not in the switch yet
  bool news_ = false;
  bool outdated_ = true;  // joined_ is older than news that have been taken
  RemoteTable joined_;
  // Of which its doubts and seats are put together.
  std::vector<std::shared_ptr<const Doubts>> doubts_;
  std::vector<std::shared_ptr<const Seats>> seats_;
};

}  // namespace rail::engine
