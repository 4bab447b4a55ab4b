// The kernel's Dcb: rtnetlink, RTM_GETDCB and RTM_SETDCB.
//
// Use:      RAIL_ASSIGN(auto dcb, KernelDcb::Open());
// Threads:  one at a time
// Owns:     one socket; caches nothing
// Source:   kernel include/uapi/linux/dcbnl.h, net/dcb/dcbnl.c
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "lib/netlink/dcb.h"
#include "lib/netlink/socket.h"

namespace rail::netlink {

class KernelDcb : public Dcb {
 public:
  static Result<std::unique_ptr<Dcb>> Open();

  Result<DcbState> Get(const std::string& link) override;
  Status SetPfc(const std::string& link, uint8_t enabled) override;
  Status AddApp(const std::string& link, const DcbApp& app) override;
  Status DeleteApp(const std::string& link, const DcbApp& app) override;

 private:
  explicit KernelDcb(Socket socket) : socket_(std::move(socket)) {}
  // Sends a request that the kernel answers with an errno in a message of its own.
  Status Change(nl_msg* message, const std::string& doing);

  Socket socket_;
};

// The requests, for comparison with those of dcb(8). Pure.
Message GetDcbRequest(const std::string& link);
Message SetPfcRequest(const std::string& link, const DcbPfc& pfc);
Message AppRequest(const std::string& link, const DcbApp& app, bool add);
// These functions decode a message of the kernel; nothing when it is another message. Pure.
std::optional<DcbState> DecodeDcb(std::string_view message);
std::optional<int> DecodeDcbErrno(std::string_view message);  // 0: it is done

}  // namespace rail::netlink
