#include "cmd/raild/workers/tenants_worker.h"

#include <random>

#include "lib/base/log.h"

namespace rail::raild {

TenantsWorker::TenantsWorker(const config::NodeConfig& config, const config::Paths& paths,
                             engine::NodeStatus& node_status, TenantList& list, std::function<void()> changed)
    : config_(config),
      file_(paths.tenants_file),
      node_status_(node_status),
      list_(list),
      changed_(std::move(changed)) {
  view_.wanted = config_.kubernetes.tenants;
}

Status TenantsWorker::Open() {
  if (!config_.kubernetes.tenants) return {};
  RAIL_ASSIGN(const kubernetes::Endpoint endpoint,
              kubernetes::FindEndpoint(config_.kubernetes, kubernetes::Environment::OfProcess()));
  client_ = std::make_unique<kubernetes::Client>(endpoint, std::string("raild/") + RAILCNI_VERSION);
  auto last = tenancy::LoadTenantMap(file_, config_.kubernetes.tenant_label);
  if (last) {
    last_ = std::move(*last);
    list_.Set(std::make_shared<const tenancy::TenantMap>(*last_));
  } else if (last.error().code != Code::kNotFound) {
    log::Warning("{}; pods wait until the API server has answered", last.error().message);
  }
  view_.problem = "the API server has not answered yet";
  view_.problem_since = Clock::now();
  Note();  // the first look publishes it
  return {};
}

void TenantsWorker::Start() {
  if (client_ == nullptr) return;
  watch_ = std::make_unique<kubernetes::NamespaceWatch>(
      *client_, config_.kubernetes.tenant_label, std::exchange(last_, std::nullopt),
      kubernetes::NamespaceWatch::Events{.changed = [this](const tenancy::TenantMap& map) { Changed(map); },
                                         .state = [this](const Status& status) { State(status); }},
      std::random_device()(), kubernetes::NamespaceWatch::Times{});
  thread_ = std::thread([this] { watch_->Run(); });
}

void TenantsWorker::Stop() {
  if (!thread_.joinable()) return;
  watch_->Stop();
  thread_.join();
}

// The file first: a plugin that starts now reads what raild is about to act on. Without the file, pods that run follow all the same.
void TenantsWorker::Changed(const tenancy::TenantMap& map) {
  node_status_.Note(engine::Part::kTenantList, tenancy::SaveTenantMap(file_, map));
  list_.Set(std::make_shared<const tenancy::TenantMap>(map));
  Tell();
}

void TenantsWorker::State(const Status& status) {
  const std::string problem = status ? "" : status.error().message;
  if (problem == view_.problem) return;
  if (!status && view_.problem.empty()) view_.problem_since = Clock::now();
  if (status) {
    log::Info("the tenants of namespaces follow the API server");
  } else {
    log::Warning("the tenants of namespaces stay as they are: {}", problem);
  }
  view_.problem = problem;
  Tell();
}

void TenantsWorker::Tell() {
  Note();
  node_status_.Changed();
  changed_();
}

void TenantsWorker::Note() {
  auto map = list_.Current();
  view_.known = map.has_value();
  view_.namespaces = view_.invalid = 0;
  view_.example.clear();
  if (map) {
    view_.namespaces = (*map)->namespaces.size();
    for (const auto& [name, entry] : (*map)->namespaces) {
      if (!entry.label || tenancy::IsTenantName(*entry.label)) continue;
      if (view_.invalid++ == 0) view_.example = name + " (" + (*map)->label_key + "=" + *entry.label + ")";
    }
  }
  node_status_.SetTenantList(view_, std::move(map));
}

}  // namespace rail::raild
