#include "cmd/raild/workers/resource_worker.h"

#include <random>
#include <utility>

#include "cmd/raild/workers/rail_resources.h"
#include "lib/base/log.h"

namespace rail::raild {
namespace {

// Several looks and views share it.
constexpr std::chrono::milliseconds kGather{100};
constexpr std::chrono::seconds kRoundTime{30};
// Other drivers come and go, and others may change our slices.
constexpr std::chrono::minutes kLookAgain{30};

Status Find(std::optional<kubernetes::ResourceApi>& api, kubernetes::Client& client, Deadline until) {
  if (api) return {};
  RAIL_ASSIGN(api, kubernetes::FindResourceApi(client, until));
  return {};
}

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
  RAIL_TRY(Find(ask_api_, asks_, until));
  auto got = kubernetes::GetClaim(*ask_api_, claim, kDriver, until);
  if (!got) ask_api_.reset();  // the server may be another now
  return got;
}

void ResourceWorker::Publish(std::vector<kubernetes::Device> devices) {
  worker_.loop().Post([this, devices = std::move(devices)]() mutable {
    if (wanted_ == devices && is_published_ && Clock::now() < look_again_) return;
    wanted_ = std::move(devices);
    is_published_ = false;
    Soon();
  });
}

void ResourceWorker::PublishAgain() {
  worker_.loop().Post([this] {
    is_published_ = false;
    api_.reset();
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

kubernetes::OtherOwners ResourceWorker::others() const {
  const std::lock_guard lock(others_mutex_);
  return others_;
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
  RAIL_TRY(Find(api_, client_, until));
  Status published;
  if (wanted_ && !is_published_) {
    const auto done =
        kubernetes::Publish(*api_, {.driver = kDriver, .node = node_, .devices = *wanted_}, until);
    is_published_ = done.has_value();
    if (!done) {
      published = tl::make_unexpected(done.error());
    } else {
      look_again_ = After(kLookAgain);
      const std::lock_guard lock(others_mutex_);
      others_ = done->others;
    }
  }
  const Status told = TellOfClaims(*api_, until);
  if (!published || !told) api_.reset();  // the server may be another now
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
