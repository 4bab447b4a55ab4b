// Where raild reads GPUs, NICs and the kubelet, and its answers about them as messages. No gRPC service here.
//
// Use:      inspect::Inspector inspector(config, paths, deps, views, UnixMs, inspect::kAnswerTime, RealHardware(paths));
//           *response = ToNics(config, inspector.LookAtHardware(), *view);
// Threads:  any
#pragma once

#include "lib/config/node_config.h"
#include "lib/inspect/hardware.h"
#include "rail/v1/node.pb.h"

namespace rail::raild {

// sysfs as `paths` says; library files beside its socket. RAILCNI_NVIDIA names another folder than /proc/driver/nvidia, and
// RAILCNI_PODRESOURCES another socket than the kubelet's own.
inspect::Hardware RealHardware(const config::Paths& paths);

v1::ListNicsResponse ToNics(const inspect::Machinery& seen, const engine::NodeView& view);
v1::ListGpusResponse ToGpus(const inspect::Machinery& seen);
// Errors: kInvalid a version that is none.
Result<inspect::LibsQuestion> ToQuestion(const v1::GetLibsRequest& request);
v1::GetLibsResponse ToMessage(const inspect::LibsAnswer& answer);

}  // namespace rail::raild
