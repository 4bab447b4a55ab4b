// The kernel's Guard.
//
// Use:      RAIL_ASSIGN(auto guard, Kernel::Make());      // of the calling thread's network namespace, for good
// Threads:  one at a time
// Owns:     a socket; the programs are the links'
#pragma once

#include <memory>
#include <string>

#include "lib/base/fd.h"
#include "lib/guard/guard.h"
#include "lib/netlink/xdp.h"

namespace rail::guard {

class Kernel : public Guard {
 public:
  static Result<std::unique_ptr<Guard>> Make();

  Status Close(const std::string& representor) override;
  Status Allow(const std::string& representor, const Allowed& allowed) override;
  Result<bool> Holds(const std::string& representor, const Allowed& allowed) override;
  Result<Refused> Count(const std::string& representor) override;
  Result<size_t> Forget(const std::string& representor, Clock::duration idle) override;
  Status Open(const std::string& representor) override;
  Result<std::vector<std::string>> RemoveAll() override;

 private:
  explicit Kernel(netlink::Xdp xdp) : xdp_(std::move(xdp)) {}
  netlink::Xdp xdp_;
  // Of the last Close, for the Allow that follows: to look at the link then would wait for the move of the pod's device, which has the
  // kernel's RTNL lock.
  std::string closed_;
  uint32_t closed_link_ = 0;
  Fd closed_facts_;
};

}  // namespace rail::guard
