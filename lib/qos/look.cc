#include "lib/qos/look.h"

#include <charconv>
#include <string_view>

namespace rail::qos {
namespace {

const std::string kConfigfs = "kernel/config/rdma_cm";

std::optional<uint8_t> Byte(std::string_view text) {
  uint8_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

std::optional<bool> Switch(const sriov::Sysfs& sysfs, const std::string& path) {
  const auto text = sysfs.Read(path);
  if (!text || (*text != "0" && *text != "1")) return std::nullopt;
  return *text == "1";
}

// "Global tclass=106", of the drivers that NVIDIA ships; without a value for all, the file has no such line.
std::optional<uint8_t> TrafficClass(const std::optional<std::string>& text) {
  constexpr std::string_view kGlobal = "Global tclass=";
  if (!text) return std::nullopt;
  const size_t at = text->find(kGlobal);
  return at == std::string::npos ? std::nullopt : Byte(std::string_view(*text).substr(at + kGlobal.size()));
}

// Devices that are in a pod's namespace are not in these folders.
std::vector<std::string> Devices(const sriov::Sysfs& sysfs, const std::string& uplink) {
  const std::string pf = "class/net/" + uplink + "/device";
  std::vector<std::string> devices = sysfs.List(pf + "/infiniband");
  for (const std::string& each : sysfs.List(pf)) {
    if (!each.starts_with("virtfn")) continue;
    std::string folder = pf;
    folder.append("/").append(each).append("/infiniband");
    for (const std::string& device : sysfs.List(folder)) devices.push_back(device);
  }
  return devices;
}

}  // namespace

Seen Look(const std::string& uplink, netlink::Dcb& dcb, const sriov::Sysfs& sysfs) {
  Seen seen;
  seen.dcb = dcb.Get(uplink);
  const std::string ecn = "class/net/" + uplink + "/ecn/";
  for (uint8_t priority = 0; priority < netlink::kPriorities; ++priority) {
    const std::string number = std::to_string(priority);
    seen.ecn[priority] = {.notifies = Switch(sysfs, ecn + "roce_np/enable/" + number),
                          .reacts = Switch(sysfs, ecn + "roce_rp/enable/" + number)};
  }
  seen.has_configfs = sysfs.Exists(kConfigfs);
  for (const std::string& device : Devices(sysfs, uplink)) {
    const auto cm = sysfs.Read(kConfigfs + "/" + device + "/ports/1/default_roce_tos");
    seen.tos.push_back(
        {.device = device,
         .cm = cm ? Byte(*cm) : std::nullopt,
         .all = TrafficClass(sysfs.Read("class/infiniband/" + device + "/tc/1/traffic_class"))});
  }
  return seen;
}

}  // namespace rail::qos
