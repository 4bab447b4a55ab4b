#include "lib/cni/device_info.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "lib/base/fd.h"
#include "lib/base/strict_json.h"
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

Status WriteAll(const Fd& file, const std::string& text, const std::string& path) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(file.get(), text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return FailErrno(n < 0 ? errno : EIO, "write " + path);
    done += static_cast<size_t>(n);
  }
  return {};
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
  // Multus makes its copy read-only (0444), and a reader must never see half a file: write a new file and rename it.
  const std::string fresh = path + ".railcni";
  (void)::unlink(fresh.c_str());
  const Fd file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0444));
  if (!file) return FailErrno(errno, "make " + fresh);
  Status status =
      WriteAll(file, DumpJson({{"type", "pci"}, {"version", "1.1.0"}, {"pci", std::move(pci)}}), fresh);
  if (status && ::rename(fresh.c_str(), path.c_str()) != 0)
    status = FailErrno(errno, "put the new " + path + " in its place");
  if (!status) (void)::unlink(fresh.c_str());
  return status;
}

}  // namespace rail::cni
