#include "cmd/railctl/accept/follow.h"

#include <future>

#include "lib/base/thread.h"

namespace rail::accept {
namespace {

constexpr uint32_t kPage = 10'000;

}  // namespace

// A raild that ends the call has no more news; what it is like then, the last look says.
class Follow::News final : public grpc::ClientReadReactor<v1::WatchNodeResponse> {
 public:
  News(Follow& follow, size_t number, const Node& node) : follow_(follow), number_(number) {
    node.raild->async()->WatchNode(&context_, &request_, this);
    StartRead(&response_);
    StartCall();
  }
  ~News() override {
    context_.TryCancel();
    done_.get_future().wait();
  }
  News(const News&) = delete;
  News& operator=(const News&) = delete;

  void OnReadDone(bool ok) override {
    follow_.Changed(number_);
    if (ok) StartRead(&response_);
  }
  void OnDone(const grpc::Status& /*status*/) override { done_.set_value(); }

 private:
  Follow& follow_;
  const size_t number_;
  grpc::ClientContext context_;
  const v1::WatchNodeRequest request_;
  v1::WatchNodeResponse response_;
  std::promise<void> done_;
};

Follow::Follow(const Stage& stage) : stage_(stage), due_(stage.nodes().size()) {
  for (size_t i = 0; i < stage.nodes().size(); ++i)
    news_.push_back(std::make_unique<News>(*this, i, *stage.nodes()[i]));
}

Follow::~Follow() = default;

void Follow::Run(Deadline until, const std::function<void(const Node&)>& look) {
  Again();
  std::vector<std::future<void>> threads;
  for (size_t i = 0; i < stage_.nodes().size(); ++i)
    threads.push_back(Beside([this, i, until, &look] { Work(i, until, look); }));
  for (auto& thread : threads) thread.get();
}

void Follow::Work(size_t node, Deadline until, const std::function<void(const Node&)>& look) {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait_until(lock, until, [&] { return ended_ || due_[node]; });
      if (ended_) return;
      due_[node] = false;
    }
    const bool last = Clock::now() >= until;
    look(*stage_.nodes()[node]);
    if (last) return;
  }
}

void Follow::Changed(size_t node) {
  const std::lock_guard lock(mutex_);
  due_[node] = true;
  changed_.notify_all();
}

void Follow::Again() {
  const std::lock_guard lock(mutex_);
  due_.assign(due_.size(), true);
  changed_.notify_all();
}

void Follow::End() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

Result<std::set<std::string>> Learned(const Node& node, const std::string& rail,
                                      const std::set<std::string>& tenants) {
  std::set<std::string> addresses;
  for (const std::string& tenant : tenants) {
    v1::ListRemotesRequest request;
    request.set_page_size(kPage);
    request.set_rail(rail);
    request.set_tenant(tenant);
    do {
      RAIL_ASSIGN(const auto page, Ask(*node.raild, &v1::Node::Stub::ListRemotes, request, node.Whom()));
      for (const v1::Remote& remote : page.remotes()) addresses.insert(remote.address());
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty());
  }
  return addresses;
}

}  // namespace rail::accept
