// A bgpd with state: it announces, forgets, learns, and its sessions come and go as the test says.
//
// Use:      FakeBgp bgp({.asn = 4200000001, .community_asn = 4200000000});  bgp.EnsureBase(...);
//           bgp.SetSession("br-rail0", "Active");
// Threads:  one at a time
// Source:   test/contract/frr_contract_test.cc:
//           the same cases run on this and on a real bgpd
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/frr/bgp.h"

namespace rail::frr::testing {

class FakeBgp : public Bgp {
 public:
  static constexpr uint32_t kLeafAsn = 4200010001;  // of the leaf of every session
  struct Options {
    uint32_t asn = 4200000001;
    uint32_t community_asn = 4200000000;
    uint32_t leaf_asn = 65100;
    bool bmp_module = true;
  };

  // A bgpd that has just started: no instance.
  explicit FakeBgp(Options options) : options_(options) {}

  FakeBgp& Instance(const std::string& vrf) override;
  Result<std::vector<std::string>> OurInstances(Deadline deadline) override;
  Status RemoveInstance(const std::string& vrf, Deadline deadline) override;
  void ReadOnce(bool) override {}
  Status AnnounceAll(const std::vector<Announcement>& announcements, Deadline deadline) override;
  Status WithdrawAll(const std::vector<IpAddress>& addresses, Deadline deadline) override;
  Result<std::vector<Announcement>> Announced(Deadline deadline) override;
  Result<bool> InAdjRibOut(const IpAddress& address, const std::string& interface,
                           Deadline deadline) override;
  Result<std::optional<std::string>> AnnouncedElsewhere(const IpAddress& address, Deadline deadline) override;
  Result<std::set<std::string>> UsedLinks(const IpPrefix& prefix, Deadline deadline) override;
  Result<std::string> SessionState(const std::string& interface, Deadline deadline) override;
  Result<std::vector<Session>> Sessions(Deadline deadline) override;
  Result<std::optional<IpAddress>> Identifier(Deadline deadline) override;
  Result<uint64_t> TableVersion(Deadline deadline) override;
  Result<std::vector<std::string>> EnsureBase(const BaseConfig& config, Deadline deadline) override;
  Result<std::vector<std::string>> EnsureFrontend(const Frontend& frontend, Deadline deadline) override;
  Result<std::vector<IpPrefix>> AdvertisedTo(const std::string& interface, Deadline deadline) override;
  Result<BaseBefore> LookBefore(const std::vector<std::string>& interfaces, Deadline deadline) override;
  Result<std::vector<std::string>> RemoveOurs(const std::vector<std::string>& interfaces,
                                              const Removal& removal, Deadline deadline) override;
  Status ResetSession(const std::string& interface, Deadline deadline) override;
  Result<bool> EnsureFeed(const std::vector<RailPeer>& rails, const FeedTarget& target, bool manage,
                          Deadline deadline) override;

  // What a test does to it.
  void Restart();                                    // everything configured or learned is gone
  void StartAs(uint32_t asn);                        // somebody made an instance of this AS
  void AddForeignNetwork(const IpAddress& address);  // a `network` statement that is not ours
  const std::set<IpAddress>& foreign_networks() const { return foreign_; }
  void LeakTo(const std::string& interface, const IpPrefix& prefix) { leaks_[interface].push_back(prefix); }
  void EditRouteMapOf(const IpAddress& address) { announced_.at(address).edited = true; }
  void SetSession(const std::string& interface, const std::string& state);
  // The session is down, as `how` says: state, peer, notification, last_reset, shut_down.
  void EndSession(const Session& how);
  void RemoveNeighbor(const std::string& interface);                  // somebody removes its statement
  const std::vector<std::string>& resets() const { return resets_; }  // sessions, as they were reset
  void SetUptime(uint64_t uptime_ms) {
    uptime_ms_ = uptime_ms;
  }  // of every established session; at first a minute
  void SetEndOfRibDue(bool due) { end_of_rib_due_ = due; }  // every established session; at first not
  // The leaf of `interface` announces or withdraws a prefix with these large communities.
  void Learn(const IpPrefix& prefix, const std::vector<tenancy::LargeCommunity>& communities,
             const std::string& interface);
  void Forget(const IpPrefix& prefix, const std::string& interface);
  // What it pushes: to whom, and what it has heard of pods. A removed session's routes go with it.
  std::optional<uint16_t> feed_port() const { return feed_port_; }
  std::optional<IpAddress> feed_address() const { return feed_address_; }
  std::vector<Session> SessionsNow() const;  // of this instance alone
  std::map<IpAddress, std::vector<tenancy::LargeCommunity>> LearnedFrom(const std::string& interface) const;
  int restarts() const { return restarts_; }
  bool hangs() const { return failure_.has_value(); }
  void SetIdentifier(const IpAddress& id) {
    identifier_ = id;
  }  // of the default instance, while it has no base configuration
  void SetModule(bool bmp) { options_.bmp_module = bmp; }  // of the next bgpd, after Restart
  // The sessions of VRFs' instances come up as they are configured; false: they are Active, as those of the default instance.
  void SetInstancesComeUp(bool up) { instances_come_up_ = up; }
  void SetOneLeaf() { one_leaf_ = true; }  // all its sessions are with one leaf
  void FailAll(std::optional<Error> error) {
    failure_ = std::move(error);
  }  // every call, until called with nullopt

 private:
  bool IsSent(const IpAddress& address, const std::string& interface) const;
  using Communities = std::vector<tenancy::LargeCommunity>;

  Options options_;
  const FakeBgp* default_ = nullptr;  // of a VRF's instance
  std::map<std::string, std::unique_ptr<FakeBgp>> instances_;
  std::optional<uint32_t> asn_;
  IpAddress identifier_;
  std::optional<BaseConfig> base_;
  Frontend frontend_;
  std::optional<uint16_t> feed_port_;
  std::optional<IpAddress> feed_address_;
  std::map<IpAddress, Announcement> announced_;
  std::set<IpAddress> foreign_;
  std::map<std::string, std::vector<IpPrefix>> leaks_;  // somebody has opened the filter of the interface
  std::map<std::string, std::string> states_;           // interface -> state
  std::map<std::string, Session> ends_;                 // how those that are down have ended
  std::map<IpPrefix, std::map<std::string, Communities>> learned_;  // prefix -> interface -> communities
  std::vector<std::string> resets_;
  uint64_t version_ = 0;
  uint64_t uptime_ms_ = 60000;
  bool end_of_rib_due_ = false;
  bool one_leaf_ = false;
  mutable std::map<std::string, size_t> leaf_ids_;  // by interface
  bool instances_come_up_ = true;
  int restarts_ = 0;
  std::optional<Error> failure_;
};

}  // namespace rail::frr::testing
