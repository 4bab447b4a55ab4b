// Looks at nodes when their raild says that something may have changed, and not otherwise.
//
// Use:      Follow follow(stage);   follow.Run(After(60s), [&](const Node& node) { ...ask...; if (seen_all) follow.End(); });
// Threads:  Run: one, `look` is called on a thread of each node; Again and End: any
// Owns:     a call of WatchNode to each node
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "cmd/railctl/accept/stage.h"
#include "lib/base/clock.h"

namespace rail::accept {

class Follow {
 public:
  explicit Follow(const Stage& stage);
  ~Follow();
  Follow(const Follow&) = delete;
  Follow& operator=(const Follow&) = delete;

  // Looks at each node at once, and after each change, until then, when it looks once more; or until End, which is for good.
  void Run(Deadline until, const std::function<void(const Node&)>& look);
  // Each node is looked at as if it had changed.
  void Again();
  void End();

 private:
  class News;
  void Work(size_t node, Deadline until, const std::function<void(const Node&)>& look);
  void Changed(size_t node);

  const Stage& stage_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> due_;  // by node; guarded by mutex_, as is ended_
  bool ended_ = false;
  std::vector<std::unique_ptr<News>> news_;  // last: it calls Changed
};

// The addresses of pods elsewhere that the node has learned on a rail, of tenants by their ids. Errors: of asking.
Result<std::set<std::string>> Learned(const Node& node, const std::string& rail,
                                      const std::set<std::string>& tenants);

}  // namespace rail::accept
