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

using engine::Part;

constexpr std::chrono::seconds kAnswerTime{5};  // the kubelet calls the plugin before it answers

std::string NewInstance() {
  std::random_device random;
  return std::to_string(random()) + std::to_string(random());
}

bool IsLookedAt(const engine::NodeView& view, const engine::PartId& part) {
  return std::ranges::find(view.health, part, &engine::Health::part) != view.health.end();
}

bool IsWhole(const engine::NodeView& view) {
  const auto is_looked_at = [&](const engine::RailView& rail) {
    return IsLookedAt(view, {Part::kRail, rail.rail.name});
  };
  return !view.rails.empty() && std::ranges::all_of(view.rails, is_looked_at) &&
         IsLookedAt(view, Part::kBgpSessions);
}

}  // namespace

DeviceOffers::DeviceOffers(const config::NodeConfig& config, const engine::ViewPublisher& views,
                           sriov::Sysfs sysfs, std::string device_info, LibraryFiles* libraries, See see)
    : config_(config),
      views_(views),
      sysfs_(std::move(sysfs)),
      device_info_(std::move(device_info)),
      libraries_(libraries),
      see_(std::move(see)),
      instance_(NewInstance()) {
  for (const config::Rail& rail : config.rails) {
    offers_.push_back({.rail = rail,
                       .resource = config.kubelet.ResourceOf(rail),
                       .pool = kubelet::DevicePool(std::chrono::seconds(config.kubelet.grace_s))});
  }
}

std::optional<Deadline> DeviceOffers::Look(Deadline now) {
  const auto view = views_.Current();
  looked_ = looked_ || IsWhole(*view);
  if (!looked_) return {};
  auto seen = see_(*view);
  std::optional<Deadline> again;
  for (Offer& offer : offers_) {
    const auto look = offer.pool.See(seen[offer.rail.name], now);
    if (look.changed && offer.plugin) offer.plugin->Publish(look.devices);
    again = Earlier(again, look.look_again);
  }
  return again;
}

Status DeviceOffers::Serve() {
  struct stat socket{};
  if (!looked_ || ::stat((config_.kubelet.folder + "/kubelet.sock").c_str(), &socket) != 0) return {};
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
  offer.plugin->Publish(offer.pool.devices());
  return {};
}

Result<kubelet::Allocation> DeviceOffers::Allocate(const Offer& offer,
                                                   const std::vector<std::string>& ids) const {
  if (const Status told = WriteDeviceInfos(device_info_, offer.resource, ids, sysfs_); !told)
    log::Warning("the pod's network-status will lack its device of {}: {}", offer.resource,
                 told.error().message);
  kubelet::Allocation allocation = AllocationOf(offer.resource, ids, sysfs_);
  if (libraries_ == nullptr || ids.empty()) return allocation;
  if (const auto folder = libraries_->Prepare(ids.front())) {
    AddLibraries(allocation, offer.rail.name, *folder);
  } else {
    log::Warning("the pod that gets {} has to configure NCCL and UCX by itself: {}", ids.front(),
                 folder.error().message);
  }
  return allocation;
}

std::vector<DeviceOffers::Count> DeviceOffers::counts() const {
  std::vector<Count> counts;
  for (const Offer& offer : offers_) {
    Count& count = counts.emplace_back(Count{.rail = offer.rail.name});
    count.devices = static_cast<uint32_t>(offer.pool.devices().size());
    for (const kubelet::Device& device : offer.pool.devices()) {
      if (device.healthy)
        ++count.healthy;
      else if (count.problem.empty())
        count.problem = device.id + ": " + device.reason;
    }
  }
  return counts;
}

}  // namespace rail::raild
