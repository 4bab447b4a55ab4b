// The kernel's Guard.
//
// Use:      RAIL_ASSIGN(auto guard, Kernel::Open());      // of the calling thread's network namespace, for good
// Threads:  one at a time
// Owns:     a socket; the programs are the links'
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/fd.h"
#include "lib/guard/guard.h"
#include "lib/netlink/xdp.h"

namespace rail::guard {

class Kernel : public Guard {
 public:
  static Result<std::unique_ptr<Guard>> Open();

  Status Attach(const std::string& representor) override;
  Status Allow(const std::string& representor, const Allowed& allowed) override;
  Result<bool> Holds(const std::string& representor, const Allowed& allowed) override;
  Result<Refused> Count(const std::string& representor) override;
  Result<size_t> Forget(const std::string& representor, Clock::duration idle) override;
  Status Detach(const std::string& representor) override;

 private:
  // The program of a link, as it is now.
  struct Seen {
    netlink::XdpState state;
    Fd program;  // none: the link has no program
    std::string name;
    std::vector<uint32_t> maps;
    bool IsOurs() const;     // of any version
    bool IsCurrent() const;  // of this one
  };

  explicit Kernel(netlink::Xdp xdp) : xdp_(std::move(xdp)) {}
  Result<Seen> Look(const std::string& representor);
  // A map of a guard of this version. Errors: kNotFound the link has no such guard.
  Result<Fd> MapOfLink(const std::string& representor, const char* name);

  netlink::Xdp xdp_;
};

}  // namespace rail::guard
