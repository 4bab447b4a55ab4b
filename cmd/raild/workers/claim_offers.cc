#include "cmd/raild/workers/claim_offers.h"

#include <algorithm>
#include <filesystem>
#include <random>
#include <utility>

#include "cmd/raild/workers/rail_resources.h"
#include "lib/base/clock.h"
#include "lib/base/folder.h"
#include "lib/kubelet/claim_metadata.h"
#include "lib/netlink/netns.h"

namespace rail::raild {
namespace {

using kubelet::AllocatedDevice;
using kubelet::ClaimName;

// The kubelet forgets the health of which it has not heard for 30 s.
constexpr std::chrono::seconds kHealthInterval{10};
constexpr std::chrono::seconds kDiskTime{5};

kubernetes::ClaimName ToServer(const ClaimName& claim) {
  return {.pod_namespace = claim.pod_namespace, .name = claim.name, .uid = claim.uid};
}

std::string WordsFor(const ClaimName& claim) {
  return "claim " + claim.pod_namespace + "/" + claim.name;
}

void AddAttributes(const kubernetes::Device& shown, kubelet::DescribedDevice& described) {
  for (const auto& [name, value] : shown.attributes) {
    if (const auto* text = std::get_if<std::string>(&value)) described.attributes[name] = *text;
    if (const auto* number = std::get_if<int64_t>(&value)) described.attributes[name] = *number;
    if (const auto* is = std::get_if<bool>(&value)) described.attributes[name] = *is;
  }
}

kubelet::DescribedClaim DescribedOf(const ClaimName& claim) {
  return {.claim = claim, .driver = kDriver};
}

std::map<std::string, std::vector<AllocatedDevice>> ByRequest(const std::vector<AllocatedDevice>& devices) {
  std::map<std::string, std::vector<AllocatedDevice>> requests;
  for (const AllocatedDevice& each : devices) requests[each.request].push_back(each);
  return requests;
}

void Add(kubelet::Allocation& all, kubelet::Allocation more) {
  all.envs.merge(more.envs);
  std::ranges::move(more.mounts, std::back_inserter(all.mounts));
  for (kubelet::DeviceNode& node : more.nodes) {
    const bool is_there = std::ranges::count(all.nodes, node.host_path, &kubelet::DeviceNode::host_path) != 0;
    if (!is_there) all.nodes.push_back(std::move(node));  // rdma_cm is of all rails
  }
}

}  // namespace

const std::vector<kubelet::DeviceHealth>& DeviceHealths::See(
    const std::string& pool, const std::map<std::string, std::string>& problems) {
  std::vector<kubelet::DeviceHealth> now;
  for (const auto& [name, problem] : problems) {
    const auto health = problem.empty() ? kubelet::Health::kHealthy : kubelet::Health::kUnhealthy;
    const auto before = std::ranges::find(list_, name, &kubelet::DeviceHealth::device);
    const bool is_as_before = before != list_.end() && before->health == health;
    now.push_back({.pool = pool,
                   .device = name,
                   .health = health,
                   .since = is_as_before ? before->since : UnixMs() / 1000,
                   .message = problem});
  }
  list_ = std::move(now);
  return list_;
}

ClaimOffers::ClaimOffers(const config::NodeConfig& config, const engine::ViewPublisher& views,
                         sriov::Sysfs sysfs, Folders folders, LibraryFiles* libraries, ClaimServer& server,
                         RailPools::See see)
    : config_(config),
      views_(views),
      sysfs_(std::move(sysfs)),
      folders_(std::move(folders)),
      libraries_(libraries),
      server_(server),
      instance_(std::to_string(std::random_device()())),
      pools_(config, views, std::move(see)) {}

ClaimOffers::~ClaimOffers() = default;

std::optional<Deadline> ClaimOffers::Look(Deadline now) {
  const RailPools::Looked looked = pools_.Look(now);
  if (!pools_.has_looked()) return {};
  const auto view = views_.Current();
  std::map<std::string, Offered> offered;
  std::map<std::string, std::string> problems;
  std::vector<kubernetes::Device> shown;
  for (const engine::RailView& rail : view->rails) {
    const config::Rail* configured = config_.FindRail(rail.rail.name);
    if (configured == nullptr) continue;
    const std::string resource = config_.kubelet.ResourceOf(*configured);
    for (const kubelet::Device& device : pools_.Of(*configured)) {
      const auto one = ResourceOf(device, rail, resource, view->unit, sysfs_);
      if (!one) continue;  // node.json has a name for it that no claim can have
      shown.push_back(*one);
      problems[one->name] = device.healthy ? "" : device.reason;
      offered[one->name] = {.rail = configured, .id = device.id, .shown = *one};
    }
  }
  const auto& healths = healths_.See(server_.node(), problems);
  if (plugin_) plugin_->PublishHealth(healths);
  {
    const std::lock_guard lock(mutex_);
    offered_ = std::move(offered);
  }
  server_.Publish(std::move(shown));
  return Earlier(looked.again, now + kHealthInterval);
}

Status ClaimOffers::Serve() {
  if (!pools_.has_looked()) return {};
  const std::string plugins = folders_.kubelet + "/plugins/" + kDriver;
  const std::string registry = folders_.kubelet + "/plugins_registry";
  std::error_code error;
  if (!std::filesystem::is_directory(registry, error)) return {};  // there is no kubelet
  if (!claims_) {
    RAIL_TRY(MakeFolder(plugins, 0750));
    RAIL_ASSIGN(claims_, kubelet::PreparedClaims::Open(
                             {.folder = folders_.claims, .cdi_folder = folders_.cdi, .boot = netns::BootId()},
                             After(kDiskTime)));
  }
  if (!plugin_ || !plugin_->IsReachable()) {
    plugin_.reset();
    RAIL_ASSIGN(
        plugin_,
        kubelet::DraPlugin::Start(
            {.driver = kDriver,
             .socket = plugins + "/" + instance_ + ".sock",
             .registration_socket = registry + "/" + kDriver + "-" + instance_ + "-reg.sock"},
            {.prepare = [this](const ClaimName& claim, Deadline until) { return Prepare(claim, until); },
             .unprepare = [this](const ClaimName& claim, Deadline until) { return Unprepare(claim, until); },
             .registered = [this] { server_.PublishAgain(); }}));
    plugin_->PublishHealth(healths_.list());
  }
  const std::string problem = plugin_->problem();
  return problem.empty() ? Status() : Fail(Code::kTransient, problem);
}

Result<std::vector<kubelet::PreparedDevice>> ClaimOffers::Prepare(const ClaimName& asked, Deadline until) {
  RAIL_ASSIGN(const kubernetes::Claim allocated, server_.Claim(ToServer(asked), until));
  ClaimName claim = asked;
  claim.pod_claim = allocated.pod_claim;
  std::vector<AllocatedDevice> devices;
  for (const kubernetes::AllocatedDevice& each : allocated.devices) {
    if (each.admin || !each.share_id.empty())
      return Fail(Code::kUnsupported, "prepare " + WordsFor(claim) + ": request " + each.request +
                                          " asks for a device that others may have, too (adminAccess, or a "
                                          "share); a VF is of one pod: ask for a device of its own");
    devices.push_back({.request = each.request, .pool = each.pool, .device = each.device});
  }
  RAIL_ASSIGN(const auto offered, Find(claim, devices));
  const auto edits = [&](const std::string& request,
                         const std::vector<AllocatedDevice>& of_request) -> Result<kubelet::Allocation> {
    RAIL_ASSIGN_AS(const bool libraries, WantsLibraries(allocated.configs, request),
                   "prepare " + WordsFor(claim));
    return EditsOf(claim, request, of_request, offered, libraries);
  };
  RAIL_ASSIGN(auto prepared, claims_->Prepare(claim, devices, edits, until));
  const auto view = views_.Current();  // the kubelet repeats a call also when the pod runs
  RAIL_TRY(Describe(claim, devices, offered, AttachedIn(*view), until));
  const std::lock_guard lock(mutex_);
  ++prepared_;
  return prepared;
}

ClaimOffers::Attached ClaimOffers::AttachedIn(const engine::NodeView& view) {
  Attached ready;
  for (const engine::AttachmentView& each : view.attachments) {
    const auto name = kubernetes::DeviceNameOf(each.attachment.device);
    if (name && each.attachment.phase == state::Phase::kReady) ready[*name] = &each.attachment;
  }
  return ready;
}

Status ClaimOffers::Describe(const ClaimName& claim, const std::vector<AllocatedDevice>& devices,
                             const std::map<std::string, Offered>& offered, const Attached& attached,
                             Deadline until) const {
  for (const auto& [request, of_request] : ByRequest(devices)) {
    std::vector<kubelet::DescribedDevice> described;
    for (const AllocatedDevice& each : of_request) {
      kubelet::DescribedDevice& one = described.emplace_back(kubelet::DescribedDevice{.device = each});
      if (const auto device = offered.find(each.device); device != offered.end())
        AddAttributes(device->second.shown, one);
      if (const auto pod = attached.find(each.device); pod != attached.end())
        one.network = {
            .interface = pod->second->key.ifname, .ips = PrefixesOf(*pod->second), .mac = pod->second->mac};
    }
    RAIL_TRY(
        kubelet::WriteMetadata(claims_->FolderOf(claim.uid), DescribedOf(claim), request, described, until));
  }
  return {};
}

Status ClaimOffers::Unprepare(const ClaimName& claim, Deadline until) {
  RAIL_TRY(claims_->Unprepare(claim.uid, until));
  const std::lock_guard lock(mutex_);
  told_.claims.erase(claim.uid);
  return {};
}

Result<std::map<std::string, ClaimOffers::Offered>> ClaimOffers::Find(
    const ClaimName& claim, const std::vector<AllocatedDevice>& devices) const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, Offered> found;
  for (const AllocatedDevice& each : devices) {
    const auto offered = offered_.find(each.device);
    if (each.pool != server_.node() || offered == offered_.end())
      return Fail(Code::kNotFound, "prepare " + WordsFor(claim) + ": node " + server_.node() +
                                       " has no device " + each.pool + "/" + each.device +
                                       " now: `railctl get rails -o wide` says what has become of its rail; "
                                       "or delete the pod, and the claim is allocated anew");
    found.insert(*offered);
  }
  return found;
}

Result<kubelet::Allocation> ClaimOffers::EditsOf(const ClaimName& claim, const std::string& request,
                                                 const std::vector<AllocatedDevice>& devices,
                                                 const std::map<std::string, Offered>& offered,
                                                 bool libraries) {
  std::map<const config::Rail*, std::vector<std::string>> of_rails;
  for (const AllocatedDevice& each : devices) {
    const Offered& device = offered.at(each.device);
    of_rails[device.rail].push_back(device.id);
  }
  // A container with two requests for one rail sees the variable of the last: each has the devices of both.
  std::map<const config::Rail*, std::vector<std::string>> of_claim;
  for (const auto& [name, device] : offered) of_claim[device.rail].push_back(device.id);
  kubelet::Allocation all;
  for (const auto& [rail, ids] : of_rails) {
    const std::string resource = config_.kubelet.ResourceOf(*rail);
    kubelet::Allocation own = AllocationOf(resource, ids, sysfs_);
    own.envs = AllocationOf(resource, of_claim[rail], sysfs_).envs;
    Add(all, std::move(own));
    if (libraries_ == nullptr || !libraries) continue;
    RAIL_ASSIGN(const std::string folder, libraries_->Prepare(ids));
    AddLibraries(all, rail->name, folder);
  }
  RAIL_ASSIGN(kubelet::Mount metadata,
              kubelet::MetadataMount(claims_->FolderOf(claim.uid), DescribedOf(claim), request));
  all.mounts.push_back(std::move(metadata));
  return all;
}

std::optional<std::map<std::string, PodName>> ClaimOffers::Given(const engine::NodeView& view) const {
  if (!claims_) return {};
  const auto held = claims_->Held();
  if (!held) return {};
  std::map<std::string, std::string> namespaces;  // of the claims, by the device's name
  for (const auto& each : *held) {
    for (const auto& prepared : each.devices) namespaces[prepared.device.device] = each.claim.pod_namespace;
  }
  std::map<std::string, PodName> given;
  for (const engine::AttachmentView& each : view.attachments) {
    const state::Attachment& a = each.attachment;
    const auto name = kubernetes::DeviceNameOf(a.device);
    const auto of_claim = name ? namespaces.find(*name) : namespaces.end();
    if (of_claim != namespaces.end() && of_claim->second == a.pod_namespace)
      given[a.device] = {a.pod_namespace, a.pod_name};
  }
  return given;
}

Status ClaimOffers::ViewChanged() {
  if (!claims_) return {};
  const auto view = views_.Current();
  const Attached ready = AttachedIn(*view);
  std::string there;
  for (const auto& [name, attachment] : ready) there += std::to_string(attachment->id) + " ";
  {
    const std::lock_guard lock(mutex_);
    there += "/" + std::to_string(prepared_);
  }
  if (there == told_.of) return {};
  RAIL_ASSIGN(const auto held, claims_->Held());
  Status told;
  for (const auto& each : held) {
    Status one = TellOf(each, ready);
    if (told && !one) told = std::move(one);
  }
  if (told) told_.of = there;
  return told;
}

Status ClaimOffers::TellOf(const kubelet::PreparedClaims::Holding& held, const Attached& attached) {
  std::string ids;
  std::vector<kubernetes::DeviceStatus> statuses;
  std::vector<AllocatedDevice> devices;
  for (const kubelet::PreparedDevice& each : held.devices) {
    devices.push_back(each.device);
    const auto pod = attached.find(each.device.device);
    if (pod == attached.end()) continue;
    ids += std::to_string(pod->second->id) + " ";
    statuses.push_back(StatusOf(*pod->second, each.device.pool, each.device.device));
  }
  std::map<std::string, Offered> offered;
  {
    const std::lock_guard lock(mutex_);
    if (ids.empty() || told_.claims[held.claim.uid] == ids) return {};
    offered = offered_;
  }
  RAIL_TRY(Describe(held.claim, devices, offered, attached, After(kDiskTime)));
  server_.Report(ToServer(held.claim), std::move(statuses));
  const std::lock_guard lock(mutex_);
  told_.claims[held.claim.uid] = ids;
  return {};
}

}  // namespace rail::raild
