// The kernel's Rdma: NETLINK_RDMA, client nldev.
//
// Use:      RAIL_ASSIGN(auto rdma, KernelRdma::Open());
// Threads:  one at a time
// Owns:     one socket; caches nothing
// Source:   kernel include/uapi/rdma/rdma_netlink.h
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lib/netlink/rdma.h"
#include "lib/netlink/socket.h"

namespace rail::netlink {

class Builder;

class KernelRdma : public Rdma {
 public:
  // Errors: kUnsupported this kernel has no RDMA (ib_core is not loaded).
  static Result<std::unique_ptr<Rdma>> Open();

  Result<RdmaNetns> NetnsMode() override;
  Result<std::vector<RdmaDevice>> List() override;
  Status Rename(uint32_t device, std::string_view name) override;
  Status Move(uint32_t device, int netns_fd) override;

 private:
  Status Set(uint32_t device, const Builder& message, const std::string& doing);
  explicit KernelRdma(Socket socket) : socket_(std::move(socket)) {}

  Socket socket_;
};

// These functions decode a message of the kernel; nothing when it is another message. Pure.
std::optional<RdmaDevice> DecodeRdmaDevice(std::string_view message);
std::optional<RdmaNetns> DecodeRdmaNetns(std::string_view message);

}  // namespace rail::netlink
