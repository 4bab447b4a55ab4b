// A device plugin: serves one resource to the kubelet, on a socket in the kubelet's folder.
//
// Use:      RAIL_ASSIGN(auto plugin, DevicePlugin::Start(folder + "/" + name, {.allocate = ..., .prefer = ...}));
//           plugin->Publish(pool.See(seen, Clock::now()).devices);   // then Register (registration.h)
// Threads:  Publish any, the rest one at a time. Answers are called on the server's own threads, kMostCalls at a
//           time
// Owns:     the server, its threads, and the socket's file, which it removes unless another has that name by then
// Source:   v1beta1/deviceplugin.proto
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/error.h"
#include "lib/kubelet/pool.h"

namespace rail::kubelet {

struct Mount {
  std::string container_path;
  std::string host_path;
  bool read_only = true;
};

struct DeviceNode {
  std::string container_path;
  std::string host_path;
  std::string permissions = "rw";  // of "r", "w" and "m"
};

// What a container gets with its devices.
struct Allocation {
  std::map<std::string, std::string> envs;
  std::vector<Mount> mounts;
  std::vector<DeviceNode> nodes;
  std::map<std::string, std::string> annotations;
  std::vector<std::string> cdi_names;  // vendor/class=name
};

// Both are required. Each has to end by itself: Stop waits for it. Ids come in the order of IsBefore (pool.h).
struct Answers {
  // For one container. `ids` are on the list, healthy and distinct. An error fails the whole call, and the pod.
  std::function<Result<Allocation>(const std::vector<std::string>& ids)> allocate;
  // Which `size` devices of `available` to take, those of `must_include` among them. An answer that is not that
  // is replaced by must_include and the first available ones.
  std::function<std::vector<std::string>(const std::vector<std::string>& available,
                                         const std::vector<std::string>& must_include, size_t size)>
      prefer;
};

class DevicePlugin {
 public:
  static constexpr int kMostCalls = 4;  // besides ListAndWatch, which takes no thread

  // Serves when it returns, with an empty list: capacity 0. A socket at `socket` that nobody serves is replaced.
  //   socket  absolute path of at most 107 bytes, in a folder that exists
  // Errors: kBusy another process serves it; kExists something else has that name; kInvalid the path;
  //         kNotFound no such folder; kPermission; kInternal gRPC does not start.
  static Result<std::unique_ptr<DevicePlugin>> Start(const std::string& socket, Answers answers);

  // Each open ListAndWatch gets this list. One that is not read gets the newest list when it is, none between.
  void Publish(const std::vector<Device>& devices);

  // Whether the socket is still there. A kubelet that starts empties its folder: start a new plugin then, and
  // register it.
  bool IsReachable() const;

  // Removes the socket, ends each ListAndWatch with UNAVAILABLE (CANCELLED if a list is under way), and waits for
  // other calls; after 5 s their answers are dropped. May be repeated. Publish after it does nothing.
  void Stop();

  ~DevicePlugin();

 private:
  struct Parts;
  explicit DevicePlugin(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace rail::kubelet
