// railds that serve WatchState on sockets of their own, as the follower sees them come, go and hang on.
#include "cmd/railfabric/followers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdlib>
#include <filesystem>

namespace rail::railfabric {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

v1::WatchStateResponse Whole(const std::string& rail) {
  v1::WatchStateResponse response;
  response.mutable_state()->add_rails()->set_name(rail);
  return response;
}

// Sends what it is told to; ends when it is told to.
class Raild final : public v1::State::Service {
 public:
  explicit Raild(const std::string& path) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + path, grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~Raild() override { End(); }
  void Send(v1::WatchStateResponse response) {
    const std::lock_guard lock(mutex_);
    to_send_.push_back(std::move(response));
    changed_.notify_all();
  }
  void End() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
      changed_.notify_all();
    }
    server_->Shutdown(std::chrono::system_clock::now() + seconds(5));
  }

  grpc::Status WatchState(grpc::ServerContext* context, const v1::WatchStateRequest*,
                          grpc::ServerWriter<v1::WatchStateResponse>* writer) override {
    std::unique_lock lock(mutex_);
    for (size_t next = 0;;) {
      // The client's going wakes nobody.
      changed_.wait_for(lock, std::chrono::milliseconds(50), [&] { return ends_ || next < to_send_.size(); });
      if (ends_ || context->IsCancelled()) return {grpc::StatusCode::UNAVAILABLE, "raild is stopping"};
      while (next < to_send_.size()) {
        const v1::WatchStateResponse response = to_send_[next++];
        lock.unlock();
        writer->Write(response);
        lock.lock();
      }
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<v1::WatchStateResponse> to_send_;
  bool ends_ = false;
  std::unique_ptr<grpc::Server> server_;
};

class FollowersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = (std::filesystem::temp_directory_path() / "rail-follow-XXXXXX").string();
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    loop_ = *event::Loop::Open();
    settings_.nodes = {{"n1", "unix:" + At("n1")}, {"n2", "unix:" + At("n2")}};
    for (const NodeAddress& node : settings_.nodes) fleet_.Expect(node.name);
    followers_ = std::make_unique<Followers>(settings_, *loop_, [this] { followers_->Take(fleet_, ++now_); });
  }
  void TearDown() override {
    followers_->Stop();
    std::filesystem::remove_all(folder_);
  }
  std::string At(const std::string& name) const { return folder_ + "/" + name; }
  const fabric::Node& Of(const std::string& name) const {
    static const fabric::Node none;
    const fabric::Node* node = fleet_.Find(name);
    return node == nullptr ? none : *node;
  }
  // Runs the loop until it is so, at most 40 s.
  bool Eventually(const std::function<bool()>& so) {
    bool late = false;
    const auto look = loop_->Every(std::chrono::milliseconds(20), [&] {
      if (so()) loop_->Stop();
    });
    const auto limit = loop_->After(seconds(40), [&] {
      late = true;
      loop_->Stop();
    });
    loop_->Run();
    loop_->Cancel(look);
    loop_->Cancel(limit);
    return !late;
  }

  std::string folder_;
  Settings settings_;
  std::unique_ptr<event::Loop> loop_;
  fabric::Fleet fleet_;
  int64_t now_ = 1'000;
  std::unique_ptr<Followers> followers_;
};

TEST_F(FollowersTest, TakesDocumentsAndSaysWhoIsAway) {
  Raild raild(At("n1"));
  raild.Send(Whole("rail0"));
  ASSERT_TRUE(followers_->Begin());
  ASSERT_TRUE(Eventually([&] { return followers_->HasLookedAtAll(); }));
  EXPECT_TRUE(Of("n1").IsSeen());
  EXPECT_EQ(Of("n1").state.rails(0).name(), "rail0");
  EXPECT_NE(followers_->ChannelOf("n1"), nullptr);
  EXPECT_NE(Of("n2").away_ms, 0);
  EXPECT_THAT(Of("n2").away_why, HasSubstr("raild at unix:" + At("n2")));
  EXPECT_EQ(followers_->ChannelOf("n2"), nullptr);

  raild.Send(Whole("rail1"));
  EXPECT_TRUE(Eventually([&] { return Of("n1").state.rails(0).name() == "rail1"; }));
}

TEST_F(FollowersTest, KeepsTheLastDocumentAndComesBackByItself) {
  auto raild = std::make_unique<Raild>(At("n1"));
  raild->Send(Whole("rail0"));
  ASSERT_TRUE(followers_->Begin());
  ASSERT_TRUE(Eventually([&] { return Of("n1").IsSeen(); }));
  raild.reset();
  ASSERT_TRUE(Eventually([&] { return Of("n1").away_ms != 0; }));
  EXPECT_EQ(Of("n1").state.rails(0).name(), "rail0");
  const int64_t since = Of("n1").away_ms;
  const std::string why = Of("n1").away_why;
  EXPECT_LT(since, now_);
  raild = std::make_unique<Raild>(At("n1"));
  raild->Send(Whole("rail1"));
  EXPECT_TRUE(Eventually([&] { return Of("n1").IsSeen(); })) << why;
  EXPECT_EQ(Of("n1").state.rails(0).name(), "rail1");
}

TEST_F(FollowersTest, ReadsAllAnewWhenAPartComesFirst) {
  Raild raild(At("n1"));
  v1::WatchStateResponse part = Whole("rail0");
  part.set_section(v1::WatchStateResponse::RAILS);
  raild.Send(part);
  raild.Send(Whole("rail1"));
  ASSERT_TRUE(followers_->Begin());
  // This raild always says the part first: the link is opened anew, again and again, and nothing is taken.
  ASSERT_TRUE(Eventually([&] { return Of("n1").away_ms != 0; }));
  EXPECT_FALSE(Of("n1").heard);
}

TEST_F(FollowersTest, StopsWithAResponseThatNobodyHasTaken) {
  Raild raild(At("n1"));
  for (int i = 0; i < 100; ++i) raild.Send(Whole("rail0"));
  ASSERT_TRUE(followers_->Begin());
  ASSERT_TRUE(Eventually([&] { return Of("n1").IsSeen(); }));
  followers_->Stop();
  EXPECT_NE(Of("n1").state.rails_size(), 0);
}

}  // namespace
}  // namespace rail::railfabric
