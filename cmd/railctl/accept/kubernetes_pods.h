// The pods of a run in Kubernetes: one of each tenant on each node that takes part, with a device on each rail, made for the run and taken away
// with it. What is left when nobody takes it away goes by itself within 3 minutes (objects.h).
//
// Use:      BlockSignals();                                               // keeper.h
//           RAIL_ASSIGN(const auto pods, KubernetesPods::Find({}));       // reads only
//           RAIL_ASSIGN(const Cast cast, pods->Make(std::cerr));   ...   RAIL_TRY(pods->Remove());
// Threads:  one
// Owns:     in the namespaces of the two tenants all that has the label railcni.io/accept, of earlier runs, too
// Source:   manifests/accept (the rights that it needs)
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "cmd/railctl/accept/casting.h"
#include "cmd/railctl/accept/keeper.h"
#include "cmd/railctl/accept/objects.h"
#include "cmd/railctl/accept/stage.h"
#include "lib/kubernetes/client.h"
#include "lib/kubernetes/objects.h"

namespace rail::accept {

class KubernetesPods {
 public:
  struct Choice {  // empty: casting.h says which
    std::vector<std::string> nodes;
    std::vector<std::string> networks;
  };

  // Errors: kInvalid: railctl is in no pod of a cluster; those of choosing and of asking the API server.
  static Result<std::unique_ptr<KubernetesPods>> Find(const Choice& choice);

  const std::vector<std::string>& nodes() const { return nodes_; }
  const std::vector<Network>& networks() const { return networks_; }

  // Returns when every agent serves, and leaves nothing when it fails. Errors: kTransient: pods that are not ready in time, with what each waits
  // for; those of the API server. From here on SIGTERM and SIGINT take the pods away and end the process.
  Result<Cast> Make(std::ostream& err);
  // Returns when the pods are gone. May be repeated. Errors: kTransient: pods that are not gone in time; those of the API server.
  Status Remove();

 private:
  explicit KubernetesPods(kubernetes::Endpoint endpoint);

  Status Choose(const Choice& choice);
  Result<Image> OwnImage();
  // In one namespace.
  Status MakeObjects(const std::string& space, const Certificates& certificates);
  Result<kubernetes::Objects> WaitUntilReady(const std::string& space);
  Result<Cast> MakeAll(std::ostream& err);
  // As Cast::churn.
  Status Churn(uint32_t times);
  Status ComeAndGo(kubernetes::Client& client, const std::string& node) const;

  const kubernetes::Endpoint endpoint_;
  kubernetes::Client client_;
  Image image_;
  std::vector<std::string> nodes_;
  std::vector<Network> networks_;
  Owner owner_;  // in the first tenant's namespace
  std::unique_ptr<Keeper> keeper_;
};

}  // namespace rail::accept
