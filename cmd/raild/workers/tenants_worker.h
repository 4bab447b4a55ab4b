// Keeps the list of the cluster's namespaces: in memory for raild, on disk for the plugins.
//
// Use:      TenantList list;   deps.tenants = [&list] { return list.Current(); };
//           TenantsWorker worker(config, paths, node_status, list, [&] { ... });
//           RAIL_TRY(worker.Open());  worker.Start();   ...   worker.Stop();
// Threads:  TenantList any; the worker has one of its own, on which it calls its events
// Owns:     its thread and its connection to the API server
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "lib/config/node_config.h"
#include "lib/engine/repair/node_status.h"
#include "lib/kubernetes/client.h"
#include "lib/kubernetes/namespace_watch.h"
#include "lib/tenancy/tenancy.h"

namespace rail::raild {

class TenantList {
 public:
  Result<tenancy::TenantMapPtr> Current() const {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  void Set(tenancy::TenantMapPtr map) {
    const std::lock_guard lock(mutex_);
    now_ = std::move(map);
  }

 private:
  mutable std::mutex mutex_;
  Result<tenancy::TenantMapPtr> now_ = tenancy::NoMap();
};

class TenantsWorker {
 public:
  // `changed`: called when the list has changed, or what the node's status says of it.
  TenantsWorker(const config::NodeConfig& config, const config::Paths& paths, engine::NodeStatus& node_status,
                TenantList& list, std::function<void()> changed);
  ~TenantsWorker() { Stop(); }

  // Takes the list of the last run. Does nothing where node.json does not ask for tenants of namespaces, as does Start.
  // Errors: kInvalid there is no API server to ask.
  Status Open();
  void Start();
  void Stop();

 private:
  void Changed(const tenancy::TenantMap& map);
  void State(const Status& status);
  void Tell();
  void Note();

  const config::NodeConfig& config_;
  const std::string file_;
  engine::NodeStatus& node_status_;
  TenantList& list_;
  const std::function<void()> changed_;
  engine::TenantListView view_;
  std::optional<tenancy::TenantMap> last_;
  std::unique_ptr<kubernetes::Client> client_;
  std::unique_ptr<kubernetes::NamespaceWatch> watch_;
  std::thread thread_;
};

}  // namespace rail::raild
