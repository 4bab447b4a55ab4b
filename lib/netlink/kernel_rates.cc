#include "lib/netlink/kernel_rates.h"

#include "lib/netlink/devlink_message.h"
#include "lib/netlink/kernel_devlink.h"

namespace rail::netlink {
namespace {

std::string Of(const DevlinkHandle& device, const std::string& name) {
  return "rate node " + name + " of " + device.ToString();
}

}  // namespace

void DecodeRate(std::string_view message, RateTrees& trees) {
  DevlinkAttributes attributes;
  if (ParseGeneric(message, attributes) == nullptr) return;
  const DevlinkHandle of{attributes.String(DEVLINK_ATTR_BUS_NAME), attributes.String(DEVLINK_ATTR_DEV_NAME)};
  const auto type = attributes.Uint16(DEVLINK_ATTR_RATE_TYPE);
  if (!type) return;
  const Rate rate{attributes.Uint64(DEVLINK_ATTR_RATE_TX_SHARE).value_or(0),
                  attributes.Uint64(DEVLINK_ATTR_RATE_TX_MAX).value_or(0)};
  const std::string parent = attributes.String(DEVLINK_ATTR_RATE_PARENT_NODE_NAME);
  if (*type == DEVLINK_RATE_TYPE_NODE)
    trees[of].nodes.push_back({attributes.String(DEVLINK_ATTR_RATE_NODE_NAME), rate, parent});
  if (*type == DEVLINK_RATE_TYPE_LEAF)
    trees[of].leaves.push_back({attributes.Uint32Or(DEVLINK_ATTR_PORT_INDEX, 0), rate, parent});
}

void DecodeRate(std::string_view message, const DevlinkHandle& device, RateTree& tree) {
  RateTrees one;
  DecodeRate(message, one);
  const RateTree& found = one[device];
  tree.nodes.insert(tree.nodes.end(), found.nodes.begin(), found.nodes.end());
  tree.leaves.insert(tree.leaves.end(), found.leaves.begin(), found.leaves.end());
}

Builder NodeRequest(int family, uint8_t command, const DevlinkHandle& device, const std::string& name,
                    const std::optional<Rate>& rate) {
  Builder message = OfDevice(family, command, device);
  message.String(DEVLINK_ATTR_RATE_NODE_NAME, name);
  if (rate)
    message.Uint64(DEVLINK_ATTR_RATE_TX_SHARE, rate->share).Uint64(DEVLINK_ATTR_RATE_TX_MAX, rate->max);
  return message;
}

// An empty name of a parent means none (net/devlink/rate.c, devlink_nl_rate_parent_node_set).
Builder LeafRequest(int family, const DevlinkHandle& device, uint32_t port, const std::optional<Rate>& rate,
                    const std::optional<std::string>& parent) {
  Builder message = OfDevice(family, DEVLINK_CMD_RATE_SET, device);
  message.Uint32(DEVLINK_ATTR_PORT_INDEX, port);
  if (rate)
    message.Uint64(DEVLINK_ATTR_RATE_TX_SHARE, rate->share).Uint64(DEVLINK_ATTR_RATE_TX_MAX, rate->max);
  if (parent) message.String(DEVLINK_ATTR_RATE_PARENT_NODE_NAME, *parent);
  return message;
}

Result<std::unique_ptr<Rates>> KernelRates::Open() {
  RAIL_ASSIGN(Socket socket, Socket::Open(NETLINK_GENERIC));
  RAIL_ASSIGN(const int family, FindDevlink(socket));
  return std::unique_ptr<Rates>(new KernelRates(std::move(socket), family));
}

Result<RateTrees> KernelRates::ListAll() {
  const std::string doing = "list the rates of all NICs";
  const Builder message = OfAllDevices(family_, DEVLINK_CMD_RATE_GET);
  RAIL_TRY(message.Check(doing));
  RateTrees trees;
  RAIL_TRY(socket_.Dump(
      message.get(), doing, [&](std::string_view bytes) { DecodeRate(bytes, trees); }, [&] { trees = {}; }));
  return trees;
}

Result<std::map<std::string, NicPort>> KernelRates::Ports() {
  const std::string doing = "list the ports of all NICs";
  const Builder message = OfAllDevices(family_, DEVLINK_CMD_PORT_GET);
  RAIL_TRY(message.Check(doing));
  std::map<std::string, NicPort> ports;
  RAIL_TRY(socket_.Dump(
      message.get(), doing,
      [&](std::string_view bytes) {
        const auto found = DecodePort(bytes);
        if (found && !found->port.netdev.empty())
          ports[found->port.netdev] = {found->device, found->port.index};
      },
      [&] { ports.clear(); }));
  return ports;
}

Result<RateTree> KernelRates::List(const DevlinkHandle& device) {
  const std::string doing = "list the rates of " + device.ToString();
  const Builder message = OfDevice(family_, DEVLINK_CMD_RATE_GET, device);
  RAIL_TRY(message.Check(doing));
  RateTree tree;
  const Status listed = socket_.Dump(
      message.get(), doing, [&](std::string_view bytes) { DecodeRate(bytes, device, tree); },
      [&] { tree = {}; });
  if (!listed && listed.error().code != Code::kNotFound) return tl::make_unexpected(listed.error());
  return tree;
}

Status KernelRates::AddNode(const DevlinkHandle& device, const std::string& name, const Rate& rate) {
  return Run(socket_, NodeRequest(family_, DEVLINK_CMD_RATE_NEW, device, name, rate),
             "add " + Of(device, name));
}

Status KernelRates::SetNode(const DevlinkHandle& device, const std::string& name, const Rate& rate) {
  return Run(socket_, NodeRequest(family_, DEVLINK_CMD_RATE_SET, device, name, rate),
             "set " + Of(device, name));
}

Status KernelRates::DeleteNode(const DevlinkHandle& device, const std::string& name) {
  return Run(socket_, NodeRequest(family_, DEVLINK_CMD_RATE_DEL, device, name, std::nullopt),
             "delete " + Of(device, name));
}

Status KernelRates::SetLeaf(const DevlinkHandle& device, uint32_t port, const std::optional<Rate>& rate,
                            const std::optional<std::string>& parent) {
  return Run(socket_, LeafRequest(family_, device, port, rate, parent),
             "set the rate of port " + std::to_string(port) + " of " + device.ToString());
}

}  // namespace rail::netlink
