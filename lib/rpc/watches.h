// The clients that watch: streams that are told of each new view that their source publishes.
//
// Use:      Watches watches(views, "raild");   return new Stream<Response, ViewPublisher>(watches, views, this, most, next);   // deletes itself
// Threads:  any; one thread of Watches' own tells the streams of new views
// Owns:     that thread. A stream belongs to gRPC, which ends it.
#pragma once

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/base/clock.h"

namespace rail::rpc {

// One client that watches.
class Watch {
 public:
  virtual void Look() = 0;  // there may be a new view
  virtual void End(grpc::Status status) = 0;

 protected:
  ~Watch() = default;
};

// All of them, and the thread that tells them of new views.
class Watches {
 public:
  // `source` publishes views: it has Current() and WaitNewer(version, deadline), and must outlive the watches. `who`: the program.
  template <class Source>
  Watches(const Source& source, const std::string& who)
      : stopping_(grpc::StatusCode::UNAVAILABLE, who + " is stopping"),
        wait_newer_(
            [&source](uint64_t seen, Deadline until) { return source.WaitNewer(seen, until)->version; }),
        follower_([this] { Follow(); }) {}
  ~Watches() { Stop(); }

  // `most`: the limit of watches of `listener`, the way in by which the watch has come.
  grpc::Status Add(Watch* watch, const void* listener, size_t most);
  void Remove(Watch* watch);
  void Stop();

 private:
  void Follow();

  const grpc::Status stopping_;
  const std::function<uint64_t(uint64_t, Deadline)> wait_newer_;
  std::mutex mutex_;  // taken before a watch's own
  std::condition_variable changed_;
  std::map<Watch*, const void*> watches_;  // with its listener
  enum class Stage { kServing, kStopping } stage_ = Stage::kServing;
  std::thread follower_;
};

// A call that answers with what `next` makes of each view. While a write is under way, it queues nothing beyond the messages of one
// view. When the client has taken these, it goes on with the view that is current then.
template <class Response, class Source>
class Stream final : public grpc::ServerWriteReactor<Response>, public Watch {
 public:
  using View = std::remove_cvref_t<decltype(*std::declval<const Source&>().Current())>;
  using Next = std::function<std::vector<Response>(const View&)>;

  Stream(Watches& watches, const Source& source, const void* listener, size_t most, Next next)
      : watches_(watches), source_(source), next_(std::move(next)) {
    // Adds itself first and looks second: a view that is published in between is seen twice rather than never.
    if (grpc::Status status = watches_.Add(this, listener, most); !status.ok()) {
      End(std::move(status));
    } else {
      Look();
    }
  }

  void Look() override {
    const std::lock_guard lock(mutex_);
    SendNext();
  }

  void End(grpc::Status status) override {
    const std::lock_guard lock(mutex_);
    EndLocked(std::move(status));
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    write_ = Write::kIdle;
    if (ok) {
      SendNext();
    } else {
      EndLocked(grpc::Status::CANCELLED);
    }
  }

  void OnCancel() override { End(grpc::Status::CANCELLED); }

  void OnDone() override {
    watches_.Remove(this);
    delete this;
  }

 private:
  void SendNext() {
    if (call_ == Call::kEnded || write_ == Write::kUnderWay) return;
    if (sent_ == messages_.size()) {
      messages_.clear();
      sent_ = 0;
      const auto view = source_.Current();
      if (looked_at_ == view->version) return;
      looked_at_ = view->version;
      messages_ = next_(*view);
      if (messages_.empty()) return;
    }
    write_ = Write::kUnderWay;
    this->StartWrite(&messages_[sent_++]);
  }

  void EndLocked(grpc::Status status) {
    if (std::exchange(call_, Call::kEnded) == Call::kOpen) this->Finish(std::move(status));
  }

  Watches& watches_;
  const Source& source_;
  const Next next_;
  std::mutex mutex_;
  std::vector<Response> messages_;  // of the view that was looked at
  size_t sent_ = 0;
  std::optional<uint64_t> looked_at_;  // a view's version
  enum class Write { kIdle, kUnderWay } write_ = Write::kIdle;
  enum class Call { kOpen, kEnded } call_ = Call::kOpen;
};

}  // namespace rail::rpc
