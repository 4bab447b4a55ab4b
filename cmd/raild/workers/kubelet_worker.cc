#include "cmd/raild/workers/kubelet_worker.h"

#include <filesystem>
#include <utility>

#include "cmd/raild/api/hardware.h"
#include "cmd/raild/modes.h"
#include "cmd/raild/workers/rail_resources.h"
#include "cmd/raild/workers/rail_states.h"
#include "lib/base/log.h"

namespace rail::raild {
namespace {

// Files of sysfs have no events, and the kubelet none of what it gives.
constexpr std::chrono::seconds kLookInterval{30};
// An ADD makes several views.
constexpr std::chrono::milliseconds kGather{200};
constexpr std::chrono::seconds kRetry{1};
constexpr std::chrono::seconds kPodsTime{1};
// device-info-spec SPEC.md 1.1.0
constexpr const char* kDeviceInfo = "/var/run/k8s.cni.cncf.io/devinfo/dp";

// To which pods the kubelet has given what, by resource and id. Nothing: it does not say.
std::optional<std::map<std::string, std::map<std::string, PodName>>> GivenTo(
    const Result<std::vector<pcie::PodDevices>>& pods) {
  if (!pods) return {};
  std::map<std::string, std::map<std::string, PodName>> given;
  for (const pcie::PodDevices& pod : *pods) {
    for (const auto& device : pod.devices)
      given[device.resource].emplace(device.id, PodName(pod.pod_namespace, pod.pod));
  }
  return given;
}

}  // namespace

KubeletWorker::KubeletWorker(const config::NodeConfig& config, const engine::Deps& deps,
                             const config::Paths& paths, const engine::ViewPublisher& views,
                             engine::NodeStatus& node_status)
    : config_(config),
      deps_(deps),
      hardware_(RealHardware(paths)),
      views_(views),
      node_status_(node_status),
      libraries_(hardware_.libraries),
      claims_folder_(std::filesystem::path(paths.state_file).parent_path() / "claims") {}

Status KubeletWorker::Open() {
  RAIL_TRY(worker_.Open());
  if (!IsWanted()) return {};
  LibraryFiles* libraries = config_.kubelet.libraries ? &libraries_ : nullptr;
  const sriov::Sysfs sysfs(hardware_.sysfs);
  const RailPools::See see = [this](const engine::NodeView& view) { return See(view); };
  if (!config_.kubelet.dra) {
    offers_ = std::make_unique<DeviceOffers>(config_, views_, sysfs, kDeviceInfo, libraries, see);
    return {};
  }
  RAIL_ASSIGN_AS(std::string node, NodeName(), "kubelet.dra of node.json is true");
  RAIL_ASSIGN_AS(const kubernetes::Endpoint endpoint,
                 kubernetes::FindEndpoint(config_.kubernetes, kubernetes::Environment::OfProcess()),
                 "kubelet.dra of node.json is true");
  server_ =
      std::make_unique<ResourceWorker>(endpoint, std::move(node), std::string("raild/") + RAILCNI_VERSION);
  RAIL_TRY(server_->Open());
  const std::filesystem::path folder(config_.kubelet.folder);
  auto claims = std::make_unique<ClaimOffers>(
      config_, views_, sysfs, ClaimOffers::Folders{.kubelet = folder.parent_path(), .claims = claims_folder_},
      libraries, *server_, see);
  claims_ = claims.get();
  offers_ = std::move(claims);
  return {};
}

void KubeletWorker::Start() {
  if (!IsWanted()) return;
  if (server_) server_->Start();
  worker_.Start([this] {
    WatchKubelet();
    Look();
    worker_.FollowLinks("devices are looked at every 30 s only", [this](const netlink::Changes* changes) {
      if (changes == nullptr || !changes->links.empty())
        worker_.Soon(Kind::kLook, [this] { Look(); }, kGather);
    });
    worker_.loop().Every(kLookInterval, [this] { Look(); });
  });
}

void KubeletWorker::Stop() {
  worker_.Stop();
  if (server_) server_->Stop();
}

void KubeletWorker::ViewChanged() {
  if (!IsWanted()) return;
  worker_.loop().Post([this] {
    WriteLibraries();  // at once: the pod's containers start after its ADD
    TellOfClaims();
    worker_.Soon(Kind::kLook, [this] { Look(); }, kGather);
  });
}

std::map<std::string, std::vector<kubelet::Seen>> KubeletWorker::See(const engine::NodeView& view) {
  std::map<std::string, std::string> problems;
  for (const kubernetes::RailState& rail : RailStates(view)) problems[rail.name] = rail.problem;
  const auto of_claims = claims_ ? claims_->Given(view) : std::nullopt;  // reads each claim's record
  auto given = claims_ ? std::nullopt : GivenTo(hardware_.pods(After(kPodsTime)));
  engine::Connections connections(deps_.openers(config_), After(engine::kRoundLimit));
  const sriov::Sysfs sysfs(hardware_.sysfs);
  std::map<std::string, std::vector<kubelet::Seen>> seen;
  for (const config::Rail& rail : config_.rails) {
    DeviceFacts facts{.problem = problems[rail.name], .view = view, .given = {}, .can_attach = {}};
    if (claims_)
      facts.given = of_claims;
    else if (given)
      facts.given = (*given)[config_.kubelet.ResourceOf(rail)];
    facts.can_attach = [&](const std::string& id) -> Status {
      RAIL_ASSIGN(device::Backend * devices, connections.Devices());
      RAIL_ASSIGN(const device::Device device, devices->Find(rail, id));
      (void)device;
      return {};
    };
    seen[rail.name] = SeeDevices(DevicesOf(rail, sysfs), facts, sysfs);
  }
  return seen;
}

void KubeletWorker::WriteLibraries() {
  if (!config_.kubelet.libraries) return;
  // The kubelet is asked once for all pods, and not unless a pod is new.
  inspect::Hardware hardware = hardware_;
  std::optional<Result<std::vector<pcie::PodDevices>>> pods;
  hardware.pods = [&](Deadline until) {
    if (!pods) pods = hardware_.pods(until);
    return *pods;
  };
  const auto view = views_.Current();
  const auto ask = [&](const inspect::LibsQuestion& question) {
    return inspect::AskLibs(question, *view, config_, hardware, After(kPodsTime));
  };
  const Status written = libraries_.Write(*view, ask, Clock::now());
  Note(written, libraries_problem_, "a pod's files for NCCL and UCX are not written");
}

void KubeletWorker::TellOfClaims() {
  if (claims_) Note(claims_->ViewChanged(), claims_problem_, "what a pod's claim has become is not told");
}

void KubeletWorker::Note(const Status& done, std::string& problem, const char* what) {
  std::string now = done ? std::string() : done.error().message;
  if (now != problem && !now.empty()) log::Warning("{}: {}", what, now);
  problem = std::move(now);
}

void KubeletWorker::Look() {
  WriteLibraries();
  TellOfClaims();
  worker_.RetryAt(offers_->Look(Clock::now()), [this] { Look(); });
  Serve();
  Tell();
}

void KubeletWorker::Serve() {
  const Status served = offers_->Serve();
  node_status_.Note(engine::Part::kKubelet, served);
  worker_.loop().Cancel(again_);
  again_ = served ? 0 : worker_.loop().After(kRetry, [this] { Serve(); });
}

void KubeletWorker::Tell() {
  bool changed = false;
  const auto others = server_ ? server_->others() : kubernetes::OtherOwners();
  for (const RailPools::Count& count : offers_->counts()) {
    const bool here = node_status_.ChangeRail(count.rail, [&](v1::Rail& seen) {
      seen.set_offers_devices(true);
      seen.set_devices(static_cast<uint32_t>(count.devices.size()));
      seen.set_devices_healthy(count.healthy);
      seen.set_device_problem(count.problem);
      SetOtherOwners(seen, count.devices, others);
    });
    if (here && !count.problem.empty())
      log::Warning("the kubelet is told that a device is unhealthy: {}", count.problem);
    changed = changed || here;
  }
  if (changed) node_status_.Changed();
}

void KubeletWorker::WatchKubelet() {
  const auto watch = [&]() -> Status {
    RAIL_ASSIGN(kubelet_, event::FileWatch::OpenForSocket(config_.kubelet.folder + "/kubelet.sock"));
    return worker_.loop().Watch(kubelet_->fd(), [this] {
      if (kubelet_->Drain()) Serve();
    });
  };
  if (const Status watched = watch(); !watched)
    log::Warning("{}; the kubelet is looked for every 30 s only", watched.error().message);
}

}  // namespace rail::raild
