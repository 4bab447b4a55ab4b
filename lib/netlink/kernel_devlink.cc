#include "lib/netlink/kernel_devlink.h"

#include "lib/netlink/devlink_message.h"

namespace rail::netlink {
namespace {

constexpr uint8_t kStringType = 5;  // the kernel's NLA_STRING; no uapi header defines it

DevlinkPort::Flavour FlavourOf(std::optional<uint16_t> flavour) {
  switch (flavour.value_or(DEVLINK_PORT_FLAVOUR_UNUSED)) {
    case DEVLINK_PORT_FLAVOUR_PHYSICAL: return DevlinkPort::Flavour::kPhysical;
    case DEVLINK_PORT_FLAVOUR_PCI_PF: return DevlinkPort::Flavour::kPciPf;
    case DEVLINK_PORT_FLAVOUR_PCI_VF: return DevlinkPort::Flavour::kPciVf;
    case DEVLINK_PORT_FLAVOUR_PCI_SF: return DevlinkPort::Flavour::kPciSf;
    default: return DevlinkPort::Flavour::kOther;
  }
}

// The kernel answers ENODEV if devlink does not know the device, and EOPNOTSUPP if the driver does not support the request.
template <class Value>
Result<Value> AskDriver(Socket& socket, const Builder& message, const std::string& doing,
                        std::optional<Value> (*decode)(std::string_view)) {
  RAIL_ASSIGN(std::optional<Value> value, Ask(socket, message, doing, decode));
  if (!value) return Fail(Code::kUnsupported, doing + ": the driver does not say");
  return std::move(*value);
}

}  // namespace

std::optional<PortOf> DecodePort(std::string_view message) {
  DevlinkAttributes attributes;
  if (ParseGeneric(message, attributes) == nullptr || !attributes.Has(DEVLINK_ATTR_PORT_INDEX)) {
    return std::nullopt;
  }
  PortOf found;
  found.device = {attributes.String(DEVLINK_ATTR_BUS_NAME), attributes.String(DEVLINK_ATTR_DEV_NAME)};
  found.port.index = attributes.Uint32Or(DEVLINK_ATTR_PORT_INDEX, 0);
  found.port.flavour = FlavourOf(attributes.Uint16(DEVLINK_ATTR_PORT_FLAVOUR));
  found.port.controller = attributes.Uint32Or(DEVLINK_ATTR_PORT_CONTROLLER_NUMBER, 0);
  found.port.pf = attributes.Uint16(DEVLINK_ATTR_PORT_PCI_PF_NUMBER).value_or(0);
  found.port.vf = attributes.Uint16(DEVLINK_ATTR_PORT_PCI_VF_NUMBER).value_or(0);
  found.port.netdev = attributes.String(DEVLINK_ATTR_PORT_NETDEV_NAME);
  return found;
}

std::optional<EswitchMode> DecodeEswitchMode(std::string_view message) {
  DevlinkAttributes attributes;
  if (ParseGeneric(message, attributes) == nullptr) return std::nullopt;
  const auto mode = attributes.Uint16(DEVLINK_ATTR_ESWITCH_MODE);
  if (mode == DEVLINK_ESWITCH_MODE_LEGACY) return EswitchMode::kLegacy;
  if (mode == DEVLINK_ESWITCH_MODE_SWITCHDEV) return EswitchMode::kSwitchdev;
  return std::nullopt;
}

std::optional<std::string> DecodeStringParam(std::string_view message) {
  DevlinkAttributes attributes;
  if (ParseGeneric(message, attributes) == nullptr) return std::nullopt;
  const auto param = attributes.Nested<DEVLINK_ATTR_MAX>(DEVLINK_ATTR_PARAM);
  nlattr* values = param.raw(DEVLINK_ATTR_PARAM_VALUES_LIST);
  if (values == nullptr || param.Uint8(DEVLINK_ATTR_PARAM_TYPE) != kStringType) return std::nullopt;
  int left = nla_len(values);
  for (auto* one = static_cast<nlattr*>(nla_data(values)); nla_ok(one, left); one = nla_next(one, &left)) {
    DevlinkAttributes value;
    if (nla_parse_nested(value.table(), DEVLINK_ATTR_MAX, one, nullptr) < 0) continue;
    if (value.Uint8(DEVLINK_ATTR_PARAM_VALUE_CMODE) == DEVLINK_PARAM_CMODE_RUNTIME) {
      return value.String(DEVLINK_ATTR_PARAM_VALUE_DATA);
    }
  }
  return std::nullopt;
}

Result<std::unique_ptr<Devlink>> KernelDevlink::Open() {
  RAIL_ASSIGN(Socket socket, Socket::Open(NETLINK_GENERIC));
  RAIL_ASSIGN(const int family, FindDevlink(socket));
  return std::unique_ptr<Devlink>(new KernelDevlink(std::move(socket), family));
}

Result<std::vector<DevlinkPort>> KernelDevlink::ListPorts(const DevlinkHandle& device) {
  const std::string doing = "list the ports of " + device.ToString();
  // Kernels before 6.5 do not filter by device and list the ports of all devices.
  const Builder message = OfDevice(family_, DEVLINK_CMD_PORT_GET, device);
  RAIL_TRY(message.Check(doing));
  std::vector<DevlinkPort> ports;
  const Status listed = socket_.Dump(
      message.get(), doing,
      [&](std::string_view bytes) {
        auto found = DecodePort(bytes);
        if (found && found->device == device) ports.push_back(std::move(found->port));
      },
      [&] { ports.clear(); });
  if (!listed && listed.error().code != Code::kNotFound) return tl::make_unexpected(listed.error());
  return ports;
}

Result<EswitchMode> KernelDevlink::GetEswitchMode(const DevlinkHandle& device) {
  return AskDriver<EswitchMode>(socket_, OfDevice(family_, DEVLINK_CMD_ESWITCH_GET, device),
                                "read the eSwitch mode of " + device.ToString(), DecodeEswitchMode);
}

Status KernelDevlink::SetEswitchMode(const DevlinkHandle& device, EswitchMode mode) {
  Builder message = OfDevice(family_, DEVLINK_CMD_ESWITCH_SET, device);
  const bool switchdev = mode == EswitchMode::kSwitchdev;
  message.Uint16(DEVLINK_ATTR_ESWITCH_MODE,
                 switchdev ? DEVLINK_ESWITCH_MODE_SWITCHDEV : DEVLINK_ESWITCH_MODE_LEGACY);
  return Run(socket_, message,
             "set the eSwitch of " + device.ToString() + " to " + (switchdev ? "switchdev" : "legacy"));
}

Result<std::string> KernelDevlink::GetParam(const DevlinkHandle& device, const std::string& name) {
  Builder message = OfDevice(family_, DEVLINK_CMD_PARAM_GET, device);
  message.String(DEVLINK_ATTR_PARAM_NAME, name);
  const std::string doing = "read parameter " + name + " of " + device.ToString();
  auto value = AskDriver<std::string>(socket_, message, doing, DecodeStringParam);
  // The kernel answers EINVAL if the device has no such parameter.
  if (!value && value.error().code == Code::kInvalid) value.error().code = Code::kNotFound;
  return value;
}

Status KernelDevlink::SetParam(const DevlinkHandle& device, const std::string& name,
                               const std::string& value) {
  Builder message = OfDevice(family_, DEVLINK_CMD_PARAM_SET, device);
  message.String(DEVLINK_ATTR_PARAM_NAME, name)
      .Uint8(DEVLINK_ATTR_PARAM_TYPE, kStringType)
      .Uint8(DEVLINK_ATTR_PARAM_VALUE_CMODE, DEVLINK_PARAM_CMODE_RUNTIME)
      .String(DEVLINK_ATTR_PARAM_VALUE_DATA, value);
  return Run(socket_, message, "set parameter " + name + " of " + device.ToString() + " to " + value);
}

}  // namespace rail::netlink
