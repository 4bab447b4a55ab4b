#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <filesystem>
#include <list>
#include <thread>
#include <vector>

#include "grpc/health/v1/health.grpc.pb.h"
#include "lib/base/clock.h"
#include "rail/v1/node.grpc.pb.h"
#include "rail/v1/state.grpc.pb.h"
#include "test/api/served.h"

namespace rail {
namespace {

using testing::HasSubstr;
using Event = v1::WatchAttachmentsResponse;

class ServiceTest : public Served {
 protected:
  void SetUp() override {
    Served::SetUp();
    channel_ = grpc::CreateChannel("unix:" + socket_, grpc::InsecureChannelCredentials());
    node_ = v1::Node::NewStub(channel_);
  }

  // No call of a test outlasts this.
  static void Bound(grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  }

  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Node::Stub> node_;
};

// One WatchAttachments with what it has said.
class Watcher {
 public:
  explicit Watcher(v1::Node::Stub& node, const v1::AttachmentFilter& filter = {}) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    v1::WatchAttachmentsRequest request;
    *request.mutable_filter() = filter;
    reader_ = node.WatchAttachments(&context_, request);
  }

  // "ADDED 1", "SYNCED"; "end" when the stream has ended.
  std::string Next() {
    Event event;
    if (!reader_->Read(&event)) return "end";
    std::string text = Event::Type_Name(event.type());
    if (event.has_attachment()) text += " " + std::to_string(event.attachment().id());
    return text;
  }

  // The headers come with the first event.
  void WaitUntilServed() { reader_->WaitForInitialMetadata(); }
  void Cancel() { context_.TryCancel(); }
  grpc::Status Finish() { return reader_->Finish(); }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<Event>> reader_;
};

TEST_F(ServiceTest, WatchesThoseOfATenantAndOfAPod) {
  v1::AttachmentFilter filter;
  filter.set_tenant("team-a");
  Watcher watcher(*node_, filter);
  EXPECT_EQ(watcher.Next(), "ADDED 1");
  EXPECT_EQ(watcher.Next(), "SYNCED");
  engine::NodeView view = SampleView();
  view.attachments[0].attachment.tenant = "team-b";
  view.attachments[1].attachment.tenant = "team-a";
  views_.Publish(view);
  EXPECT_EQ(watcher.Next(), "DELETED 1") << "it is no longer the tenant's";
  EXPECT_EQ(watcher.Next(), "ADDED 2");
  watcher.Cancel();
  filter.Clear();
  filter.set_pod("gone");
  filter.set_ifname("net1");
  Watcher pod(*node_, filter);
  EXPECT_EQ(pod.Next(), "ADDED 3");
  EXPECT_EQ(pod.Next(), "SYNCED");
}

TEST_F(ServiceTest, TellsOfEachNewViewOnceAndEndsWhenRaildStops) {
  grpc::ClientContext context;
  Bound(context);
  const auto reader = node_->WatchNode(&context, {});
  v1::WatchNodeResponse response;
  ASSERT_TRUE(reader->Read(&response));
  const uint64_t first = response.view();
  EXPECT_EQ(first, views_.Current()->version);
  views_.Publish(SampleView());
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_EQ(response.view(), first + 1);
  server_->Stop();
  EXPECT_FALSE(reader->Read(&response));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(ServiceTest, TellsTheWholeStateAndThenTheSectionsThatChange) {
  const auto state = v1::State::NewStub(channel_);
  grpc::ClientContext context;
  Bound(context);
  const auto reader = state->WatchState(&context, {});
  v1::WatchStateResponse response;
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_EQ(response.section(), v1::WatchStateResponse::ALL);
  EXPECT_EQ(response.state().rails_size(), 2);
  EXPECT_EQ(response.state().attachments_size(), 3);
  engine::NodeView view = SampleView();
  view.rails.pop_back();
  views_.Publish(view);
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_EQ(response.section(), v1::WatchStateResponse::RAILS);
  EXPECT_EQ(response.number(), 2U);
  EXPECT_EQ(response.state().rails_size(), 1);
  grpc::ClientContext again;
  Bound(again);
  ASSERT_TRUE(state->WatchState(&again, {})->Read(&response)) << "a reader that comes back";
  EXPECT_EQ(response.section(), v1::WatchStateResponse::ALL);
  again.TryCancel();
  server_->Stop();
  while (reader->Read(&response)) {
  }
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(ServiceTest, TellsHowLongPluginsTake) {
  v1::PluginRuns runs;
  runs.set_plugin("ovs-provider");
  runs.set_verb("ADD");
  runs.set_runs(3);
  runs_ = {runs};
  grpc::ClientContext context;
  Bound(context);
  v1::GetNodeResponse response;
  ASSERT_TRUE(node_->GetNode(&context, {}, &response).ok());
  ASSERT_EQ(response.runs_size(), 1);
  EXPECT_EQ(response.runs(0).plugin(), "ovs-provider");
  EXPECT_EQ(response.runs(0).runs(), 3U);
}

TEST_F(ServiceTest, TellsTheNode) {
  grpc::ClientContext context;
  Bound(context);
  v1::GetNodeResponse response;
  const grpc::Status status = node_->GetNode(&context, {}, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.node().hostname(), "gpu-1");
  EXPECT_EQ(response.node().version(), "0.1.0");
  EXPECT_EQ(response.node().started().seconds(), kStartedMs / 1000);
  EXPECT_FALSE(response.node().bmp_up());
  EXPECT_EQ(response.node().repairs(), 12U);
  EXPECT_EQ(response.node().rdma(), v1::NodeInfo::EXCLUSIVE);
  ASSERT_EQ(response.node().health_size(), 2);
  EXPECT_TRUE(response.node().health(0).ok());
  EXPECT_EQ(response.node().health(1).part(), "bgp");
  EXPECT_EQ(response.node().health(1).problem(), "connect to /run/frr/bgpd.vty: no such file");
}

TEST_F(ServiceTest, TellsTheNewestView) {
  engine::NodeView view = SampleView();
  view.hostname = "gpu-2";
  view.bmp_up = true;
  view.rdma = engine::RdmaMode::kShared;
  views_.Publish(view);
  grpc::ClientContext context;
  Bound(context);
  v1::GetNodeResponse response;
  ASSERT_TRUE(node_->GetNode(&context, {}, &response).ok());
  EXPECT_EQ(response.node().hostname(), "gpu-2");
  EXPECT_TRUE(response.node().bmp_up());
  EXPECT_EQ(response.node().rdma(), v1::NodeInfo::SHARED);
}

TEST_F(ServiceTest, RefusesAPageTokenOfSomebodyElse) {
  grpc::ClientContext context;
  Bound(context);
  v1::ListRemotesRequest request;
  request.set_page_token("hello");
  v1::ListRemotesResponse response;
  const grpc::Status status = node_->ListRemotes(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("page_token"));
}

TEST_F(ServiceTest, RefusesAnOversizedRequest) {
  grpc::ClientContext context;
  Bound(context);
  v1::ListRemotesRequest request;
  request.set_page_token(std::string(1 << 20, 'x'));
  v1::ListRemotesResponse response;
  EXPECT_EQ(node_->ListRemotes(&context, request, &response).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(ServiceTest, WatchTellsAllThenSyncedThenChanges) {
  Watcher watcher(*node_);
  EXPECT_EQ(watcher.Next(), "ADDED 1");
  EXPECT_EQ(watcher.Next(), "ADDED 2");
  EXPECT_EQ(watcher.Next(), "ADDED 3");
  EXPECT_EQ(watcher.Next(), "SYNCED");

  engine::NodeView view = SampleView();
  views_.Publish(view);  // nothing differs: nothing is told
  view.attachments[1].attachment.phase = state::Phase::kReady;
  views_.Publish(view);
  EXPECT_EQ(watcher.Next(), "MODIFIED 2");
  std::erase_if(view.attachments, [](const auto& a) { return a.attachment.id == 1; });
  view.attachments[1].attachment.id = 9;
  views_.Publish(view);
  EXPECT_EQ(watcher.Next(), "DELETED 1");
  EXPECT_EQ(watcher.Next(), "DELETED 3");
  EXPECT_EQ(watcher.Next(), "ADDED 9");
}

TEST_F(ServiceTest, WatchKeepsToItsFilter) {
  v1::AttachmentFilter filter;
  filter.set_namespace_("team-a");
  filter.set_rail("rail0");
  Watcher watcher(*node_, filter);
  EXPECT_EQ(watcher.Next(), "ADDED 1");
  EXPECT_EQ(watcher.Next(), "ADDED 2");
  EXPECT_EQ(watcher.Next(), "SYNCED");
  engine::NodeView view = SampleView();
  view.attachments[2].attachment.phase = state::Phase::kAdding;
  views_.Publish(view);
  view.attachments[0].rules_in_place = false;
  views_.Publish(view);
  EXPECT_EQ(watcher.Next(), "MODIFIED 1");
}

TEST_F(ServiceTest, WatchSkipsWhatASlowClientHasMissed) {
  engine::NodeView view = SampleView();
  view.attachments.resize(1);
  // Larger than what gRPC and the socket hold on the way, so that the client is behind when the views come.
  view.attachments[0].attachment.pod_uid = std::string(200000, 'u');
  views_.Publish(view);
  Watcher watcher(*node_);
  EXPECT_EQ(watcher.Next(), "ADDED 1");
  EXPECT_EQ(watcher.Next(), "SYNCED");
  constexpr int kViews = 500;  // 100 MB, were all of them sent
  for (int i = 1; i <= kViews; ++i) {
    view.attachments[0].attachment.ofport = static_cast<uint16_t>(i);
    views_.Publish(view);
  }
  view.attachments.clear();
  views_.Publish(view);
  int told = 0;
  std::string event;
  for (event = watcher.Next(); event == "MODIFIED 1"; event = watcher.Next()) ++told;
  EXPECT_EQ(event, "DELETED 1");
  EXPECT_LT(told, kViews / 2);
}

TEST_F(ServiceTest, WatchEndsWhenTheServerStops) {
  Watcher idle(*node_);
  for (int i = 0; i < 4; ++i) (void)idle.Next();
  const auto begin = Clock::now();
  server_->Stop();
  EXPECT_EQ(idle.Next(), "end");
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(20));
  const grpc::Status status = idle.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(status.error_message(), "raild is stopping");
}

TEST_F(ServiceTest, StopIsBoundedWhateverClientsDo) {
  engine::NodeView view = SampleView();
  view.attachments[0].attachment.pod_uid = std::string(3 << 20, 'u');
  views_.Publish(view);
  Watcher stuck(*node_);  // never reads: its first event does not fit on the way
  stuck.WaitUntilServed();
  const auto begin = Clock::now();
  server_->Stop();
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(40));
  EXPECT_FALSE(std::filesystem::exists(socket_));
  server_->Stop();
}

TEST_F(ServiceTest, GivesAWatchersPlaceBackWhenItCancels) {
  std::list<Watcher> watchers;
  for (int i = 0; i < 64; ++i) EXPECT_EQ(watchers.emplace_back(*node_).Next(), "ADDED 1") << i;
  {
    Watcher refused(*node_);
    EXPECT_EQ(refused.Next(), "end");
    const grpc::Status status = refused.Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(status.error_message(), "64 clients are watching already");
  }
  // The others are still answered.
  grpc::ClientContext context;
  Bound(context);
  v1::ListRailsResponse rails;
  EXPECT_TRUE(node_->ListRails(&context, {}, &rails).ok());

  watchers.front().Cancel();
  std::string first;
  for (const Deadline deadline = After(std::chrono::seconds(10));
       first != "ADDED 1" && Clock::now() < deadline;) {
    Watcher next(*node_);  // the server hears of the cancel a moment later
    first = next.Next();
    if (first == "ADDED 1") next.Cancel();
  }
  EXPECT_EQ(first, "ADDED 1");
  for (Watcher& watcher : watchers) watcher.Cancel();
}

TEST_F(ServiceTest, HoldsTogetherWhenManyWatchComeAndGoWhileViewsChange) {
  std::vector<std::jthread> clients;
  for (int c = 0; c < 8; ++c) {
    clients.emplace_back([&] {
      for (int i = 0; i < 25; ++i) {
        Watcher watcher(*node_);
        for (int n = 0; n <= i % 6; ++n) (void)watcher.Next();
        watcher.Cancel();
      }
    });
  }
  std::jthread publisher([&](const std::stop_token& stop) {
    engine::NodeView view = SampleView();
    while (!stop.stop_requested()) {
      ++view.attachments[1].attachment.ofport;
      views_.Publish(view);
      std::this_thread::yield();
    }
  });
  clients.clear();
}

TEST_F(ServiceTest, AnswersTheStandardHealthService) {
  const auto health = grpc::health::v1::Health::NewStub(channel_);
  const auto check = [&](const std::string& service, grpc::health::v1::HealthCheckResponse& response) {
    grpc::ClientContext context;
    Bound(context);
    grpc::health::v1::HealthCheckRequest request;
    request.set_service(service);
    return health->Check(&context, request, &response).error_code();
  };
  for (const std::string service : {"", "rail.v1.Node"}) {
    grpc::health::v1::HealthCheckResponse response;
    EXPECT_EQ(check(service, response), grpc::StatusCode::OK);
    EXPECT_EQ(response.status(), grpc::health::v1::HealthCheckResponse::SERVING) << service;
  }
  grpc::health::v1::HealthCheckResponse response;
  EXPECT_EQ(check("rail.v1.Nothing", response), grpc::StatusCode::NOT_FOUND);
}

TEST_F(ServiceTest, ItsHealthIsThatOfItsThreads) {
  using grpc::health::v1::HealthCheckResponse;
  const auto health = grpc::health::v1::Health::NewStub(channel_);
  const auto check = [&](const std::string& service) {
    grpc::ClientContext context;
    Bound(context);
    grpc::health::v1::HealthCheckRequest request;
    request.set_service(service);
    HealthCheckResponse response;
    EXPECT_TRUE(health->Check(&context, request, &response).ok());
    return response.status();
  };
  server_->Tell({.started = false});
  EXPECT_EQ(check(""), HealthCheckResponse::SERVING) << "a first round may take its time";
  EXPECT_EQ(check("rail.v1.Node"), HealthCheckResponse::NOT_SERVING);
  server_->Tell({.started = true, .hung = "raild's thread for bgpd hangs"});
  EXPECT_EQ(check(""), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(check("rail.v1.Node"), HealthCheckResponse::NOT_SERVING);
  server_->Tell({.started = true});
  EXPECT_EQ(check(""), HealthCheckResponse::SERVING);
  EXPECT_EQ(check("rail.v1.Node"), HealthCheckResponse::SERVING);
}

TEST_F(ServiceTest, DescribesItselfByReflection) {
  // ServerReflectionRequest{list_services: "*"} by hand: the package ships no messages of this service.
  const grpc::Slice request_bytes(std::string("\x3a\x01*"));
  const grpc::ByteBuffer request(&request_bytes, 1);
  grpc::ClientContext context;
  Bound(context);
  grpc::GenericStub stub(channel_);
  grpc::CompletionQueue queue;
  // One operation at a time; each ends by the deadline of the call.
  const auto done = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  const auto call =
      stub.PrepareCall(&context, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", &queue);
  call->StartCall(nullptr);
  ASSERT_TRUE(done());
  call->WriteLast(request, {}, nullptr);
  ASSERT_TRUE(done());
  grpc::ByteBuffer response;
  call->Read(&response, nullptr);
  ASSERT_TRUE(done());
  grpc::Slice bytes;
  ASSERT_TRUE(response.DumpToSingleSlice(&bytes).ok());
  const std::string text(reinterpret_cast<const char*>(bytes.begin()), bytes.size());
  EXPECT_THAT(text, HasSubstr("rail.v1.Node"));
  EXPECT_THAT(text, HasSubstr("grpc.health.v1.Health"));
  grpc::Status status;
  call->Finish(&status, nullptr);
  ASSERT_TRUE(done());
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(ServiceTest, IsNotStartedTwiceOnOneSocket) {
  const auto second = raild::Server::Start(Sources(), socket_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kBusy);
  grpc::ClientContext context;
  Bound(context);
  v1::ListRailsResponse rails;
  EXPECT_TRUE(node_->ListRails(&context, {}, &rails).ok());
}

TEST_F(ServiceTest, StartsAgainAfterAStop) {
  server_->Stop();
  auto again = raild::Server::Start(Sources(), socket_);
  ASSERT_TRUE(again) << again.error().message;
  grpc::ClientContext context;
  Bound(context);
  context.set_wait_for_ready(true);
  v1::ListRailsResponse rails;
  EXPECT_TRUE(node_->ListRails(&context, {}, &rails).ok());
}

}  // namespace
}  // namespace rail
