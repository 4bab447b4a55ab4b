#include "cmd/raild/bgp_worker.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "lib/base/log.h"
#include "lib/base/socket.h"

namespace rail::raild {
namespace {

constexpr std::chrono::seconds kAuditInterval{30};
constexpr std::chrono::milliseconds kPollInterval{250};
// What is pushed in one go is told in one go. A table that comes in whole takes no more than a part of the time to tell of.
constexpr std::chrono::milliseconds kGather{2};
constexpr std::chrono::milliseconds kGatherMost{500};

// A carrier that is back so soon withdraws nothing: a leaf that waits as long has not missed it.
constexpr std::chrono::milliseconds kFlap{1000};
constexpr std::chrono::milliseconds kSolicitInterval{500};
constexpr uint16_t kBgpPort = 179;

}  // namespace

BgpWorker::BgpWorker(const config::NodeConfig& config, const engine::Deps& deps,
                     std::unique_ptr<state::Store> store, engine::Picture& picture, Events events)
    : config_(config),
      vty_(config.frr.run_dir + "/bgpd.vty"),
      store_(std::move(store)),
      repair_(config, deps, *store_, picture),
      events_(std::move(events)) {}

void BgpWorker::Start() {
  worker_.Start([this] {
    WatchConnections();
    Listen();
    Audit();
    worker_.loop().Every(kAuditInterval, [this] { Audit(); });
    worker_.loop().Every(kPollInterval, [this] { Poll(); });
  });
}

void BgpWorker::UplinksChanged(const engine::UplinkNews& news) {
  worker_.loop().Post([this, news] {
    if (!news.back.empty()) return CarrierBack(news);
    worker_.Soon(audit_scheduled_, [this] { Audit(); }, kFlap);
  });
}

// What is announced is in order again before the session is.
void BgpWorker::CarrierBack(const engine::UplinkNews& news) {
  Audit();
  if (repair_.CarrierBack(news.back, news.seen)) events_.learned();
  Solicit();
}

void BgpWorker::Solicit() {
  if (repair_.Solicit()) worker_.Soon(solicit_scheduled_, [this] { Solicit(); }, kSolicitInterval);
}

void BgpWorker::WatchConnections() {
  auto opened = netlink::TcpMonitor::Open(kBgpPort);
  if (!opened) {
    return log::Warning(
        "ends of BGP sessions: {}; a neighbour that somebody removes is noticed every 30 s only",
        opened.error().message);
  }
  connections_ = std::move(*opened);
  const Status watched = worker_.loop().Watch(connections_->fd(), [this] {
    const auto gone = connections_->Receive();
    if (gone && !*gone) return;
    repair_.ConnectionGone();
    worker_.Soon(poll_scheduled_, [this] { Poll(); }, kGather);
  });
  if (!watched) log::Warning("ends of BGP sessions: {}", watched.error().message);
}

void BgpWorker::Listen() {
  repair_.OfferFeed(config_.bgp.bmp_port);
  if (config_.bgp.bmp_port == 0) return repair_.NoFeed("bgp.bmp_port is 0");
  auto listener = bmp::Listener::Open(config_.bgp.bmp_port);
  if (!listener) return repair_.NoFeed(listener.error().message);
  listener_.emplace(std::move(*listener));
  const Status watched = worker_.loop().Watch(listener_->fd(), [this] { Accept(); });
  if (!watched) repair_.NoFeed(watched.error().message);
}

// One connection, and only of the user who runs bgpd: the owner of its vty socket.
void BgpWorker::Accept() {
  if (feed_) Receive();  // a bgpd that was killed and its successor come to us in one turn
  struct stat owner{};
  const bool known = ::stat(vty_.c_str(), &owner) == 0;
  auto connection = listener_->Accept(known ? owner.st_uid : static_cast<uid_t>(-1));
  if (!connection) return log::Warning("bgp feed: {}", connection.error().message);
  if (!connection->has_value() || !repair_.wants_feed()) return;
  if (feed_) return log::Warning("bgp feed: a second connection while the first is open; refused");
  feed_.emplace(std::move(**connection));
  const Status watched = worker_.loop().Watch(feed_->fd(), [this] { Receive(); });
  if (!watched) {
    log::Warning("bgp feed: {}", watched.error().message);
    return feed_.reset();
  }
  repair_.FeedOpened();
}

void BgpWorker::Receive() {
  const auto open = feed_->Receive([this](const bmp::Message& message) { repair_.Pushed(message); });
  const auto gather = std::clamp<Clock::duration>(4 * last_tell_, kGather, kGatherMost);
  worker_.Soon(tell_scheduled_, [this] { Told(); }, gather);
  if (!open || !*open) return CloseFeed(open ? "it has closed the connection" : open.error().message);
  if (!repair_.wants_feed()) CloseFeed("it cannot be relied upon");
}

// bgpd may have gone, with its configuration: the audit is tried until another one is there.
void BgpWorker::CloseFeed(const std::string& why) {
  worker_.loop().Unwatch(feed_->fd());
  feed_.reset();
  repair_.FeedClosed(why);
  worker_.RetryAt(Clock::now(), [this] { Audit(); });
}

void BgpWorker::Told() {
  const auto began = Clock::now();
  if (repair_.Tell()) events_.learned();
  last_tell_ = Clock::now() - began;
}

void BgpWorker::Audit() {
  const bool broken = repair_.next_retry().has_value();
  const bool news = repair_.Audit();
  worker_.RetryAt(repair_.next_retry(), [this] { Audit(); });
  if (news) events_.learned();
  if (broken && !repair_.next_retry()) events_.right_again();
}

void BgpWorker::Poll() {
  if (repair_.Poll()) events_.learned();
  // connect(2) to a socket that nobody serves costs nothing. A bgpd that is back has lost its configuration.
  if (!repair_.answers()) {
    if (UnixStream::Connect(vty_, Clock::now())) Audit();
    return;
  }
  if (repair_.audit_due()) Audit();
  if (!feed_) return;
  if (const std::string why = repair_.feed_to_close(); !why.empty()) CloseFeed(why);
}

}  // namespace rail::raild
