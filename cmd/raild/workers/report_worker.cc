#include "cmd/raild/workers/report_worker.h"

#include <algorithm>
#include <cstdlib>
#include <random>
#include <utility>

#include "cmd/raild/modes.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"

namespace rail::raild {
namespace {

using kubernetes::Condition;
using kubernetes::EventSpec;
using kubernetes::RailState;

// A change is told when two looks agree: a session that flaps is not news each time.
constexpr std::chrono::seconds kLook{5};
// Between these two, a node tells that it is still so.
constexpr std::chrono::minutes kHeartbeatLeast{4};
constexpr std::chrono::minutes kHeartbeatMost{6};

// A name that can stand in a path of the API.
bool IsName(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  });
}

}  // namespace

ReportWorker::ReportWorker(const config::NodeConfig& config, const config::Paths& paths,
                           const engine::ViewPublisher& views,
                           std::function<std::vector<inspect::Request>()> requests)
    : config_(config),
      views_(views),
      backoff_(std::random_device()()),
      labels_(config.topology.labels, paths.labels_file, kubernetes::Backoff(std::random_device()())),
      missing_(std::move(requests)),
      number_(std::random_device()()) {
  number_ = number_ << 32 | std::random_device()();
}

Status ReportWorker::Open() {
  RAIL_TRY(worker_.Open());
  if (!config_.kubernetes.report && !labels_.wanted()) return {};
  Status found = FindServer();
  if (found || config_.kubernetes.report || config_.topology.labels) return found;
  log::Warning("labels that raild has written on its node before stay: {}", found.error().message);
  return {};
}

Status ReportWorker::FindServer() {
  RAIL_ASSIGN_AS(
      node_, NodeName(),
      config_.kubernetes.report ? "kubernetes.report of node.json is true" : "topology.labels of node.json");
  RAIL_ASSIGN(const kubernetes::Endpoint endpoint,
              kubernetes::FindEndpoint(config_.kubernetes, kubernetes::Environment::OfProcess()));
  client_ = std::make_unique<kubernetes::Client>(endpoint, std::string("raild/") + RAILCNI_VERSION);
  return {};
}

void ReportWorker::Start() {
  if (client_ == nullptr) return;
  worker_.Start([this] { worker_.loop().Every(kLook, [this] { Look(); }); });
}

void ReportWorker::Stop() {
  if (client_ != nullptr) client_->Stop();
  worker_.Stop();
}

void ReportWorker::Failed(const event::PodFailure& failure) {
  if (client_ == nullptr || !config_.kubernetes.report) return;
  worker_.loop().Post([this, failure] {
    if (!IsName(failure.pod_namespace) || !IsName(failure.pod_name)) return;
    const Status sent = Tell({.kind = "Pod",
                              .object_namespace = failure.pod_namespace,
                              .object = failure.pod_name,
                              .uid = failure.pod_uid,
                              .reason = "RailNotAttached",
                              .message = failure.plugin + ": " + failure.why,
                              .warning = true,
                              .host = node_});
    NoteUnlessBusy(sent);
  });
}

void ReportWorker::NoteUnlessBusy(const Status& sent) {
  if (sent || sent.error().code != Code::kBusy) Note(sent, problem_, "rails");
}

void ReportWorker::Look() {
  const std::shared_ptr<const engine::NodeView> view = views_.Current();
  if (view->version == 0) return;
  if (const auto tried = labels_.Look(*client_, node_, PlaceOf(*view), Clock::now()))
    Note(*tried, labels_problem_, "labels");
  if (!config_.kubernetes.report) return;
  LookAtRails(*view);
  LookAtRequests();
}

void ReportWorker::LookAtRequests() {
  for (const EventSpec& event : missing_.Look(node_, Clock::now())) {
    if (!IsName(event.object_namespace) || !IsName(event.object)) continue;
    NoteUnlessBusy(Tell(event));
  }
}

void ReportWorker::LookAtRails(const engine::NodeView& view) {
  const std::vector<RailState> rails = RailStates(view);
  const Condition now = kubernetes::ConditionOf(rails);
  const bool lasting = std::exchange(seen_, now) == now;
  const Deadline time = Clock::now();
  if (!lasting || time < next_) return;
  if (told_ && told_->condition == now && time < told_->again) return TellOfRails(rails);
  const int64_t since_ms = told_ && told_->condition.ok == now.ok ? told_->since_ms : UnixMs();
  const Status sent = Send(kubernetes::ConditionRequest(node_, now, UnixMs(), since_ms));
  Note(sent, problem_, "rails");
  if (!sent) {
    next_ = time + backoff_.Failed();
    return;
  }
  backoff_.Right();
  told_ = {now, time + backoff_.Between(kHeartbeatLeast, kHeartbeatMost), since_ms};
  TellOfRails(rails);
}

// What cannot be told now is told at a later look.
void ReportWorker::TellOfRails(const std::vector<RailState>& rails) {
  for (const RailState& rail : news_.Of(rails)) {
    const bool gone = !rail.problem.empty();
    const Status sent = Tell({.kind = "Node",
                              .object_namespace = {},
                              .object = node_,
                              .uid = node_,  // as the kubelet's own events of its node
                              .reason = gone ? "RailDown" : "RailUp",
                              .message = rail.name + (gone ? " is down: " + rail.problem : " works again"),
                              .warning = gone,
                              .host = node_});
    if (sent) {
      news_.Told(rail);
      continue;
    }
    if (sent.error().code == Code::kBusy) continue;
    Note(sent, problem_, "rails");
    next_ = Clock::now() + backoff_.Failed();
    return;
  }
}

// Errors: kBusy: enough was told for now.
Status ReportWorker::Tell(const EventSpec& event) {
  if (!limit_.Allows(event, Clock::now())) return Fail(Code::kBusy, "enough was told of it for now");
  RAIL_TRY(Send(kubernetes::EventRequest(event, UnixMs(), ++number_)));
  limit_.Told(event, Clock::now());
  return {};
}

Status ReportWorker::Send(const kubernetes::Request& request) {
  RAIL_ASSIGN(const kubernetes::Answer answer, client_->Ask(request));
  if (!answer.ok()) return FailWrapped(kubernetes::ErrorOf(answer), request.method + " " + request.path);
  return {};
}

void ReportWorker::Note(const Status& sent, std::string& problem, const char* what) {
  std::string now = sent ? "" : sent.error().message;
  if (now == problem) return;
  if (!sent) {
    log::Warning("the cluster is not told of this node's {}: {}", what, now);
  } else {
    log::Info("the cluster is told of this node's {} again", what);
  }
  problem = std::move(now);
}

}  // namespace rail::raild
