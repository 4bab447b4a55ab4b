// Pushes to raild what a FakeBgp has, as bgpd does by BMP: sessions that come and go, what
// their leaves announce, the end of a dump.
//
// Use:      Push push(world.bgp);  push.Deliver(raild.bgp, true);
// Threads:  one at a time
// Source:   lib/frr/bmp/README.md (what bgpd 8.4 says, and what it does not)
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/engine/repair/bgp.h"
#include "lib/frr/testing/fake.h"

namespace rail::engine::testing {

class Push {
 public:
  // `vrf`: the instance is that of a VRF.
  explicit Push(const frr::testing::FakeBgp& bgp, std::string vrf = "") : bgp_(bgp), vrf_(std::move(vrf)) {}

  // Pushes all that has changed since the last call. Opens a connection anew that raild closes, or that ends with bgpd, as long
  // as bgpd is configured to push.
  void Deliver(BgpRepair& raild, bool bgpd_is_there);
  int connections() const { return connections_; }  // so far

 private:
  struct Told {  // what was pushed of a session
    bmp::Peer peer;
    uint64_t uptime_ms = 0;
    std::map<IpAddress, std::vector<tenancy::LargeCommunity>> routes;
  };
  void Open(BgpRepair& raild);
  void Sessions(BgpRepair& raild);
  void Routes(BgpRepair& raild);

  void Pushed(BgpRepair& raild, const bmp::Message& message) const { raild.Pushed(message, vrf_); }

  const frr::testing::FakeBgp& bgp_;
  const std::string vrf_;
  std::map<std::string, Told> told_;  // by interface
  int connections_ = 0;
  bool open_ = false;
  int bgpd_ = 0;  // which bgpd was connected: its number of restarts
  uint16_t port_ = 40000;
};

}  // namespace rail::engine::testing
