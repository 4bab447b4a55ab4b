#include "cmd/raild/workers/device_offers.h"

#include <sys/stat.h>

#include <algorithm>
#include <random>
#include <utility>

#include "cmd/raild/workers/rail_devices.h"
#include "lib/base/log.h"
#include "lib/kubelet/registration.h"

namespace rail::raild {
namespace {

constexpr std::chrono::seconds kAnswerTime{5};  // the kubelet calls the plugin before it answers

std::string NewInstance() {
  std::random_device random;
  return std::to_string(random()) + std::to_string(random());
}

}  // namespace

DeviceOffers::DeviceOffers(const config::NodeConfig& config, const engine::ViewPublisher& views,
                           sriov::Sysfs sysfs, std::string device_info, LibraryFiles* libraries,
                           RailPools::See see)
    : config_(config),
      views_(views),
      sysfs_(std::move(sysfs)),
      device_info_(std::move(device_info)),
      libraries_(libraries),
      pools_(config, views, std::move(see)),
      instance_(NewInstance()) {
  for (const config::Rail& rail : config.rails) {
    offers_.push_back({.rail = rail, .resource = config.kubelet.ResourceOf(rail)});
  }
}

std::optional<Deadline> DeviceOffers::Look(Deadline now) {
  const RailPools::Looked looked = pools_.Look(now);
  for (Offer& offer : offers_) {
    const bool has_changed = std::ranges::find(looked.changed, &offer.rail) != looked.changed.end();
    if (has_changed && offer.plugin) offer.plugin->Publish(pools_.Of(offer.rail));
  }
  return looked.again;
}

Status DeviceOffers::Serve() {
  struct stat socket{};
  if (!pools_.has_looked() || ::stat((config_.kubelet.folder + "/kubelet.sock").c_str(), &socket) != 0)
    return {};
  const KubeletId kubelet{socket.st_ino, socket.st_ctim.tv_sec * 1'000'000'000 + socket.st_ctim.tv_nsec};
  Status served;
  for (Offer& offer : offers_) {
    const bool is_known = offer.known_to == kubelet && offer.plugin && offer.plugin->IsReachable();
    Status introduced = is_known ? Status() : Introduce(offer, kubelet);
    const bool hangs = !introduced && introduced.error().code == Code::kTransient;
    if (served && !introduced) served = std::move(introduced);
    if (hangs) break;
  }
  return served;
}

// The plugin before this one ends after the kubelet has heard of the new one.
Status DeviceOffers::Introduce(Offer& offer, const KubeletId& kubelet) {
  std::unique_ptr<kubelet::DevicePlugin> before;
  if (!offer.plugin || !offer.plugin->IsReachable()) {
    before = std::move(offer.plugin);
    RAIL_TRY(Start(offer));
  }
  RAIL_TRY(kubelet::Register(config_.kubelet.folder + "/kubelet.sock",
                             {.endpoint = offer.endpoint, .resource = offer.resource}, After(kAnswerTime)));
  offer.known_to = kubelet;
  return {};
}

Status DeviceOffers::Start(Offer& offer) {
  const std::string& folder = config_.kubelet.folder;
  RAIL_ASSIGN(offer.endpoint, kubelet::SocketNameFor(folder, offer.resource, instance_));
  RAIL_ASSIGN(
      offer.plugin,
      kubelet::DevicePlugin::Start(
          folder + "/" + offer.endpoint,
          {.allocate = [this, &offer](const std::vector<std::string>& ids) { return Allocate(offer, ids); },
           .prefer =
               [this](const auto& available, const auto& must_include, size_t size) {
                 return PreferFree(*views_.Current(), available, must_include, size);
               }}));
  offer.plugin->Publish(pools_.Of(offer.rail));
  return {};
}

Result<kubelet::Allocation> DeviceOffers::Allocate(const Offer& offer,
                                                   const std::vector<std::string>& ids) const {
  if (const Status told = WriteDeviceInfos(device_info_, offer.resource, ids, sysfs_); !told)
    log::Warning("the pod's network-status will lack its device of {}: {}", offer.resource,
                 told.error().message);
  kubelet::Allocation allocation = AllocationOf(offer.resource, ids, sysfs_);
  if (libraries_ == nullptr || ids.empty()) return allocation;
  if (const auto folder = libraries_->Prepare(ids)) {
    AddLibraries(allocation, offer.rail.name, *folder);
  } else {
    log::Warning("the pod that gets {} has to configure NCCL and UCX by itself: {}", ids.front(),
                 folder.error().message);
  }
  return allocation;
}

}  // namespace rail::raild
