#include "lib/rpc/watches.h"

#include <gtest/gtest.h>

#include <memory>

namespace rail::rpc {
namespace {

struct View {
  uint64_t version = 0;
};

class Source {
 public:
  std::shared_ptr<const View> Current() const {
    const std::lock_guard lock(mutex_);
    return current_;
  }
  std::shared_ptr<const View> WaitNewer(uint64_t version, Deadline deadline) const {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, deadline, [&] { return current_->version > version; });
    return current_;
  }
  void Publish() {
    const std::lock_guard lock(mutex_);
    current_ = std::make_shared<const View>(View{current_->version + 1});
    changed_.notify_all();
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::shared_ptr<const View> current_ = std::make_shared<const View>();
};

class Reader final : public Watch {
 public:
  void Look() override {
    const std::lock_guard lock(mutex_);
    ++looks_;
    changed_.notify_all();
  }
  void End(grpc::Status status) override { ended_ = std::move(status); }
  bool HasLooked(int times) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return looks_ >= times; });
  }
  const grpc::Status& ended() const { return ended_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int looks_ = 0;
  grpc::Status ended_;
};

TEST(Watches, TellEachReaderOfWhatIsPublished) {
  Source source;
  Watches watches(source, "the server");
  Reader a;
  Reader b;
  EXPECT_TRUE(watches.Add(&a, nullptr, 2).ok());
  EXPECT_TRUE(watches.Add(&b, nullptr, 2).ok());
  source.Publish();
  EXPECT_TRUE(a.HasLooked(1));
  EXPECT_TRUE(b.HasLooked(1));
  watches.Remove(&b);
  source.Publish();
  EXPECT_TRUE(a.HasLooked(2));
  watches.Remove(&a);
}

TEST(Watches, BoundTheReadersOfEachWayIn) {
  Source source;
  Watches watches(source, "the server");
  Reader a;
  Reader b;
  const int one = 0;
  const int other = 0;
  EXPECT_TRUE(watches.Add(&a, &one, 1).ok());
  EXPECT_EQ(watches.Add(&b, &one, 1).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(watches.Add(&b, &other, 1).ok());
  watches.Remove(&a);
  watches.Remove(&b);
}

TEST(Watches, EndWithTheNameOfWhoStops) {
  Source source;
  Watches watches(source, "the server");
  Reader early;
  Reader late;
  EXPECT_TRUE(watches.Add(&early, nullptr, 2).ok());
  watches.Stop();
  EXPECT_EQ(early.ended().error_message(), "the server is stopping");
  EXPECT_EQ(watches.Add(&late, nullptr, 2).error_code(), grpc::StatusCode::UNAVAILABLE);
  watches.Remove(&early);
}

}  // namespace
}  // namespace rail::rpc
