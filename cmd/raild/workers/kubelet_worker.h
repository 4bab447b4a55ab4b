// The thread that offers the rails' devices to the kubelet, where node.json wants it (kubelet.device_plugin, kubelet.dra).
//
// Use:      KubeletWorker kubelet(config, deps, paths, views, node_status);
//           RAIL_TRY(kubelet.Open());  kubelet.Start();  kubelet.ViewChanged();  ...  kubelet.Stop();
// Threads:  Start and Stop by one; ViewChanged any
// Owns:     its thread, what the kubelet calls, the watch of the kubelet's socket
// Source:   lib/kubelet/README.md
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cmd/raild/workers/device_offers.h"
#include "cmd/raild/workers/rail_devices.h"
#include "cmd/raild/workers/resource_worker.h"
#include "cmd/raild/workers/worker.h"
#include "lib/engine/attach/verb_context.h"
#include "lib/engine/repair/node_status.h"
#include "lib/event/file_watch.h"
#include "lib/inspect/hardware.h"

namespace rail::raild {

class KubeletWorker {
 public:
  KubeletWorker(const config::NodeConfig& config, const engine::Deps& deps, const config::Paths& paths,
                const engine::ViewPublisher& views, engine::NodeStatus& node_status);
  ~KubeletWorker() { Stop(); }

  // Errors: kInvalid: claims need an API server, and the node's name.
  Status Open();
  // Does nothing where node.json does not want it, as does ViewChanged.
  void Start();
  void Stop();
  void ViewChanged();
  event::Loop& loop() { return worker_.loop(); }

 private:
  enum class Kind { kLook };
  bool IsWanted() const { return config_.kubelet.device_plugin || config_.kubelet.dra; }
  std::map<std::string, std::vector<kubelet::Seen>> See(const engine::NodeView& view);
  void Look();
  void WriteLibraries();
  void TellOfClaims();
  static void Note(const Status& done, std::string& problem, const char* what);
  void Serve();
  void Tell();
  void WatchKubelet();

  const config::NodeConfig& config_;
  const engine::Deps& deps_;
  const inspect::Hardware hardware_;
  const engine::ViewPublisher& views_;
  engine::NodeStatus& node_status_;
  LibraryFiles libraries_;
  const std::string claims_folder_;
  std::string libraries_problem_, claims_problem_;  // that the log has
  std::unique_ptr<ResourceWorker> server_;          // of claims; nullptr: devices are not offered for claims
  std::unique_ptr<Offers> offers_;
  ClaimOffers* claims_ = nullptr;  // offers_, where they are for claims
  std::optional<event::FileWatch> kubelet_;
  event::TimerId again_ = 0;
  Worker worker_;  // last: its thread ends first
};

}  // namespace rail::raild
