// Links with priorities in memory.
//
// Use:      DcbLinks links;  links["p0"] = DcbState{.pfc = DcbPfc{}, ...};  FakeDcb dcb(links);
// Threads:  one at a time
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/netlink/dcb.h"

namespace rail::netlink::testing {

struct DcbLinks {
  std::map<std::string, DcbState> links;
  std::vector<std::string> plain;    // links without dcbnl
  std::vector<std::string> changes;  // "p0 pfc 8", in order
  bool read_only = false;            // refuses every change
};

class FakeDcb : public Dcb {
 public:
  explicit FakeDcb(DcbLinks& links) : links_(links) {}

  Result<DcbState> Get(const std::string& link) override;
  Status SetPfc(const std::string& link, uint8_t enabled) override;
  Status AddApp(const std::string& link, const DcbApp& app) override;
  Status DeleteApp(const std::string& link, const DcbApp& app) override;

 private:
  Result<DcbState*> Find(const std::string& link);
  Status Change(const std::string& change);

  DcbLinks& links_;
};

}  // namespace rail::netlink::testing
