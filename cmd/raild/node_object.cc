#include "cmd/raild/modes.h"

#include <cstdlib>

#include "lib/kubernetes/client.h"

namespace rail::raild {

Result<std::string> NodeName() {
  const char* const name = std::getenv("NODE_NAME");
  std::string node = name == nullptr ? "" : name;
  if (!node.empty() && node.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-.") == std::string::npos)
    return node;
  return Fail(
      Code::kInvalid,
      "the environment variable NODE_NAME does not name this node of the cluster: set it from spec.nodeName");
}

Result<std::string> ReadNodeObject(const config::Paths& paths) {
  RAIL_ASSIGN(const std::string node, NodeName());
  // The file may not be installed yet: it may be what the labels are needed for.
  const auto installed = config::Load(paths.config_file);
  RAIL_ASSIGN(const kubernetes::Endpoint endpoint,
              kubernetes::FindEndpoint(installed ? installed->kubernetes : config::Kubernetes(),
                                       kubernetes::Environment::OfProcess()));
  kubernetes::Client client(endpoint, std::string("raild/") + RAILCNI_VERSION);
  RAIL_ASSIGN(kubernetes::Answer answer, client.Ask({.path = "/api/v1/nodes/" + node}));
  if (!answer.ok()) return FailWrapped(kubernetes::ErrorOf(answer), "read node " + node);
  return std::move(answer.body);
}

}  // namespace rail::raild
