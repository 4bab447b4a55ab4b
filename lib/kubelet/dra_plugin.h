// The node's part of a DRA driver: makes itself known to the kubelet, prepares claims for it, and tells it of devices' health.
//
// Use:      RAIL_ASSIGN(auto plugin, DraPlugin::Start({.driver = "rail.railcni.io",
//                                                      .socket = kubelet + "/plugins/rail.railcni.io/1-dra.sock",
//                                                      .registration_socket = kubelet + "/plugins_registry/rail.railcni.io-1-reg.sock"},
//                                                     {.prepare = ..., .unprepare = ..., .registered = ...}));
//           plugin->PublishHealth(devices);   // at each change, and every 10 s
// Threads:  PublishHealth and problem any, the rest one at a time. `registered` is called on a thread of gRPC's, the other answers on
//           kMostCalls threads of the plugin's own
// Owns:     the server, its threads and both sockets' files, which it removes unless others have their names by then
// Source:   pluginregistration/v1/registration.proto, dra/v1/dra.proto, dra_health/v1/health.proto; Kubernetes: KEP-4381, KEP-4680
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/kubelet/claim.h"

namespace rail::kubelet {

enum class Health { kUnknown, kHealthy, kUnhealthy };  // the protocol's numbers

struct DeviceHealth {
  std::string pool;
  std::string device;
  Health health = Health::kUnknown;
  int64_t since = 0;    // s since 1970
  std::string message;  // cut after 1024 bytes
};

class DraPlugin {
 public:
  static constexpr int kMostCalls =
      4;  // prepare and unprepare that run at a time; others wait without a thread

  // Another instance, beside this one, has other sockets (Kubernetes 1.33). The registration's folder is the kubelet's and exists.
  struct Options {
    std::string driver;
    std::string socket;               // of at most 107 bytes each
    std::string registration_socket;  // its name does not begin with a dot
  };

  // All are required. Those of one claim run one after another. Each has to end by itself, by its deadline: Stop waits for it. The
  // kubelet repeats both until they succeed, and after they have: the second time changes nothing and answers the same.
  struct Answers {
    std::function<Result<std::vector<PreparedDevice>>(const ClaimName&, Deadline)> prepare;
    std::function<Status(const ClaimName&, Deadline)> unprepare;  // a claim that nobody knows is unprepared
    // The kubelet has taken the driver. It may have deleted its ResourceSlices before: publish them again. Returns at once.
    std::function<void()> registered;
  };

  // Serves when it returns. Sockets that nobody serves are replaced.
  // Errors: kBusy another process serves one; kExists something else has that name; kInvalid a path; kNotFound the kubelet's folder;
  //         kPermission; kTransient no threads; kInternal gRPC does not start.
  static Result<std::unique_ptr<DraPlugin>> Start(const Options& options, Answers answers);

  // Each open stream gets this list, which is all devices. The kubelet takes what it has not heard of for 30 s for unknown. So call it
  // every 10 s: the health of a caller that hangs becomes unknown. A stream that is not read gets the newest list when it is.
  void PublishHealth(const std::vector<DeviceHealth>& devices);

  // Why the kubelet has not taken the driver; "" when it has.
  std::string problem() const;

  // Whether both sockets are still there. A kubelet that starts anew leaves them, and registers the driver again.
  bool IsReachable() const;

  // Removes the registration's socket, which ends the registration, and the other. Ends streams, refuses what has not begun, and waits
  // for calls under way; after 5 s their answers are dropped. May be repeated. PublishHealth after it does nothing.
  void Stop();

  ~DraPlugin();

 private:
  struct Parts;
  explicit DraPlugin(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace rail::kubelet
