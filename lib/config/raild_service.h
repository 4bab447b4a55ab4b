// How raild is run where this program runs, so that a sentence can say where its log is and how it is started.
//
// Use:      const RaildService raild = FindRaildService();   // raild.log: "journalctl -u raild"
// Threads:  any thread
// Source:   deploy/systemd/raild.service; manifests/base/daemonset.yaml
#pragma once

#include <string>

namespace rail::config {

struct RaildService {
  std::string log;    // the command that shows raild's log
  std::string start;  // the command that starts it
};

// In a pod (kubelet has set KUBERNETES_SERVICE_HOST) kubectl's, else systemd's.
RaildService FindRaildService();

}  // namespace rail::config
