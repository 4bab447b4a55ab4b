// The kubelet's device manager for tests: it speaks the real protocol in a folder of the test.
//
// Use:      FakeDeviceManager kubelet(folder);   Register(kubelet.socket(), {"a.sock", "nvidia.com/rail0"}, deadline);
//           EXPECT_TRUE(kubelet.Waits("a.sock", [](const Plugin& plugin) { return !plugin.lists.empty(); }));
// Threads:  one at a time; it has a server, and a thread for each plugin's ListAndWatch
// Owns:     kubelet.sock, and what is in the folder: a start empties it, as the kubelet's does
// Source:   v1beta1/deviceplugin.proto; kubelet pkg/kubelet/cm/devicemanager/plugin/v1beta1 (server.go, client.go)
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/kubelet/plugin.h"

namespace rail::kubelet::testing {

// What has come from one plugin, by its latest registration.
struct Plugin {
  std::string resource;
  bool preferred = false;
  std::vector<std::vector<Device>> lists;  // without reasons
  std::string ended;                       // "UNAVAILABLE: words", once its ListAndWatch has
  bool waits = false;                      // reads no list until reading is on
};

struct Options {
  bool pre_start = false;
  bool preferred = false;
};

class FakeDeviceManager {
 public:
  static constexpr const char* kCheckpoint = "kubelet_internal_checkpoint";

  explicit FakeDeviceManager(std::string folder);  // starts
  ~FakeDeviceManager();
  FakeDeviceManager(const FakeDeviceManager&) = delete;
  FakeDeviceManager& operator=(const FakeDeviceManager&) = delete;
  std::string socket() const { return folder_ + "/kubelet.sock"; }

  void Start();  // forgets all plugins, and empties the folder but for the checkpoint
  void Stop();
  // Each registration is answered with these words; "": as the kubelet does.
  void Refuse(std::string words);
  // Whether the lists are read.
  enum class Reading { kOn, kOff };
  void Read(Reading reading);

  // Waits until `is_so` of the plugin that has registered `endpoint`, for 30 s at most.
  bool Waits(const std::string& endpoint, const std::function<bool(const Plugin&)>& is_so);
  Plugin Of(const std::string& endpoint);
  // Waits until the plugin takes no more calls, for 30 s at most.
  bool HearsGoodbye(const std::string& endpoint);

  // Calls to the plugin. Errors: "INVALID_ARGUMENT: words".
  Result<std::vector<Allocation>> Allocate(const std::string& endpoint,
                                           const std::vector<std::vector<std::string>>& containers);
  Result<std::vector<std::string>> Prefer(const std::string& endpoint,
                                          const std::vector<std::string>& available,
                                          const std::vector<std::string>& must_include, int size);
  Result<Options> GetOptions(const std::string& endpoint);

 private:
  struct Parts;
  const std::string folder_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace rail::kubelet::testing
