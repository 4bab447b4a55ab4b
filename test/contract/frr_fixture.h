// A node and its leaf: two real bgpd (with zebra) in network namespaces, joined by one veth for each rail.
//
// Use:      auto pair = FrrPair::Start();  VtyBgp::Open({pair->host_run_dir(), ...});  pair->Leaf({"router bgp 65100", ...});
// Threads:  one at a time
// Owns:     namespaces, daemons (ended by pid) and folder, all named after this process; what a test process that died
//           left behind is removed by the next one
// Source:   FRRouting doc/user/basic.rst (--vty_socket, -z, -i); root, and Debian's frr
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/frr/vty.h"

namespace rail::frr::testing {

class FrrPair {
 public:
  static constexpr uint32_t kLeafAsn = 65100;
  static constexpr int kRails = 2;

  // Why the fixture cannot run here; empty when it can.
  static std::string Missing();

  // The leaf (AS 65100) has `neighbor l0|l1 interface remote-as external` in both families; the host has nothing.
  static std::unique_ptr<FrrPair> Start();
  ~FrrPair();
  FrrPair(const FrrPair&) = delete;

  std::string host_run_dir() const { return folder_ + "/host"; }
  std::string host_netns() const { return Netns("host"); }
  // Lines for one of the two; a refused one fails the test.
  void Leaf(const std::vector<std::string>& lines) { Configure("leaf", lines); }
  void Host(const std::vector<std::string>& lines) { Configure("host", lines); }
  std::string ShowLeaf(const std::string& command) { return Show("leaf", command); }
  std::string ShowHost(const std::string& command) { return Show("host", command); }
  // Takes the cable out of rail `index`, at the leaf's end.
  void CutLink(int index);
  // Ends the host's bgpd without a farewell / starts it anew, with an empty configuration.
  void KillHostBgpd();
  void StartHostBgpd() { StartDaemon("host", "bgpd"); }

 private:
  FrrPair() = default;
  std::string Netns(const std::string& node) const { return name_ + "-" + node; }
  void StartNode(const std::string& node);
  void StartDaemon(const std::string& node, const std::string& daemon);
  void Configure(const std::string& node, const std::vector<std::string>& lines);
  std::string Show(const std::string& node, const std::string& command);

  std::string name_;    // "rail-frr-<pid>"
  std::string folder_;  // "/tmp/rail-frr-<pid>"
};

}  // namespace rail::frr::testing
