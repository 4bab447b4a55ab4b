// Answers what only a look at the node itself can: flows, checks, traces, findings. Looks, never touches.
//
// Use:      Inspector inspector(config, paths, deps, outside, views);
//           RAIL_ASSIGN(const Answer answer, inspector.Trace(question));        // within 5 s
// Threads:  any thread; each call opens connections of its own
// Owns:     nothing: what it is given must outlive it
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/engine/verb_context.h"
#include "lib/engine/view.h"
#include "lib/inspect/check.h"
#include "lib/inspect/doctor.h"
#include "lib/inspect/flows.h"
#include "lib/inspect/sample.h"
#include "lib/inspect/trace.h"

namespace rail::inspect {

// What the engine has no connection for.
struct Outside {
  AskVswitchd vswitchd;
  std::function<int64_t()> now_ms;  // Unix time
};

class Inspector {
 public:
  Inspector(const config::NodeConfig& config, const config::Paths& paths, const engine::Deps& deps,
            Outside outside, const engine::ViewPublisher& views)
      : config_(config), paths_(paths), deps_(deps), outside_(std::move(outside)), views_(views) {}
  virtual ~Inspector() = default;

  // Reads every datapath flow, which holds ovs-vswitchd's main thread for some 20 us a flow: for a question, not for a routine.
  // Errors: kNotFound the selector names something and nothing matches; of the switch.
  virtual Result<Flows> ListFlows(const Selector& selector) const;
  virtual Result<std::vector<Checked>> Check(const Selector& selector) const;
  virtual Result<Answer> Trace(const Question& question) const;
  virtual std::vector<Finding> Doctor() const;
  // For the metrics. Counts are waited for `counts` at most, then the list of flows `flows` at most.
  virtual SwitchSample Sample(Clock::duration counts, Clock::duration flows) const;

 private:
  NodeFacts Gather() const;

  const config::NodeConfig& config_;
  const config::Paths& paths_;
  const engine::Deps& deps_;
  const Outside outside_;
  const engine::ViewPublisher& views_;
};

}  // namespace rail::inspect
