// The kernel's Devlink: generic netlink, family "devlink".
//
// Use:      RAIL_ASSIGN(auto devlink, KernelDevlink::Open());
// Threads:  one at a time
// Owns:     one socket; caches nothing
// Source:   kernel include/uapi/linux/{devlink,genetlink}.h
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "lib/netlink/devlink.h"
#include "lib/netlink/socket.h"

namespace rail::netlink {

class KernelDevlink : public Devlink {
 public:
  // Errors: kUnsupported this kernel has no devlink.
  static Result<std::unique_ptr<Devlink>> Open();

  Result<std::vector<DevlinkPort>> ListPorts(const DevlinkHandle& device) override;
  Result<EswitchMode> GetEswitchMode(const DevlinkHandle& device) override;
  Status SetEswitchMode(const DevlinkHandle& device, EswitchMode mode) override;
  Result<std::string> GetParam(const DevlinkHandle& device, const std::string& name) override;
  Status SetParam(const DevlinkHandle& device, const std::string& name, const std::string& value) override;

 private:
  KernelDevlink(Socket socket, int family) : socket_(std::move(socket)), family_(family) {}

  Socket socket_;
  int family_;  // the number of the family in this kernel
};

// These functions decode a message of the kernel; nothing when it is another message. Pure.
struct PortOf {
  DevlinkHandle device;
  DevlinkPort port;
};
std::optional<PortOf> DecodePort(std::string_view message);
std::optional<EswitchMode> DecodeEswitchMode(std::string_view message);
std::optional<std::string> DecodeStringParam(std::string_view message);

}  // namespace rail::netlink
