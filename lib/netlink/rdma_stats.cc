#include "lib/netlink/rdma_stats.h"

#include <rdma/rdma_netlink.h>

#include <cstring>

#include "lib/netlink/attributes.h"
#include "lib/netlink/builder.h"
#include "lib/netlink/kernel_rdma.h"

namespace rail::netlink {
namespace {

using RdmaAttributes = Attributes<RDMA_NLDEV_ATTR_MAX - 1>;

constexpr int TypeOf(int command) {
  return RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command);
}

}  // namespace

std::optional<std::vector<RdmaCounter>> DecodeRdmaCounters(std::string_view message) {
  RdmaAttributes attributes;
  if (!ParseBare(message, TypeOf(RDMA_NLDEV_CMD_STAT_GET), attributes)) return std::nullopt;
  std::vector<RdmaCounter> counters;
  nlattr* table = attributes.raw(RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
  if (table == nullptr) return counters;
  nlattr* entry = nullptr;
  int rest = 0;
  nla_for_each_nested(entry, table, rest) {
    RdmaAttributes fields;
    if (nla_parse_nested(fields.table(), RDMA_NLDEV_ATTR_MAX - 1, entry, nullptr) < 0) continue;
    const auto value = fields.Uint64(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE);
    std::string name = fields.String(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME);
    if (value && !name.empty()) counters.push_back({std::move(name), *value});
  }
  return counters;
}

std::optional<RdmaPort> DecodeRdmaPort(std::string_view message) {
  RdmaAttributes attributes;
  if (!ParseBare(message, TypeOf(RDMA_NLDEV_CMD_PORT_GET), attributes)) return std::nullopt;
  const auto port = attributes.Uint32(RDMA_NLDEV_ATTR_PORT_INDEX);
  if (!port) return std::nullopt;
  return RdmaPort{*port, attributes.String(RDMA_NLDEV_ATTR_NDEV_NAME)};
}

Result<RdmaStats> RdmaStats::Open() {
  RAIL_ASSIGN_AS(Socket socket, Socket::Open(NETLINK_RDMA), "read the counters of RDMA devices");
  return RdmaStats(std::move(socket));
}

Status RdmaStats::List() {
  const std::string doing = "list RDMA devices";
  const Builder list(TypeOf(RDMA_NLDEV_CMD_GET), 0);
  RAIL_TRY(list.Check(doing));
  indexes_.clear();
  return socket_.Dump(
      list.get(), doing,
      [&](std::string_view bytes) {
        if (const auto each = DecodeRdmaDevice(bytes)) indexes_[each->name] = each->index;
      },
      [this] { indexes_.clear(); });
}

Result<std::vector<RdmaCounter>> RdmaStats::Of(const std::string& device) {
  const std::string doing = "read the counters of RDMA device " + device;
  if (!indexes_.contains(device)) RAIL_TRY(List());
  const auto known = indexes_.find(device);
  if (known == indexes_.end()) return Fail(Code::kNotFound, doing + ": there is none in this namespace");
  Builder message(TypeOf(RDMA_NLDEV_CMD_STAT_GET), 0);
  message.Uint32(RDMA_NLDEV_ATTR_DEV_INDEX, known->second).Uint32(RDMA_NLDEV_ATTR_PORT_INDEX, 1);
  RAIL_TRY(message.Check(doing));
  std::vector<RdmaCounter> counters;
  bool of_another = false;
  const Status asked = socket_.Request(message.get(), doing, [&](std::string_view bytes) {
    RdmaAttributes attributes;
    if (!ParseBare(bytes, TypeOf(RDMA_NLDEV_CMD_STAT_GET), attributes)) return;
    of_another = attributes.String(RDMA_NLDEV_ATTR_DEV_NAME) != device;
    counters = DecodeRdmaCounters(bytes).value_or(std::vector<RdmaCounter>());
  });
  if (asked && !of_another) return counters;
  indexes_.erase(device);  // it may have another index now
  if (!asked) return tl::make_unexpected(asked.error());
  return Fail(Code::kNotFound, doing + ": another device has its index now");
}

// In a dump, since the kernel's answer to a request for one port has the type of a device's (nldev_port_get_doit).
bool RdmaStats::IsOf(uint32_t device, const std::string& link) {
  const std::string doing = "find the RDMA device of " + link;
  Builder message(TypeOf(RDMA_NLDEV_CMD_PORT_GET), 0);
  message.Uint32(RDMA_NLDEV_ATTR_DEV_INDEX, device);
  if (!message.Check(doing)) return false;
  bool its = false;
  const Status asked = socket_.Dump(
      message.get(), doing,
      [&](std::string_view bytes) {
        const auto port = DecodeRdmaPort(bytes);
        its = its || (port && port->port == 1 && port->link == link);
      },
      [&] { its = false; });
  return asked && its;  // one that has gone meanwhile is not its
}

Result<std::string> RdmaStats::DeviceOf(const std::string& link, const std::string& likely) {
  RAIL_TRY(List());
  const auto first = indexes_.find(likely);
  if (first != indexes_.end() && IsOf(first->second, link)) return likely;
  for (const auto& [device, index] : indexes_) {
    if (device != likely && IsOf(index, link)) return device;
  }
  return Fail(Code::kNotFound, "find the RDMA device of " + link + ": there is none");
}

Result<std::vector<RdmaCounter>> RdmaOfPod(const std::string& path, const netns::Identity& identity,
                                           const std::string& link, std::string& device) {
  RAIL_ASSIGN(const netns::Netns pod, netns::Netns::Open(path));
  if (pod.identity() != identity)
    return Fail(Code::kNotFound, "read the RDMA counters of a pod: " + path + " is another pod's namespace");
  std::optional<RdmaStats> rdma;
  RAIL_TRY(pod.Run([&]() -> Status {
    RAIL_ASSIGN(auto opened, RdmaStats::Open());
    rdma.emplace(std::move(opened));
    return {};
  }));
  RAIL_ASSIGN(device, rdma->DeviceOf(link, device));
  return rdma->Of(device);
}

}  // namespace rail::netlink
