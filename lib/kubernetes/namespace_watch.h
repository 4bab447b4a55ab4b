// Follows the labels of the cluster's namespaces: a list, then a watch, and again whenever the watch cannot go on.
//
// Use:      NamespaceWatch watch(client, label_key, last, {.changed = ..., .state = ...}, seed);
//           std::thread thread([&] { watch.Run(); });   ...   watch.Stop();  thread.join();
// Threads:  Run one, which also calls the events; Stop any
// Owns:     nothing: the client must outlive it
// Source:   README.md of this folder (what it costs the API server); Kubernetes, "API Concepts"
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/thread.h"
#include "lib/kubernetes/backoff.h"
#include "lib/kubernetes/client.h"
#include "lib/kubernetes/lines.h"
#include "lib/kubernetes/namespaces.h"
#include "lib/tenancy/tenant_map.h"

namespace rail::kubernetes {

class NamespaceWatch {
 public:
  struct Events {
    // The list is complete for the first time, or differs. What arrives together is told together.
    std::function<void(const tenancy::TenantMap& map)> changed;
    // After each success and each failure: whether the list is what the API server has now.
    std::function<void(const Status& status)> state;
  };
  struct Times {
    std::chrono::milliseconds spread{10'000};  // over which nodes that start together begin to ask
    std::chrono::seconds watch{300};           // a watch lasts so long at least, and twice as long at most
    // A quiet server sends a bookmark each minute. So long without a byte ends a watch, and a list is due if a watch ends after half of it.
    std::chrono::milliseconds silence{180'000};
    // A list is due so long after the last one at least, and twice as long at most, whatever the watches say.
    std::chrono::milliseconds resync{1'800'000};
  };

  // `last`: the list of an earlier run. With one, the start may wait (Times::spread); without, no pod can start before it is there.
  NamespaceWatch(Client& client, std::string label_key, std::optional<tenancy::TenantMap> last, Events events,
                 uint64_t seed, Times times);

  void Run();  // until Stop
  void Stop();

 private:
  Status List();
  Status Watch();
  Status Take(std::string_view bytes);
  Status Apply(const Event& event);

  Client& client_;
  const Events events_;
  const Times times_;
  Backoff backoff_;
  bool known_ = false;     // map_ was complete once
  bool list_due_ = true;   // the watch cannot go on from what is known
  bool changed_ = false;   // and nobody was told
  bool advanced_ = false;  // the watch has brought something
  Deadline heard_{};       // when the server last sent a list, an event or a bookmark
  Deadline resync_{};      // when the next list is due in any case
  int too_new_ = 0;        // lists in a row that the API server could not give in the version asked for
  tenancy::TenantMap map_;
  Lines lines_;
  StopSignal stop_;
};

}  // namespace rail::kubernetes
