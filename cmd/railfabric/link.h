// One call of WatchState to one raild. What comes is put into an inbox for another thread, and the next is read when that one has taken it:
// of each node one response waits at most.
//
// Use:      Inbox inbox([&] { loop.Post([&] { Take(); }); });
//           auto link = Link::Open(channel, inbox, index);
//           for (News& news : inbox.Take()) { ...; news.link->ReadNext(); }
//           link->Cancel();   inbox.AwaitEnd();
// Threads:  any; gRPC's own fill the inbox
// Owns:     the call. A link lives until gRPC has done with it, whoever else holds it
#pragma once

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "rail/v1/state.grpc.pb.h"

namespace rail::railfabric {

class Link;

struct News {
  size_t node = 0;
  std::shared_ptr<Link> link;
  std::optional<v1::WatchStateResponse> response;  // none: the call has ended
  grpc::Status ended;
};

class Inbox {
 public:
  // `filled` is called when something is there and nothing was, on a thread of gRPC's.
  explicit Inbox(std::function<void()> filled) : filled_(std::move(filled)) {}

  std::vector<News> Take();
  // Returns when no link is open any more: each was cancelled before. What has come goes.
  void AwaitEnd();

 private:
  friend class Link;
  void Opened();
  void Put(News news);
  void Ended();

  const std::function<void()> filled_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<News> news_;
  size_t open_ = 0;
};

class Link final : public grpc::ClientReadReactor<v1::WatchStateResponse> {
 public:
  static std::shared_ptr<Link> Open(const std::shared_ptr<grpc::Channel>& channel, Inbox& inbox, size_t node);
  // Once for each response that was taken, also after Cancel: the call ends when nothing is left to read.
  void ReadNext() { StartRead(&response_); }
  void Cancel() { context_.TryCancel(); }
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

 private:
  Link(const std::shared_ptr<grpc::Channel>& channel, Inbox& inbox, size_t node);

  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::State::Stub> stub_;
  Inbox& inbox_;
  const size_t node_;
  grpc::ClientContext context_;
  const v1::WatchStateRequest request_;
  v1::WatchStateResponse response_;
  std::shared_ptr<Link> self_;  // until gRPC has done with it
};

}  // namespace rail::railfabric
