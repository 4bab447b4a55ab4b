#include "lib/config/raild_service.h"

#include <unistd.h>

#include <cstdlib>

namespace rail::config {

RaildService FindRaildService() {
  if (std::getenv("KUBERNETES_SERVICE_HOST") == nullptr)
    return {.log = "journalctl -u raild", .start = "systemctl start raild"};
  // The DaemonSet's pods have the host's network, and with it its name.
  char host[256] = {};
  const char* name = std::getenv("NODE_NAME");
  if (name == nullptr && ::gethostname(host, sizeof host - 1) == 0) name = host;
  const std::string of_node =
      "-l app.kubernetes.io/component=raild --field-selector spec.nodeName=" + std::string(name == nullptr ? "NODE" : name);
  return {.log = "kubectl -n railcni-system logs --all-containers --prefix $(kubectl -n railcni-system get pod -o name " + of_node + ")",
          .start = "kubectl -n railcni-system delete pod " + of_node};
}

}  // namespace rail::config
