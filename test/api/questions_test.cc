// The methods that look at the node: what goes over the socket, and that questions which hang harm nobody else.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include "rail/v1/node.grpc.pb.h"
#include "test/api/served.h"

namespace rail {
namespace {

using grpc::StatusCode;

// Lets questions in, and holds them until it is opened.
class FaultInjector {
 public:
  void Pass() {
    std::unique_lock lock(mutex_);
    ++inside_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
  }
  void WaitInside(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [&] { return inside_ >= count; });
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int inside_ = 0;
  bool open_ = false;
};

class QuestionsTest : public Served {
 protected:
  void SetUp() override {
    Served::SetUp();
    node_ = v1::Node::NewStub(grpc::CreateChannel("unix:" + socket_, grpc::InsecureChannelCredentials()));
  }
  static void Bound(grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  }
  grpc::Status Doctor(v1::DoctorResponse& response) {
    grpc::ClientContext context;
    Bound(context);
    return node_->Doctor(&context, {}, &response);
  }
  grpc::Status Trace(const v1::TraceRequest& request, v1::TraceResponse& response) {
    grpc::ClientContext context;
    Bound(context);
    return node_->Trace(&context, request, &response);
  }

  std::unique_ptr<v1::Node::Stub> node_;
};

TEST_F(QuestionsTest, TellsTenantsOfTheViewAndOfNodeJson) {
  config_.tenancy.tenants = {{"team-b", {"b1", "b2"}}};
  grpc::ClientContext context;
  Bound(context);
  v1::ListTenantsResponse response;
  ASSERT_TRUE(node_->ListTenants(&context, {}, &response).ok());
  ASSERT_EQ(response.tenants_size(), 3);
  EXPECT_EQ(response.tenants(0).tenant().name(), "team-a");
  EXPECT_EQ(response.tenants(0).attachments(), 1U);
  EXPECT_EQ(response.tenants(0).remotes(), 1U);
  EXPECT_FALSE(response.tenants(0).configured());
  EXPECT_EQ(response.tenants(1).tenant().name(), "team-b");
  EXPECT_THAT(response.tenants(1).namespaces(), testing::ElementsAre("b1", "b2"));
  EXPECT_TRUE(response.tenants(1).configured());
  EXPECT_EQ(response.tenants(2).tenant().id(), "0000000000000000000000000005");
}

TEST_F(QuestionsTest, HandsATraceOverWhole) {
  inspector_.trace = [](const inspect::Question& question) -> Result<v1::TraceResponse> {
    EXPECT_EQ(question.source.pod, "train-0");
    EXPECT_EQ(question.destination.ToString(), "10.0.3.9");
    EXPECT_EQ(question.protocol, v1::TraceRequest::TCP);
    EXPECT_EQ(question.destination_port, 22);
    EXPECT_EQ(question.source_address->ToString(), "10.0.3.8");
    inspect::Answer answer;
    answer.set_verdict(v1::TraceResponse::DROPPED);
    answer.set_reason(v1::TraceResponse::SPOOFED_SOURCE);
    answer.set_sentence("not the pod's");
    v1::TraceStep& step = *answer.add_steps();
    step.set_table_name("admit");
    step.set_matched(true);
    step.mutable_rule()->set_cookie("0x5241494c02000001");
    step.mutable_rule()->set_kind("attachment");
    answer.set_deciding_step(0);
    return answer;
  };
  v1::TraceRequest request;
  request.mutable_source()->set_pod("train-0");
  request.set_destination("10.0.3.9");
  request.set_protocol(v1::TraceRequest::TCP);
  request.set_destination_port(22);
  request.set_source_address("10.0.3.8");
  v1::TraceResponse response;
  const grpc::Status status = Trace(request, response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.verdict(), v1::TraceResponse::DROPPED);
  EXPECT_EQ(response.reason(), v1::TraceResponse::SPOOFED_SOURCE);
  ASSERT_EQ(response.steps_size(), 1);
  EXPECT_EQ(response.steps(0).table_name(), "admit");
  EXPECT_EQ(response.steps(0).rule().cookie(), "0x5241494c02000001");
  EXPECT_EQ(response.steps(0).rule().kind(), "attachment");
  EXPECT_EQ(response.deciding_step(), 0U);
  EXPECT_FALSE(response.has_back());
}

TEST_F(QuestionsTest, RefusesWhatIsNoAddressMacOrPort) {
  for (const auto& spoil : std::vector<std::function<void(v1::TraceRequest&)>>{
           [](auto& r) { r.set_destination("10.0.3"); }, [](auto& r) { r.set_source_mac("02:00"); },
           [](auto& r) { r.set_source_address("10.0.3.9,actions=normal"); },
           [](auto& r) { r.set_destination_port(65536); }}) {
    v1::TraceRequest request;
    request.set_destination("10.0.3.9");
    spoil(request);
    v1::TraceResponse response;
    EXPECT_EQ(Trace(request, response).error_code(), StatusCode::INVALID_ARGUMENT);
  }
}

TEST_F(QuestionsTest, SaysWhyWhenTheSwitchDoesNotAnswer) {
  inspector_.flows = [](const inspect::Selector&,
                        const inspect::FlowsPage&) -> Result<v1::ListFlowsResponse> {
    return Fail(Code::kTransient, "ovs-vswitchd is down");
  };
  grpc::ClientContext context;
  Bound(context);
  v1::ListFlowsResponse response;
  const grpc::Status status = node_->ListFlows(&context, {}, &response);
  EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(status.error_message(), "ovs-vswitchd is down");
}

TEST_F(QuestionsTest, WhatTheNodeCannotIsNoCallThatRaildDoesNotKnow) {
  inspector_.flows = [](const inspect::Selector&,
                        const inspect::FlowsPage&) -> Result<v1::ListFlowsResponse> {
    return Fail(Code::kUnsupported, "needs Open vSwitch 3.2");
  };
  grpc::ClientContext context;
  Bound(context);
  v1::ListFlowsResponse response;
  const grpc::Status status = node_->ListFlows(&context, {}, &response);
  EXPECT_EQ(status.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(status.error_message(), "needs Open vSwitch 3.2");
}

TEST_F(QuestionsTest, APageOfFlowsIsBoundedWhoeverAsks) {
  std::vector<inspect::FlowsPage> asked;
  inspector_.flows = [&](const inspect::Selector&,
                         const inspect::FlowsPage& page) -> Result<v1::ListFlowsResponse> {
    asked.push_back(page);
    v1::ListFlowsResponse flows;
    flows.set_total(40);
    flows.set_next_page_token("77");
    return flows;
  };
  const auto list = [&](uint32_t size, const std::string& token, v1::ListFlowsResponse& response) {
    grpc::ClientContext context;
    Bound(context);
    v1::ListFlowsRequest request;
    request.set_page_size(size);
    request.set_page_token(token);
    return node_->ListFlows(&context, request, &response).error_code();
  };
  v1::ListFlowsResponse response;
  EXPECT_EQ(list(0, "", response), StatusCode::OK);
  EXPECT_EQ(response.total(), 40U);
  EXPECT_EQ(list(5, response.next_page_token(), response), StatusCode::OK);
  EXPECT_EQ(list(UINT32_MAX, "", response), StatusCode::OK);
  ASSERT_EQ(asked.size(), 3U);
  EXPECT_EQ(asked[0].size, 16U);
  EXPECT_EQ(asked[0].after, 0);
  EXPECT_EQ(asked[1].size, 5U);
  EXPECT_EQ(asked[1].after, 77);
  EXPECT_EQ(asked[2].size, 32U);
  for (const char* token : {"x", "-1", "0", "7 ", "99999999999999999999"})
    EXPECT_EQ(list(0, token, response), StatusCode::INVALID_ARGUMENT) << token;
}

TEST_F(QuestionsTest, QuestionsThatHangDelayNobodyWhoAsksForWhatIsKnown) {
  FaultInjector faults;
  inspector_.doctor = [&] {
    faults.Pass();
    return std::vector<inspect::Finding>();
  };
  std::vector<std::jthread> clients;
  for (int i = 0; i < 2; ++i) {
    clients.emplace_back([this] {
      v1::DoctorResponse response;
      EXPECT_TRUE(Doctor(response).ok());
    });
  }
  faults.WaitInside(2);
  grpc::ClientContext context;
  Bound(context);
  v1::ListRailsResponse rails;
  EXPECT_TRUE(node_->ListRails(&context, {}, &rails).ok());
  faults.Open();
}

// Without bursts whoever asks for counters waits for a reading.
TEST_F(QuestionsTest, ThoseWhoWaitForCountersDelayNobody) {
  FaultInjector faults;
  sampler_.OnDemand([&] { faults.Pass(); });
  std::list<grpc::ClientContext> contexts;
  std::vector<std::jthread> clients;
  for (int i = 0; i < 17; ++i) {
    grpc::ClientContext& context = contexts.emplace_back();
    Bound(context);
    clients.emplace_back([this, &context] {
      v1::ListCountersResponse response;
      EXPECT_FALSE(node_->ListCounters(&context, {}, &response).ok());
    });
    if (i == 0) faults.WaitInside(1);
  }
  grpc::ClientContext context;
  Bound(context);
  v1::ListRailsResponse rails;
  EXPECT_TRUE(node_->ListRails(&context, {}, &rails).ok());
  for (grpc::ClientContext& each : contexts) each.TryCancel();
  faults.Open();
  server_->Stop();  // nobody wakes the sampler once this has returned
}

TEST_F(QuestionsTest, RefusesAQuestionWhenTooManyWait) {
  FaultInjector faults;
  inspector_.doctor = [&] {
    faults.Pass();
    return std::vector<inspect::Finding>();
  };
  // 2 are looked into, 16 wait, 2 are refused.
  std::mutex mutex;
  std::condition_variable changed;
  int refused = 0;
  int answered = 0;
  std::vector<std::jthread> clients;
  for (int i = 0; i < 20; ++i) {
    if (i == 2) faults.WaitInside(2);
    clients.emplace_back([&] {
      v1::DoctorResponse response;
      const grpc::Status status = Doctor(response);
      const std::lock_guard lock(mutex);
      status.error_code() == StatusCode::RESOURCE_EXHAUSTED ? ++refused : ++answered;
      changed.notify_all();
    });
  }
  {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, std::chrono::seconds(20), [&] { return refused >= 2; });
    EXPECT_GE(refused, 2);  // more when the queue is full before the workers have taken theirs from it
    EXPECT_EQ(answered, 0);
  }
  faults.Open();
  clients.clear();
  EXPECT_EQ(answered + refused, 20);
  EXPECT_GE(answered, 16);
}

TEST_F(QuestionsTest, StoppingAnswersThoseWhoWait) {
  FaultInjector faults;
  inspector_.doctor = [&] {
    faults.Pass();
    return std::vector<inspect::Finding>();
  };
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<StatusCode> ends;
  std::vector<std::jthread> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&] {
      v1::DoctorResponse response;
      const StatusCode code = Doctor(response).error_code();
      const std::lock_guard lock(mutex);
      ends.push_back(code);
      changed.notify_all();
    });
  }
  faults.WaitInside(2);
  std::jthread stopper([this] { server_->Stop(); });
  {
    // Those at the queue hang on; those behind them are told at once.
    std::unique_lock lock(mutex);
    changed.wait_for(lock, std::chrono::seconds(20), [&] { return ends.size() >= 2; });
    EXPECT_GE(ends.size(), 2U);
    for (const StatusCode code : ends) EXPECT_EQ(code, StatusCode::UNAVAILABLE);
  }
  // And so is who asks while raild waits for the two.
  v1::DoctorResponse late;
  EXPECT_EQ(Doctor(late).error_code(), StatusCode::UNAVAILABLE);
  faults.Open();
}

}  // namespace
}  // namespace rail
