// Tells the API server how the node's rails are, which leaves it has, and why a pod has not got its interface. On a thread of its own: an API server that
// does not answer delays nothing else.
//
// Use:      ReportWorker worker(config, paths, views);  RAIL_TRY(worker.Open());  worker.Start();  worker.Failed(failure);  worker.Stop();
// Threads:  Failed any thread
// Owns:     its thread and its connection to the API server
// Source:   lib/kubernetes/README.md ("What the cluster is told")
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cmd/raild/workers/missing_networks.h"
#include "cmd/raild/workers/node_labels.h"
#include "cmd/raild/workers/rail_states.h"
#include "cmd/raild/workers/worker.h"
#include "lib/config/node_config.h"
#include "lib/engine/view.h"
#include "lib/event/wake.h"
#include "lib/kubernetes/backoff.h"
#include "lib/kubernetes/client.h"
#include "lib/kubernetes/report.h"

namespace rail::raild {

class ReportWorker {
 public:
  // `requests`: as MissingNetworks.
  ReportWorker(const config::NodeConfig& config, const config::Paths& paths,
               const engine::ViewPublisher& views, std::function<std::vector<inspect::Request>()> requests);
  ~ReportWorker() { Stop(); }

  // Does nothing where node.json asks for neither reports nor labels, as does Start. Errors: kInvalid there is no API server to tell, or
  // nobody says which node this is.
  Status Open();
  void Start();
  void Stop();
  void Failed(const event::PodFailure& failure);

 private:
  struct Told {
    kubernetes::Condition condition;
    Deadline again{};  // it is due then, also as it is
    int64_t since_ms = 0;
  };

  Status FindServer();
  void Look();
  void LookAtRails(const engine::NodeView& view);
  void LookAtRequests();
  void TellOfRails(const std::vector<kubernetes::RailState>& rails);
  Status Tell(const kubernetes::EventSpec& event);
  void NoteUnlessBusy(const Status& sent);
  Status Send(const kubernetes::Request& request);
  static void Note(const Status& sent, std::string& problem, const char* what);

  const config::NodeConfig& config_;
  const engine::ViewPublisher& views_;
  std::string node_;
  std::unique_ptr<kubernetes::Client> client_;
  kubernetes::Backoff backoff_;
  NodeLabels labels_;
  kubernetes::EventLimit limit_;
  MissingNetworks missing_;
  kubernetes::Condition seen_;            // at the last look
  std::optional<Told> told_;              // as the API server has it
  RailNews news_;                         // of which events have told
  Deadline next_{};                       // not before
  std::string problem_, labels_problem_;  // as the log says them
  uint64_t number_ = 0;
  Worker worker_;  // last: its thread ends first
};

}  // namespace rail::raild
