// A private Open vSwitch for tests: its own ovsdb-server and ovs-vswitchd (userspace datapath) in a network
// namespace of their own.
//
// Use:      auto ovs = PrivateOvs::Start();  ASSERT_TRUE(ovs) << ovs.error().message;
//           (*ovs)->AddVeth("rep0", "vf0");
//           auto db = DbConnection::Open((*ovs)->db(), After(5s));
// Threads:  the one that started it: it is moved into a new network namespace, and stays there
// Owns:     both daemons (they die with this process, however it ends) and the folder of their sockets
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "lib/base/error.h"

namespace rail::ovs::testing {

class PrivateOvs {
 public:
  // Needs root and the packages openvswitch-switch and iproute2.
  static Result<std::unique_ptr<PrivateOvs>> Start();
  ~PrivateOvs();
  PrivateOvs(const PrivateOvs&) = delete;
  PrivateOvs& operator=(const PrivateOvs&) = delete;

  const std::string& run_dir() const { return dir_; }
  std::string db() const { return dir_ + "/db.sock"; }
  std::string mgmt(const std::string& bridge) const { return dir_ + "/" + bridge + ".mgmt"; }

  // Two connected links in the namespace, both up.
  Status AddVeth(const std::string& name, const std::string& peer);
  // Starts ovs-vswitchd, or stops it at once as a crash would.
  Status StartVswitchd();
  void KillVswitchd();

  // Runs a program in the namespace, with OVS_RUNDIR set, and gives what it prints (both streams).
  // Errors: kInternal another exit status than 0, with its output.
  Result<std::string> Run(const std::vector<std::string>& command) const;

 private:
  explicit PrivateOvs(std::string dir) : dir_(std::move(dir)) {}

  std::string dir_;
  pid_t ovsdb_ = -1;
  pid_t vswitchd_ = -1;
};

}  // namespace rail::ovs::testing
