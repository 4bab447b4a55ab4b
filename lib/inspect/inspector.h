// Answers questions that need a look at the node itself: flows, checks, traces, findings. Changes nothing.
//
// Use:      Inspector inspector(config, paths, deps, views);
//           RAIL_ASSIGN(const Answer answer, inspector.Trace(question));        // within 8 s
// Threads:  any thread; each call opens its own connections
// Owns:     the looks at parts that hang; its arguments must outlive it
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/engine/attach/verb_context.h"
#include "lib/engine/view.h"
#include "lib/inspect/doctor/doctor.h"
#include "lib/inspect/flows.h"
#include "lib/inspect/hardware.h"
#include "lib/inspect/requests.h"
#include "lib/inspect/sample.h"
#include "lib/inspect/side_by_side.h"
#include "lib/inspect/trace/trace.h"

namespace rail::inspect {

inline constexpr std::chrono::seconds kAnswerTime{4};

// Compares attachments with their record, as the plugins' CHECK does (CNI SPEC.md "CHECK"), and with what only the daemon knows about
// them. A part that cannot be checked (Open vSwitch is down, the namespace is gone) is a problem, too. The other parts are checked all
// the same.
v1::CheckResponse CheckAll(const std::vector<const engine::AttachmentView*>& attachments, engine::Node& node,
                           const tenancy::LoadMap& tenants);

// The tenants of a node: those with a pod here, those in node.json, and those of known remotes. Ordered by name, those without a
// name last, then by id.
v1::ListTenantsResponse Tenants(const engine::NodeView& view, const config::Tenancy& tenancy);

class Inspector {
 public:
  using Ports = std::function<std::shared_ptr<const counters::PortsView>()>;

  // `answer_time`: how long the doctor waits for the parts of the node, all at once. Check and trace ask one part after another: each has half
  // of this time, all have twice of it. `ports`: what has been counted; {}: nobody counts. `hardware`: where GPUs and NICs are
  // read; {}: nowhere.
  Inspector(const config::NodeConfig& config, const config::Paths& paths, const engine::Deps& deps,
            const engine::ViewPublisher& views, std::function<int64_t()> now_ms = UnixMs,
            Clock::duration answer_time = kAnswerTime, Hardware hardware = {}, Ports ports = {})
      : config_(config),
        paths_(paths),
        deps_(deps),
        views_(views),
        now_ms_(std::move(now_ms)),
        answer_time_(answer_time),
        hardware_(std::move(hardware)),
        ports_(std::move(ports)) {}
  virtual ~Inspector() = default;

  // Reads every datapath flow, which occupies ovs-vswitchd's main thread for some 20 us per flow: use it to answer a person, not
  // periodically. Each page reads them again. Errors: kNotFound the selector is not empty and matches nothing; of the switch.
  virtual Result<v1::ListFlowsResponse> ListFlows(const Selector& selector, const FlowsPage& page) const;
  virtual Result<v1::CheckResponse> Check(const Selector& selector) const;
  virtual Result<Answer> Trace(const Question& question) const;
  virtual std::vector<Finding> Doctor() const;
  // For a node whose raild does not answer: `start` says what its start meets, and the views are made of the record alone.
  std::vector<Finding> DoctorWithoutRaild(StartFacts start) const;
  virtual Machinery LookAtHardware() const;
  std::vector<Request> Requests() const;  // none where the kubelet does not answer
  virtual Result<LibsAnswer> Libs(const LibsQuestion& question) const;
  // For the metrics. Waits at most `counts` for the counts, then at most `flows` for the list of flows.
  virtual SwitchSample Sample(Clock::duration counts, Clock::duration flows) const;

 private:
  engine::Connections OneAfterAnother() const;
  NodeFacts Gather() const;
  // Each of the node's parts, side by side: what one of them does not say in time is its own finding and nobody else's.
  void AskParts(NodeFacts& facts) const;

  const config::NodeConfig& config_;
  const config::Paths& paths_;
  const engine::Deps& deps_;
  const engine::ViewPublisher& views_;
  const std::function<int64_t()> now_ms_;
  const Clock::duration answer_time_;
  const Hardware hardware_;
  const Ports ports_;
  mutable SideBySide parts_;
};

}  // namespace rail::inspect
