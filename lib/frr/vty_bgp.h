// Bgp over bgpd's vty socket.
//
// Use:      RAIL_ASSIGN(auto bgp, VtyBgp::Open({.run_dir = "/run/frr", .asn = 4200000001, .community_asn = 4200000000},
//                                               deadline));
// Threads:  one at a time
// Owns:     the vty session; after kTransient open a new one
// Source:   README.md of this folder
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/frr/base_config.h"
#include "lib/frr/bgp.h"
#include "lib/frr/vty.h"

namespace rail::frr {

class VtyBgp : public Bgp {
 public:
  struct Options {
    std::string run_dir;  // holds bgpd.vty
    uint32_t asn = 0;
    uint32_t community_asn = 0;
    bool vrfs = false;  // Sessions() has those of all VRFs, too
  };

  // Errors: kTransient bgpd does not run or does not answer; kPermission.
  static Result<std::unique_ptr<VtyBgp>> Open(Options options, Deadline deadline);

  Bgp& Instance(const std::string& vrf) override;
  Result<std::vector<std::string>> OurInstances(Deadline deadline) override;
  Status RemoveInstance(const std::string& vrf, Deadline deadline) override;
  void ReadOnce(bool on) override;
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

 private:
  // What the instances share.
  struct Shared {
    Options options;
    Vty vty;
    bool read_once = false;
    std::shared_ptr<const RunningConfig> read;
  };
  VtyBgp(std::shared_ptr<Shared> shared, std::string vrf)
      : shared_(std::move(shared)), vrf_(std::move(vrf)) {}
  Identity identity() const { return {shared_->options.asn, shared_->options.community_asn, vrf_}; }
  Result<std::shared_ptr<const RunningConfig>> Running(Deadline deadline);
  // bgpd's text, or "{}" when it has no such instance.
  Result<std::string> ShowOrEmpty(const std::string& command, Deadline deadline);
  Result<std::string> ShowPrefix(bool v6, const std::string& prefix, Deadline deadline);
  // "show bgp vrf NAME"; for the default instance "show bgp".
  std::string Show() const { return vrf_.empty() ? "show bgp" : "show bgp vrf " + vrf_; }
  Result<std::vector<Session>> AllSessions(Deadline deadline);
  Status Send(const std::vector<std::string>& lines, Deadline deadline);
  Status LetFeedsRest(const RunningConfig& running, const std::optional<std::string>& vrf, Deadline deadline);
  Status SendAtOnce(const std::vector<ConfigLine>& lines, Deadline deadline);

  const std::shared_ptr<Shared> shared_;
  const std::string vrf_;  // "": the default instance
  std::map<std::string, std::unique_ptr<VtyBgp>> instances_;
};

}  // namespace rail::frr
