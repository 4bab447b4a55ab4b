#include "cmd/railfabric/link.h"

#include <utility>

namespace rail::railfabric {

std::vector<News> Inbox::Take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(news_, {});
}

void Inbox::AwaitEnd() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return open_ == 0 || !news_.empty(); });
    const std::vector<News> news = std::exchange(news_, {});
    if (news.empty()) return;
    lock.unlock();
    for (const News& each : news) {
      if (each.response) each.link->ReadNext();
    }
    lock.lock();
  }
}

void Inbox::Opened() {
  const std::lock_guard lock(mutex_);
  ++open_;
}

void Inbox::Put(News news) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = news_.empty();
    news_.push_back(std::move(news));
    changed_.notify_all();
  }
  if (first) filled_();
}

void Inbox::Ended() {
  const std::lock_guard lock(mutex_);
  --open_;
  changed_.notify_all();
}

Link::Link(const std::shared_ptr<grpc::Channel>& channel, Inbox& inbox, size_t node)
    : channel_(channel), stub_(v1::State::NewStub(channel)), inbox_(inbox), node_(node) {}

std::shared_ptr<Link> Link::Open(const std::shared_ptr<grpc::Channel>& channel, Inbox& inbox, size_t node) {
  std::shared_ptr<Link> link(new Link(channel, inbox, node));
  link->self_ = link;
  inbox.Opened();
  link->stub_->async()->WatchState(&link->context_, &link->request_, link.get());
  link->StartRead(&link->response_);
  link->AddHold();  // the next read is begun by another thread than gRPC's
  link->StartCall();
  return link;
}

void Link::OnReadDone(bool ok) {
  if (!ok) return RemoveHold();
  inbox_.Put({.node = node_, .link = self_, .response = std::move(response_), .ended = {}});
}

void Link::OnDone(const grpc::Status& status) {
  const std::shared_ptr<Link> self = std::exchange(self_, nullptr);
  inbox_.Put({.node = node_, .link = self, .response = std::nullopt, .ended = status});
  inbox_.Ended();
}

}  // namespace rail::railfabric
