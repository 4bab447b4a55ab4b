#include "cmd/raild/workers/bgp_worker.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "lib/base/log.h"
#include "lib/base/socket.h"

namespace rail::raild {
namespace {

constexpr std::chrono::seconds kAuditInterval{30};
// connect(2) to a socket that nobody serves costs nothing.
constexpr std::chrono::milliseconds kReconnect{250};
// zebra writes the routes of one change within some 10 ms.
constexpr std::chrono::milliseconds kRoutesRest{100};
constexpr int kLoopbackIndex = 1;  // in every network namespace (kernel: LOOPBACK_IFINDEX)
constexpr std::chrono::milliseconds kSoonest{10};
// Whoever removes lines of ours (frr-reload.py) removes them one by one, some 130 ms apart: an audit may come in the middle.
constexpr std::chrono::seconds kLookAgain{1};
constexpr std::chrono::milliseconds kRest{400};
constexpr std::chrono::seconds kRestMost{5};
// Messages that bgpd pushes together are published together. While a whole table comes in,
// publishing takes only a part of the time.
constexpr std::chrono::milliseconds kGather{2};
constexpr std::chrono::milliseconds kGatherMost{500};

// If a carrier is back within this time, raild withdraws nothing: a leaf that waits as long has not missed it.
constexpr std::chrono::milliseconds kFlap{1000};
constexpr std::chrono::milliseconds kSolicitInterval{500};

}  // namespace

BgpWorker::BgpWorker(const config::NodeConfig& config, const engine::Deps& deps,
                     std::unique_ptr<state::Store> store, engine::NodeStatus& node_status, Events events)
    : config_(config),
      vty_(config.frr.run_dir + "/bgpd.vty"),
      store_(std::move(store)),
      repair_(config, deps, *store_, node_status),
      events_(std::move(events)),
      rest_(vty_) {}

void BgpWorker::Start() {
  worker_.Start([this] {
    WatchConnections();
    WatchAddresses();
    Audit();
    worker_.loop().Every(kAuditInterval, [this] { Audit(); });
  });
}

void BgpWorker::UplinksChanged(const engine::UplinkNews& news) {
  worker_.loop().Post([this, news] {
    if (!news.back.empty()) return CarrierBack(news);
    worker_.Soon(Kind::kAudit, [this] { Audit(); }, kFlap);
  });
}

void BgpWorker::DevicesChanged() {
  worker_.loop().Post([this] { Audit(); });
}

void BgpWorker::TenantsMoved() {
  worker_.loop().Post([this] { Audit(); });
}

// The addresses of the node's pods are compared with what others announce.
void BgpWorker::RecordChanged() {
  worker_.loop().Post([this] {
    worker_.Soon(Kind::kTell, [this] { Told(); }, kGather);
    worker_.Soon(Kind::kInstances, [this] { LookAtInstances(); }, kGather);
  });
}

// A tenant's first pod needs an instance of bgpd.
void BgpWorker::LookAtInstances() {
  if (repair_.InstancesChanged()) Audit();
}

// Repairs the announcements before it ends the session.
void BgpWorker::CarrierBack(const engine::UplinkNews& news) {
  Audit();
  if (repair_.CarrierBack(news.back, news.seen)) events_.learned();
  Solicit();
}

void BgpWorker::Solicit() {
  if (repair_.Solicit()) worker_.Soon(Kind::kSolicit, [this] { Solicit(); }, kSolicitInterval);
  PollWhenDue();
}

void BgpWorker::WatchConnections() {
  auto opened = netlink::TcpMonitor::Open(frr::kPort);
  if (!opened) {
    return log::Warning(
        "ends of BGP sessions: {}; a neighbour that somebody removes is noticed every 30 s only",
        opened.error().message);
  }
  connections_ = std::move(*opened);
  const Status watched = worker_.loop().Watch(connections_->fd(), [this] {
    const auto ends = connections_->Receive();
    if (ends && ends->empty()) return;
    repair_.ConnectionsGone(ends.value_or(std::vector<netlink::TcpEnd>()));
    worker_.Soon(Kind::kPoll, [this] { Poll(); }, kGather);
  });
  if (!watched) log::Warning("ends of BGP sessions: {}", watched.error().message);
}

// Somebody may take the node's own address away, or zebra a next hop of its default route.
void BgpWorker::WatchAddresses() {
  if (!config_.frontend.on()) return;
  worker_.FollowAddresses(
      "an address of the front end that somebody removes is noticed every 30 s only",
      [this](const netlink::Changes* changes) {
        if (changes == nullptr || std::ranges::find(changes->links, kLoopbackIndex) != changes->links.end())
          return worker_.Soon(Kind::kAudit, [this] { Audit(); }, kGather);
        if (changes->default_routes_changed && repair_.DefaultRoutesChanged())
          worker_.Soon(Kind::kPoll, [this] { Poll(); }, kRoutesRest);
      });
}

void BgpWorker::Listen() {
  const bool by_tenant = config_.tenancy.mode == config::TenancyMode::kVrf;
  auto listener = bmp::Listener::Open(
      config_.bgp.bmp_port, by_tenant ? bmp::Listener::On::kAllLoopback : bmp::Listener::On::kOneAddress);
  if (!listener) return repair_.NoFeed(listener.error().message);
  const Status watched = worker_.loop().Watch(listener->fd(), [this] { Accept(); });
  if (!watched) return repair_.NoFeed(watched.error().message);
  listener_.emplace(std::move(*listener));
  repair_.NoFeed("");
}

// Accepts one connection, and only from the user who runs bgpd: the owner of its vty socket.
void BgpWorker::Accept() {
  struct stat owner{};
  const bool known = ::stat(vty_.c_str(), &owner) == 0;
  auto connection = listener_->Accept(known ? owner.st_uid : static_cast<uid_t>(-1));
  if (!connection) return log::Warning("bgp feed: {}", connection.error().message);
  if (!connection->has_value()) return;
  const auto vrf = engine::VrfOfFeed(config_, (*connection)->to);
  if (!vrf)
    return log::Warning("bgp feed: {} is no instance's address; refused", (*connection)->to.ToString());
  // The end of a killed bgpd and its successor's connection may come in one turn.
  if (feeds_.contains(*vrf)) Receive(*vrf);
  if (feeds_.contains(*vrf))
    return log::Warning("bgp feed: a second connection while the first is open; refused");
  const bmp::Instance from = vrf->empty() ? bmp::Instance::kDefault : bmp::Instance::kVrf;
  const bmp::Feed& feed = feeds_.emplace(*vrf, bmp::Feed(std::move((*connection)->fd), from)).first->second;
  const Status watched = worker_.loop().Watch(feed.fd(), [this, its = *vrf] { Receive(its); });
  if (!watched) {
    log::Warning("bgp feed: {}", watched.error().message);
    feeds_.erase(*vrf);
    return;
  }
  repair_.FeedOpened(*vrf);
  PollWhenDue();
}

void BgpWorker::Receive(const std::string& vrf) {
  const auto open =
      feeds_.at(vrf).Receive([&](const bmp::Message& message) { repair_.Pushed(message, vrf); });
  const auto gather = std::clamp<Clock::duration>(4 * last_tell_, kGather, kGatherMost);
  worker_.Soon(Kind::kTell, [this] { Told(); }, gather);
  if (!open || !*open) CloseFeed(vrf, open ? "it has closed the connection" : open.error().message);
}

// bgpd may have gone, with its configuration: retries the audit until another bgpd is there. Or somebody has removed its feed.
void BgpWorker::CloseFeed(const std::string& vrf, const std::string& why) {
  const auto feed = feeds_.find(vrf);
  repair_.FeedClosed(why, vrf);
  worker_.loop().Unwatch(feed->second.fd());  // `vrf` may be the watch's own
  feeds_.erase(feed);
  worker_.RetryAt(Clock::now(), [this] { AuditAtRest(); });
}

// What is put back while somebody removes line after line would be removed again. A new bgpd is made right at once: its sessions
// must not come up without the announcements.
void BgpWorker::AuditAtRest() {
  if (rest_until_) return;
  if (!rest_.IsSameDaemon()) return Audit();
  rest_until_ = After(kRestMost);
  rest_.IsAtRest();
  LookForRest();
}

void BgpWorker::LookForRest() {
  worker_.Soon(
      Kind::kRest,
      [this] {
        if (!rest_until_) return;
        if (rest_.IsSameDaemon() && !rest_.IsAtRest() && Clock::now() < *rest_until_) return LookForRest();
        rest_until_.reset();
        Audit();
      },
      kRest);
}

void BgpWorker::Told() {
  const auto began = Clock::now();
  if (repair_.Tell()) events_.learned();
  last_tell_ = Clock::now() - began;
  PollWhenDue();
}

void BgpWorker::Audit() {
  if (rest_until_ && rest_.IsSameDaemon()) return;  // soon
  rest_until_.reset();
  const bool broken = repair_.next_retry().has_value();
  if (!listener_) Listen();  // the process that had the port may have ended
  const bool news = repair_.Audit();
  worker_.RetryAt(repair_.next_retry(), [this] { Audit(); });
  rest_.Served();
  if (repair_.mended()) worker_.Soon(Kind::kLookAgain, [this] { AuditAtRest(); }, kLookAgain);
  if (news) events_.learned();
  if (broken && !repair_.next_retry()) events_.right_again();
  PollWhenDue();
}

void BgpWorker::Poll() {
  if (repair_.Poll()) events_.learned();
  // A bgpd that is back has lost its configuration.
  const bool is_back = !repair_.answers() && UnixStream::Connect(vty_, Clock::now());
  if (is_back) {
    Audit();
  } else if (repair_.answers() && repair_.audit_due()) {
    AuditAtRest();
  }
  std::map<std::string, std::string> to_close;
  for (const auto& [vrf, feed] : feeds_) {
    const std::string why = repair_.answers() ? repair_.feed_to_close(vrf) : "";
    if (!why.empty()) to_close.emplace(vrf, why);
  }
  for (const auto& [vrf, why] : to_close) CloseFeed(vrf, why);
  LookAtInstances();
  PollWhenDue();
}

// Runs no timer while nothing is due.
void BgpWorker::PollWhenDue() {
  std::optional<Deadline> next = repair_.next_poll();
  if (!repair_.answers()) next = Earlier(next, After(kReconnect));
  worker_.loop().Cancel(poll_due_);
  poll_due_ = 0;
  if (!next) return;
  poll_due_ =
      worker_.loop().After(std::max<Clock::duration>(*next - Clock::now(), kSoonest), [this] { Poll(); });
}

}  // namespace rail::raild
