// Bgp over bgpd's vty socket.
//
// Use:      RAIL_ASSIGN(auto bgp, VtyBgp::Open({.run_dir = "/run/frr", .asn = 4200000001, .community_asn = 4200000000},
//                                               deadline));
// Threads:  one at a time
// Owns:     the vty session; after kTransient open a new one
// Source:   README.md of this folder
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/frr/bgp.h"
#include "lib/frr/vty.h"

namespace rail::frr {

struct RunningConfig;

class VtyBgp : public Bgp {
 public:
  struct Options {
    std::string run_dir;  // holds bgpd.vty
    uint32_t asn = 0;
    uint32_t community_asn = 0;
  };

  // Errors: kTransient bgpd does not run or does not answer; kPermission.
  static Result<std::unique_ptr<VtyBgp>> Open(Options options, Deadline deadline);

  Status AnnounceAll(const std::vector<Announcement>& announcements, Deadline deadline) override;
  Status WithdrawAll(const std::vector<IpAddress>& addresses, Deadline deadline) override;
  Result<std::vector<Announcement>> Announced(Deadline deadline) override;
  Result<bool> InAdjRibOut(const IpAddress& address, const std::string& interface,
                           Deadline deadline) override;
  Result<std::string> SessionState(const std::string& interface, Deadline deadline) override;
  Result<std::vector<Session>> Sessions(Deadline deadline) override;
  Result<uint64_t> TableVersion(Deadline deadline) override;
  Result<std::vector<std::string>> EnsureBase(const BaseConfig& config, Deadline deadline) override;
  Result<std::vector<std::string>> EnsureFrontend(const Frontend& frontend, Deadline deadline) override;
  Result<std::vector<IpPrefix>> AdvertisedTo(const std::string& interface, Deadline deadline) override;
  Result<BaseBefore> LookBefore(const std::vector<std::string>& interfaces, Deadline deadline) override;
  Result<std::vector<std::string>> RemoveOurs(const std::vector<std::string>& interfaces,
                                              const Removal& removal, Deadline deadline) override;
  Status ResetSession(const std::string& interface, Deadline deadline) override;
  Result<bool> EnsureFeed(const std::vector<RailPeer>& rails, uint16_t port, bool manage,
                          Deadline deadline) override;

 private:
  VtyBgp(Options options, Vty vty) : options_(std::move(options)), vty_(std::move(vty)) {}
  Result<RunningConfig> Running(Deadline deadline);
  // bgpd's text, or "{}" when it has no instance.
  Result<std::string> ShowOrEmpty(const std::string& command, Deadline deadline);
  Status Send(const std::vector<std::string>& lines, Deadline deadline);

  Options options_;
  Vty vty_;
};

}  // namespace rail::frr
