// The kubelet's side of a DRA driver for tests: it watches plugins_registry, and speaks the real protocol.
//
// Use:      PluginWatcher kubelet(folder);   DraPlugin::Start(kubelet.OptionsFor("one"), answers);
//           EXPECT_TRUE(kubelet.Waits("one", [](const Driver& driver) { return driver.registered; }));
//           kubelet.Prepare("one", Version::kV1, {{"ml", "claim", "uid"}});
// Threads:  one at a time; Prepare and Unprepare any. It has a thread for the folder, and one for each health stream
// Owns:     the folders plugins and plugins_registry, in a folder that outlives it
// Source:   kubelet pkg/kubelet/pluginmanager, pkg/kubelet/cm/dra/plugin/dra_plugin_manager.go
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/kubelet/dra_plugin.h"

namespace rail::kubelet::testing {

enum class Version { kV1, kOlder };  // kOlder: v1beta1 of claims, v1alpha1 of health

// A call of NodeWatchResources.
struct HealthStream {
  std::vector<std::vector<DeviceHealth>> lists;
  std::string ended;  // "UNAVAILABLE: words", once it has
  bool opened = false;
  bool waits = false;  // reads no list until the kubelet runs
};

// What has come from one driver, by its latest registration. When its socket is gone, the streams stay open until the driver ends them.
struct Driver {
  std::string type;
  std::string name;
  std::string endpoint;
  std::vector<std::string> versions;
  std::string chosen;       // of versions
  bool registered = false;  // not any more, when its socket is gone
  bool refused = false;
  std::array<HealthStream, 2> health;  // by version; the kubelet has one, this one both
};

struct Answer {
  std::vector<PreparedDevice> devices;
  std::string error;
};

class PluginWatcher {
 public:
  explicit PluginWatcher(const std::string& folder);  // starts
  ~PluginWatcher();
  PluginWatcher(const PluginWatcher&) = delete;
  PluginWatcher& operator=(const PluginWatcher&) = delete;
  std::string plugins() const;
  std::string registry() const;
  DraPlugin::Options OptionsFor(const std::string& instance) const;

  void Start();  // forgets all drivers, and registers those whose sockets are there
  void Stop();
  // Each registration is answered with these words; "": as the kubelet does.
  void Refuse(std::string words);
  // The versions of claims that it takes.
  void Know(std::vector<std::string> versions);
  // One that hangs registers nothing and reads no list.
  enum class Pace { kRuns, kHangs };
  void Set(Pace pace);

  // Waits until `is_so` of the driver of that instance, for 30 s at most.
  bool Waits(const std::string& instance, const std::function<bool(const Driver&)>& is_so);
  Driver Of(const std::string& instance);
  // Waits until the driver takes no more calls, for 30 s at most.
  bool HearsGoodbye(const std::string& instance);

  // Calls to the driver; answers by uid. Errors: "UNAVAILABLE: words".
  static constexpr std::chrono::seconds kLongest{30};
  using Answers = std::map<std::string, Answer>;
  Result<Answers> Prepare(const std::string& instance, Version version, const std::vector<ClaimName>& claims,
                          std::chrono::seconds longest = kLongest);
  Result<Answers> Unprepare(const std::string& instance, Version version,
                            const std::vector<ClaimName>& claims, std::chrono::seconds longest = kLongest);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace rail::kubelet::testing
