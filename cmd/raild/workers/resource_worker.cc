#include "cmd/raild/workers/resource_worker.h"

#include <random>
#include <utility>

#include "cmd/raild/workers/rail_resources.h"
#include "lib/base/log.h"
#include "lib/kubernetes/slice_publisher.h"

namespace rail::raild {
namespace {

// Several looks and views share it.
constexpr std::chrono::milliseconds kGather{100};
constexpr std::chrono::seconds kRoundTime{30};

}  // namespace

ResourceWorker::ResourceWorker(const kubernetes::Endpoint& endpoint, std::string node,
                               const std::string& user_agent)
    : node_(std::move(node)),
      client_(endpoint, user_agent),
      asks_(endpoint, user_agent),
      backoff_(std::random_device()()) {}

void ResourceWorker::Stop() {
  client_.Stop();
  asks_.Stop();
  worker_.Stop();
}

Result<kubernetes::Claim> ResourceWorker::Claim(const kubernetes::ClaimName& claim, Deadline until) {
  const std::lock_guard lock(asking_);
  RAIL_ASSIGN(const kubernetes::ResourceApi api, kubernetes::FindResourceApi(asks_, until));
  return kubernetes::GetClaim(api, claim, kDriver, until);
}

void ResourceWorker::Publish(std::vector<kubernetes::Device> devices) {
  worker_.loop().Post([this, devices = std::move(devices)]() mutable {
    if (wanted_ == devices && is_published_) return;
    wanted_ = std::move(devices);
    is_published_ = false;
    Soon();
  });
}

void ResourceWorker::PublishAgain() {
  worker_.loop().Post([this] {
    is_published_ = false;
    Soon();
  });
}

void ResourceWorker::Report(const kubernetes::ClaimName& claim,
                            std::vector<kubernetes::DeviceStatus> statuses) {
  worker_.loop().Post([this, claim, statuses = std::move(statuses)]() mutable {
    reports_[claim.uid] = {claim, std::move(statuses)};
    Soon();
  });
}

void ResourceWorker::Soon() {
  worker_.Soon(Kind::kRound, [this] { Round(); }, kGather);
}

void ResourceWorker::Round() {
  const Status done = TryRound();
  const std::string problem = done ? std::string() : done.error().message;
  if (problem != std::exchange(problem_, problem)) {
    if (done)
      log::Info("the API server has the node's devices and claims again");
    else
      log::Warning("the API server has not got what there is of this node's devices and claims: {}", problem);
  }
  if (done) backoff_.Right();
  worker_.RetryAt(done ? std::nullopt : std::optional(Clock::now() + backoff_.Failed()), [this] { Round(); });
}

Status ResourceWorker::TryRound() {
  const Deadline until = After(kRoundTime);
  RAIL_ASSIGN(kubernetes::ResourceApi api, kubernetes::FindResourceApi(client_, until));
  Status published;
  if (wanted_ && !is_published_) {
    const auto done =
        kubernetes::Publish(api, {.driver = kDriver, .node = node_, .devices = *wanted_}, until);
    is_published_ = done.has_value();
    if (!done) published = tl::make_unexpected(done.error());
  }
  const Status told = TellOfClaims(api, until);
  return published ? told : published;
}

Status ResourceWorker::TellOfClaims(const kubernetes::ResourceApi& api, Deadline until) {
  Status told;
  std::erase_if(reports_, [&](const auto& report) {
    Status one = kubernetes::ReportDevices(api, report.second.claim, kDriver, report.second.statuses, until);
    // What the server will never take is told once; a claim that has gone needs no word.
    const bool ends = one || one.error().code == Code::kNotFound || one.error().code == Code::kUnsupported ||
                      one.error().code == Code::kInvalid;
    if (!one && one.error().code != Code::kNotFound && told) told = std::move(one);
    return ends;
  });
  return told;
}

}  // namespace rail::raild
