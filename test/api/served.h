// A served node in a folder of its own, for tests of what goes over the socket.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cmd/raild/api/service.h"
#include "lib/counters/sampler.h"
#include "lib/engine/view.h"
#include "lib/inspect/inspector.h"

namespace rail {

// 2026-01-02 03:04:05 UTC: when the daemon of SampleView was started.
constexpr int64_t kStartedMs = 1767323045000;

// Two rails, three attachments (ready, adding, with undo work left) and three remotes.
engine::NodeView SampleView();

// Answers what a test tells it to.
class FakeInspector : public inspect::Inspector {
 public:
  FakeInspector(const config::NodeConfig& config, const engine::ViewPublisher& views)
      : Inspector(config, paths_, deps_, views) {}

  Result<v1::ListFlowsResponse> ListFlows(const inspect::Selector& selector,
                                          const inspect::FlowsPage& page) const override;
  Result<v1::CheckResponse> Check(const inspect::Selector& selector) const override;
  Result<v1::TraceResponse> Trace(const inspect::Question& question) const override;
  std::vector<inspect::Finding> Doctor() const override;
  inspect::Machinery LookAtHardware() const override { return machinery; }
  Result<inspect::LibsAnswer> Libs(const inspect::LibsQuestion& question) const override {
    return libs(question);
  }

  std::function<Result<v1::ListFlowsResponse>(const inspect::Selector&, const inspect::FlowsPage&)> flows;
  std::function<Result<v1::CheckResponse>(const inspect::Selector&)> check;
  std::function<Result<v1::TraceResponse>(const inspect::Question&)> trace;
  std::function<std::vector<inspect::Finding>()> doctor;
  inspect::Machinery machinery;
  std::function<Result<inspect::LibsAnswer>(const inspect::LibsQuestion&)> libs;

 private:
  config::Paths paths_;
  engine::Deps deps_;
};

class Served : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;
  void Start();  // with config_ as it is
  raild::Sources Sources() {
    return {views_, config_, inspector_, sampler_, [this] { return runs_; }};
  }

  std::string root_;
  std::string socket_;
  engine::ViewPublisher views_;
  config::NodeConfig config_;
  FakeInspector inspector_{config_, views_};
  counters::Sampler sampler_{config_, views_, "/sys"};  // never opened: no port is known
  std::vector<v1::PluginRuns> runs_;                    // while nobody asks
  std::unique_ptr<raild::Server> server_;
};

}  // namespace rail
