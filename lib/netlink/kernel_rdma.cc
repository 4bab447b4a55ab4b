#include "lib/netlink/kernel_rdma.h"

#include <rdma/rdma_netlink.h>

#include <algorithm>

#include "lib/netlink/attributes.h"
#include "lib/netlink/builder.h"

namespace rail::netlink {
namespace {

constexpr int TypeOf(int command) {
  return RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command);
}

using RdmaAttributes = Attributes<RDMA_NLDEV_ATTR_MAX - 1>;

std::string NameOf(uint32_t device) {
  return "RDMA device " + std::to_string(device);
}

}  // namespace

std::optional<RdmaDevice> DecodeRdmaDevice(std::string_view message) {
  RdmaAttributes attributes;
  if (!ParseBare(message, TypeOf(RDMA_NLDEV_CMD_GET), attributes)) return std::nullopt;
  const auto index = attributes.Uint32(RDMA_NLDEV_ATTR_DEV_INDEX);
  if (!index) return std::nullopt;
  return RdmaDevice{*index, attributes.String(RDMA_NLDEV_ATTR_DEV_NAME)};
}

std::optional<RdmaNetns> DecodeRdmaNetns(std::string_view message) {
  RdmaAttributes attributes;
  if (!ParseBare(message, TypeOf(RDMA_NLDEV_CMD_SYS_GET), attributes)) return std::nullopt;
  const auto shared = attributes.Uint8(RDMA_NLDEV_SYS_ATTR_NETNS_MODE);
  if (!shared) return std::nullopt;
  return *shared != 0 ? RdmaNetns::kShared : RdmaNetns::kExclusive;
}

Result<std::unique_ptr<Rdma>> KernelRdma::Open() {
  RAIL_ASSIGN_AS(Socket socket, Socket::Open(NETLINK_RDMA), "look for RDMA in the kernel");
  return std::unique_ptr<Rdma>(new KernelRdma(std::move(socket)));
}

Result<RdmaNetns> KernelRdma::NetnsMode() {
  RAIL_ASSIGN(const auto mode, Ask(socket_, Builder(TypeOf(RDMA_NLDEV_CMD_SYS_GET), 0),
                                   "read the RDMA system's namespace mode", DecodeRdmaNetns));
  // Kernels before 5.3 have no modes: every namespace sees every device.
  return mode.value_or(RdmaNetns::kShared);
}

Result<std::vector<RdmaDevice>> KernelRdma::List() {
  return netlink::List(socket_, Builder(TypeOf(RDMA_NLDEV_CMD_GET), 0), "list RDMA devices",
                       DecodeRdmaDevice);
}

// The kernel answers EINVAL both for a device that does not exist and for a name that it does not accept. Tells them apart.
Status KernelRdma::Set(uint32_t device, const Builder& message, const std::string& doing) {
  Status status = Run(socket_, message, doing);
  if (status || status.error().code != Code::kInvalid) return status;
  RAIL_ASSIGN_AS(const std::vector<RdmaDevice> devices, List(), doing);
  const bool there = std::ranges::find(devices, device, &RdmaDevice::index) != devices.end();
  if (!there) status.error().code = Code::kNotFound;
  return status;
}

Status KernelRdma::Rename(uint32_t device, std::string_view name) {
  Builder message(TypeOf(RDMA_NLDEV_CMD_SET), 0);
  message.Uint32(RDMA_NLDEV_ATTR_DEV_INDEX, device).String(RDMA_NLDEV_ATTR_DEV_NAME, name);
  return Set(device, message, "rename " + NameOf(device) + " to " + std::string(name));
}

Status KernelRdma::Move(uint32_t device, int netns_fd) {
  Builder message(TypeOf(RDMA_NLDEV_CMD_SET), 0);
  message.Uint32(RDMA_NLDEV_ATTR_DEV_INDEX, device)
      .Uint32(RDMA_NLDEV_NET_NS_FD, static_cast<uint32_t>(netns_fd));
  return Set(device, message, "move " + NameOf(device) + " to another namespace");
}

}  // namespace rail::netlink
