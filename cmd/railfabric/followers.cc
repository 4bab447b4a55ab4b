#include "cmd/railfabric/followers.h"

#include <algorithm>
#include <utility>

#include "lib/base/log.h"

namespace rail::railfabric {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstWait{1'000};
constexpr milliseconds kLongestWait{30'000};
constexpr milliseconds kSoon{
    500};  // at most so long after the end of a call that worked: raild may only end it
constexpr milliseconds kStartOfEach{1};       // the first calls are spread over so much for each node,
constexpr milliseconds kLongestStart{4'000};  // ... and no more
constexpr milliseconds kConnect{10'000};
constexpr milliseconds kProbe{20'000};  // raild takes probes every 10 s (lib/rpc/server.cc)
constexpr milliseconds kAnswer{10'000};

std::string Why(const NodeAddress& node, const grpc::Status& ended) {
  const std::string whom = "raild at " + node.raild;
  if (ended.ok()) return whom + " has ended the watch";
  if (ended.error_code() == grpc::StatusCode::UNIMPLEMENTED)
    return whom + " is older than railfabric and has no WatchState";
  return rpc::ToStatus(ended, whom).error().message;
}

}  // namespace

Followers::Followers(const Settings& settings, event::Loop& loop, event::Callback news)
    : settings_(settings), loop_(loop), inbox_([&loop, news = std::move(news)] { loop.Post(news); }) {
  way_.connect = kConnect;
  way_.anew = true;
  way_.probe = kProbe;
  way_.answer = kAnswer;
  for (const NodeAddress& address : settings_.nodes)
    nodes_.push_back({.address = address, .backoff = {kFirstWait, kLongestWait}, .link = nullptr});
}

Status Followers::Begin() {
  if (!settings_.raild_tls.empty()) {
    RAIL_ASSIGN_AS(way_.tls, rpc::ClientTls(settings_.raild_tls), "raild_tls");
  }
  const milliseconds spread =
      std::min(kLongestStart, kStartOfEach * static_cast<milliseconds::rep>(nodes_.size()));
  for (size_t i = 0; i < nodes_.size(); ++i)
    OpenAfter(i, std::chrono::duration_cast<milliseconds>(spread * Random()));
  return {};
}

void Followers::OpenAfter(size_t index, milliseconds wait) {
  loop_.After(wait, [this, index] { Open(index); });
}

// Each attempt has a channel of its own: gRPC would connect again by itself, at a pace that is not ours.
void Followers::Open(size_t index) {
  Followed& node = nodes_[index];
  const auto channel = rpc::Connect(node.address.raild, way_);
  if (!channel) return log::Error("node {}: {}", node.address.name, channel.error().message);
  node.heard = false;
  node.refused.clear();
  node.link = Link::Open(*channel, inbox_, index);
}

void Followers::Take(fabric::Fleet& fleet, int64_t now_ms) {
  for (News& news : inbox_.Take()) {
    Followed& node = nodes_[news.node];
    if (news.response) {
      if (news.link == node.link && node.refused.empty()) TakeResponse(node, news, fleet, now_ms);
      news.link->ReadNext();
    } else if (news.link == node.link) {
      TakeEnd(news.node, news.ended, fleet, now_ms);
    }
  }
}

void Followers::TakeResponse(Followed& node, News& news, fabric::Fleet& fleet, int64_t now_ms) {
  const std::string& name = node.address.name;
  if (const Status taken = fleet.Apply(name, std::move(*news.response), now_ms); !taken) {
    node.refused = taken.error().message;
    log::Warning("node {}: {}; its state is read anew", name, node.refused);
    return node.link->Cancel();
  }
  NoteLook(node);
  if (std::exchange(node.heard, true)) return;
  if (node.lost_ms != 0) log::Info("node {} answers again", name);
  node.lost_ms = 0;
  node.backoff.Reset();
  Remember(name, node.link->channel());
}

void Followers::TakeEnd(size_t index, const grpc::Status& ended, fabric::Fleet& fleet, int64_t now_ms) {
  Followed& node = nodes_[index];
  node.link.reset();
  Remember(node.address.name, nullptr);
  // One that has worked is opened again at once: raild has only begun anew, or ends connections that are old. Who does not answer then is away.
  if (std::exchange(node.heard, false)) {
    node.lost_ms = now_ms;
    return OpenAfter(index, std::chrono::duration_cast<milliseconds>(kSoon * Random()));
  }
  const std::string why = node.refused.empty() ? Why(node.address, ended) : node.refused;
  const fabric::Node* known = fleet.Find(node.address.name);
  if (!node.looked || known == nullptr || known->away_ms == 0)
    log::Warning("node {} is away: {}", node.address.name, why);
  fleet.SetAway(node.address.name, node.lost_ms != 0 ? node.lost_ms : now_ms, why);
  NoteLook(node);
  OpenAfter(index, node.backoff.Next(Random()));
}

void Followers::NoteLook(Followed& node) {
  if (!std::exchange(node.looked, true)) ++looked_;
}

void Followers::Remember(const std::string& node, std::shared_ptr<grpc::Channel> channel) {
  const std::lock_guard lock(channels_mutex_);
  if (channel == nullptr) {
    channels_.erase(node);
  } else {
    channels_[node] = std::move(channel);
  }
}

std::shared_ptr<grpc::Channel> Followers::ChannelOf(const std::string& node) const {
  const std::lock_guard lock(channels_mutex_);
  const auto found = channels_.find(node);
  return found == channels_.end() ? nullptr : found->second;
}

void Followers::Stop() {
  for (Followed& node : nodes_) {
    if (node.link != nullptr) node.link->Cancel();
    node.link.reset();
  }
  inbox_.AwaitEnd();
}

}  // namespace rail::railfabric
