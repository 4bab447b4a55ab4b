// The thread that offers the rails' devices to the kubelet, where node.json wants it (kubelet.device_plugin).
//
// Use:      KubeletWorker kubelet(config, deps, paths, views, node_status);
//           RAIL_TRY(kubelet.Open());  kubelet.Start();  kubelet.ViewChanged();  ...  kubelet.Stop();
// Threads:  Start and Stop by one; ViewChanged any
// Owns:     its thread, the device plugins, the watch of the kubelet's socket
// Source:   lib/kubelet/README.md
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cmd/raild/workers/device_offers.h"
#include "cmd/raild/workers/rail_devices.h"
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

  Status Open() { return worker_.Open(); }
  // Does nothing where node.json does not want it, as does ViewChanged.
  void Start();
  void Stop() { worker_.Stop(); }
  void ViewChanged();
  event::Loop& loop() { return worker_.loop(); }

 private:
  enum class Kind { kLook };
  std::map<std::string, std::vector<kubelet::Seen>> See(const engine::NodeView& view);
  void Look();
  void WriteLibraries();
  void Serve();
  void Tell();
  void WatchKubelet();

  const config::NodeConfig& config_;
  const engine::Deps& deps_;
  const inspect::Hardware hardware_;
  const engine::ViewPublisher& views_;
  engine::NodeStatus& node_status_;
  LibraryFiles libraries_;
  std::string libraries_problem_;  // that the log has
  DeviceOffers offers_;
  std::optional<event::FileWatch> kubelet_;
  event::TimerId again_ = 0;
  Worker worker_;  // last: its thread ends first
};

}  // namespace rail::raild
