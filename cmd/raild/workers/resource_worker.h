// The thread that shows the node's devices to the API server as ResourceSlices, and tells it of claims. An API server that does not answer delays
// nothing else.
//
// Use:      ResourceWorker server(endpoint, "n1", "raild/1.0");   RAIL_TRY(server.Open());   server.Start();   server.Publish(devices);   server.Stop();
// Threads:  Open, Start, Stop: the owner's; the others any
// Owns:     its thread, and two connections to the API server: its own, and that of Claim
// Source:   lib/kubernetes/README.md
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cmd/raild/workers/claim_offers.h"
#include "cmd/raild/workers/worker.h"
#include "lib/kubernetes/backoff.h"
#include "lib/kubernetes/client.h"
#include "lib/kubernetes/resource_api.h"
#include "lib/kubernetes/slice_publisher.h"

namespace rail::raild {

class ResourceWorker final : public ClaimServer {
 public:
  ResourceWorker(const kubernetes::Endpoint& endpoint, std::string node, const std::string& user_agent);
  ~ResourceWorker() override { Stop(); }

  Status Open() { return worker_.Open(); }
  void Start() {
    worker_.Start([] {});
  }
  void Stop();

  const std::string& node() const override { return node_; }
  Result<kubernetes::Claim> Claim(const kubernetes::ClaimName& claim, Deadline until) override;
  void Publish(std::vector<kubernetes::Device> devices) override;
  void PublishAgain() override;
  void Report(const kubernetes::ClaimName& claim, std::vector<kubernetes::DeviceStatus> statuses) override;
  // As of the last Publish that was done, half an hour ago at most while the API server answers.
  kubernetes::OtherOwners others() const;

 private:
  enum class Kind { kRound };
  struct Told {
    kubernetes::ClaimName claim;
    std::vector<kubernetes::DeviceStatus> statuses;
  };

  void Soon();
  void Round();
  Status TryRound();
  Status TellOfClaims(const kubernetes::ResourceApi& api, Deadline until);

  const std::string node_;
  kubernetes::Client client_;
  std::optional<kubernetes::ResourceApi> api_;  // as client_ has found it; nothing: find it
  std::mutex asking_;
  kubernetes::Client asks_;                         // of Claim
  std::optional<kubernetes::ResourceApi> ask_api_;  // as asks_ has found it
  std::optional<std::vector<kubernetes::Device>> wanted_;
  bool is_published_ = false;
  Deadline look_again_;
  mutable std::mutex others_mutex_;
  kubernetes::OtherOwners others_;
  std::map<std::string, Told> reports_;  // by UID, those that the server has not got
  kubernetes::Backoff backoff_;
  std::string problem_;  // as the log says it
  Worker worker_;        // last: its thread ends first
};

}  // namespace rail::raild
