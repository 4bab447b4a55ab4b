// VFs in memory, as their PF knows them.
//
// Use:      FakeVfs vfs;  vfs.Add(pf_index, 3, VfState{...});
//           vfs.FailOn("trust", {Code::kUnsupported, "no"});      // the next Set that has it
// Threads:  one at a time
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/netlink/vf.h"

namespace rail::netlink::testing {

class FakeVfs : public Vfs {
 public:
  void Add(int pf, uint32_t vf, VfState state) { vfs_[{pf, vf}] = state; }
  void FailOn(const std::string& what, Error error) { failures_[what] = std::move(error); }
  // A driver that says yes and does nothing.
  void Ignore(const std::string& what) { ignored_.insert(what); }
  const std::vector<std::string>& calls() const { return calls_; }  // "trust of 3", in order

  Result<VfState> Get(int pf, uint32_t vf) override;
  Status Set(int pf, uint32_t vf, const VfChange& change) override;

 private:
  std::map<std::pair<int, uint32_t>, VfState> vfs_;
  std::map<std::string, Error> failures_;
  std::set<std::string> ignored_;
  std::vector<std::string> calls_;
};

}  // namespace rail::netlink::testing
