// A runtime: calls a chain of plugins in a World by the rules of CNI, in this process.
//
// Use:      Chain chain({ovs_provider::MakePlugin(world.deps()), ...});
//           const Answer added = chain.Add(pod);      // one after another, each gets the result of the one before
//           chain.Del(pod);                           // in reverse order
// Threads:  one
// Source:   CNI SPEC.md 1.1.0 section 3 "Execution of Network Configurations"
#pragma once

#include <string>
#include <vector>

#include "lib/cni/plugin.h"
#include "lib/engine/testing/world.h"

namespace rail::engine::testing {

struct Answer {
  unsigned code = 0;   // 0: success
  std::string text;    // the error's message and details
  std::string plugin;  // the last plugin that ran
  std::string result;  // of ADD
  explicit operator bool() const { return code == 0; }
};

class Chain {
 public:
  explicit Chain(std::vector<cni::Plugin> plugins) : plugins_(std::move(plugins)) {}

  // What a pod or a cluster may write beside the configuration: JSON members ("\"wait_ms\": 0") and CNI_ARGS.
  std::string more_config;
  std::string more_args;
  // The result of a plugin that stood before the chain; "" none.
  std::string previous;

  // Stops at the first plugin that fails. Undoes nothing: that is left to the runtime's DEL.
  Answer Add(const PodSpec& pod);
  // Calls all plugins, even if one fails. The answer is that of the first plugin that fails.
  Answer Del(const PodSpec& pod);
  Answer Check(const PodSpec& pod);
  // Runs one verb of one plugin (an index). `previous_result`: the prevResult, from the plugins before it.
  Answer Run(size_t plugin, const std::string& verb, const PodSpec& pod, const std::string& previous_result);

  size_t size() const { return plugins_.size(); }
  const std::string& NameOf(size_t plugin) const { return plugins_[plugin].name; }
  // By container: the result of the last ADD.
  std::map<std::string, std::string>& results() { return results_; }

 private:
  std::vector<cni::Plugin> plugins_;
  std::map<std::string, std::string> results_;
};

}  // namespace rail::engine::testing
