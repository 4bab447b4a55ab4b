#include "lib/cni/device_info.h"

#include <nlohmann/json.hpp>

#include "lib/base/strict_json.h"
#include "lib/base/whole_file.h"
#include "lib/cni/version.h"

namespace rail::cni {
namespace {

using nlohmann::json;

constexpr const char* kKey = "CNIDeviceInfoFile";
constexpr const char* kFolder = "/k8s.cni.cncf.io/devinfo/cni/";

bool IsPathOfARuntime(const std::string& path) {
  if (!path.starts_with('/') || path.size() > 4000 || path.find('\0') != std::string::npos) return false;
  const size_t folder = path.rfind(kFolder);
  if (folder == std::string::npos) return false;
  const std::string name = path.substr(folder + std::string_view(kFolder).size());
  return !name.empty() && name.size() <= 200 && name.find('/') == std::string::npos && name[0] != '.' &&
         path.find("/../") == std::string::npos && path.find("/./") == std::string::npos;
}

// The "pci" object of the existing file if it describes this device, else {}.
json KnownOf(const std::string& path, const PciDevice& device) {
  const auto old = ReadJsonFile(path);
  if (!old || !old->is_object()) return json::object();
  const auto pci = old->find("pci");
  if (pci == old->end() || !pci->is_object() || pci->value("pci-address", json()) != device.address)
    return json::object();
  return *pci;
}

}  // namespace

Outcome<std::string> DeviceInfoFile(const Request& request) {
  const auto runtime = request.config->find("runtimeConfig");
  if (runtime == request.config->end() || !runtime->is_object()) return std::string();
  const auto path = runtime->find(kKey);
  if (path == runtime->end() || path->is_null() || *path == "") return std::string();
  if (path->is_string() && IsPathOfARuntime(path->get_ref<const std::string&>()))
    return path->get<std::string>();
  return CniFail(7,
                 "invalid network config: runtimeConfig.CNIDeviceInfoFile must be an absolute path of a file "
                 "in a folder "
                 "k8s.cni.cncf.io/devinfo/cni",
                 "it is " + DumpJson(*path).substr(0, 256));
}

Status WriteDeviceInfo(const std::string& path, const PciDevice& device) {
  json pci = KnownOf(path, device);
  pci["pci-address"] = device.address;
  const std::pair<const char*, const std::string*> facts[] = {{"pf-pci-address", &device.pf},
                                                              {"rdma-device", &device.rdma},
                                                              {"representor-device", &device.representor}};
  for (const auto& [key, value] : facts) {
    if (!value->empty()) pci[key] = *value;
  }
  // Multus makes its copy read-only (0444), and a reader must never see half a file.
  return WriteWhole(path, DumpJson({{"type", "pci"}, {"version", "1.1.0"}, {"pci", std::move(pci)}}), 0444);
}

}  // namespace rail::cni
