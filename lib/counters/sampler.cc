#include "lib/counters/sampler.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace rail::counters {
namespace {

constexpr std::chrono::seconds kUnasked{10};  // between two readings that nobody has asked for
constexpr std::chrono::seconds kInterest{3};  // how long somebody who has asked is expected to ask again
constexpr std::chrono::milliseconds kHistoryEvery{9'500};  // a tick may be early
constexpr std::chrono::minutes kHistory{1};
constexpr std::chrono::seconds kRdmaAgain{10};  // an RDMA device may come later than its interface
constexpr size_t kPeakSeconds = 60;

Both<Counts> TrafficOf(const Port& port, const netlink::LinkStats& s) {
  Counts in{s.rx_bytes, s.rx_packets, s.rx_dropped, s.rx_errors, s.slow_rx_packets};
  Counts out{s.tx_bytes, s.tx_packets, s.tx_dropped, s.tx_errors, s.slow_tx_packets};
  if (!port.is_uplink()) std::swap(in, out);  // what a representor receives, its pod has sent
  Both<Counts> both;
  both[Direction::kSent] = out;
  both[Direction::kReceived] = in;
  return both;
}

}  // namespace

Sampler::Sampler(const config::NodeConfig& config, const engine::ViewPublisher& views, std::string sysfs)
    : config_(config),
      slots_(config, views, std::move(sysfs)),
      recorder_(std::chrono::milliseconds(config.bursts.every_ms)) {}

Status Sampler::Open() {
  RAIL_ASSIGN(stats_, netlink::Stats::Open());
  return {};
}

Status Sampler::Tick() {
  const auto second = SecondOf(std::chrono::milliseconds(config_.bursts.every_ms));
  const bool whole = !bursts_on() || !second_ || Clock::now() - *second_ >= second;
  if (whole) slots_.Find();
  RAIL_TRY(slots_.Read(*stats_, whole ? netlink::Stats::Detail::kAll : netlink::Stats::Detail::kTraffic));
  const Moment now{Clock::now(), UnixMs()};
  if (bursts_on()) LookForBursts(now);
  if (whole) {
    second_ = now.at;
    EverySecond(now);
  }
  return {};
}

void Sampler::LookForBursts(const Moment& now) {
  readings_.clear();
  for (const Slot& slot : slots_.all()) {
    if (!slot.read) continue;
    const auto traffic = TrafficOf(*slot.port, slot.stats);
    Reading reading{.port = slot.port, .line_rate = slot.line_rate};
    for (const Direction direction : kDirections) reading.bytes[direction] = traffic[direction].bytes;
    readings_.push_back(std::move(reading));
  }
  const std::lock_guard lock(mutex_);
  recorder_.Tick(now, readings_);
}

PortCounts Sampler::CountsOf(Slot& slot, Clock::time_point now, bool with_pods_rdma) {
  PortCounts counts{.at = now, .traffic = TrafficOf(*slot.port, slot.stats)};
  if (!slot.port->is_uplink() && !with_pods_rdma && slot.before) {
    counts.rdma = slot.before->rdma;
    counts.rdma_at = slot.before->rdma_at;
    return counts;
  }
  counts.rdma_at = now;
  if (slot.before) {
    slot.rdma_before = slot.before->rdma;
    slot.rdma_before_at = slot.before->rdma_at;
  }
  counts.rdma = RdmaOf(slot, now);
  if (!slot.port->is_uplink()) return counts;
  if (auto pfc = stats_->Pfc(slot.port->link)) counts.pfc = *pfc;
  return counts;
}

// Each reading of a pod's enters the pod's namespace.
std::vector<netlink::RdmaCounter> Sampler::RdmaOf(Slot& slot, Clock::time_point now) {
  if (slot.without_rdma_at && now - *slot.without_rdma_at < kRdmaAgain) return {};
  const Port& port = *slot.port;
  auto rdma = port.is_uplink() ? stats_->RdmaOf(port.link, slot.rdma)
                               : netlink::RdmaOfPod(port.netns, port.netns_identity, port.ifname, slot.rdma);
  slot.without_rdma_at = rdma ? std::nullopt : std::optional(now);
  return rdma ? std::move(*rdma) : std::vector<netlink::RdmaCounter>();
}

void Sampler::AddTenants(const Slot& slot, const PortCounts& now) {
  if (slot.port->is_uplink() || slot.port->tenant.empty()) return;
  tenants_.Add({slot.port->rail, slot.port->tenant}, slot.before ? slot.before->traffic : now.traffic,
               now.traffic, now.at);
}

void Sampler::EverySecond(const Moment& now) {
  auto view = std::make_shared<PortsView>();
  view->unix_ms = now.unix_ms;
  view->bursts_on = bursts_on();
  slots_.AskLineRates(now.at);
  const bool somebody_looks = !bursts_on() || SomebodyAsks();
  for (Slot& slot : slots_.all()) {
    if (!slot.read) continue;
    const bool kept = slot.history.empty() || now.at - slot.history.back().at >= kHistoryEvery;
    PortCounts counts = CountsOf(slot, now.at, somebody_looks || kept);
    AddTenants(slot, counts);
    if (kept) slot.history.push_back(counts);
    while (slot.history.size() > 1 && now.at - slot.history[1].at >= kHistory) slot.history.pop_front();
    PortView& port = view->ports.emplace_back();
    port.port = slot.port;
    port.line_rate = slot.line_rate;
    port.earlier = slot.history.front();
    port.before = std::exchange(slot.before, counts);
    if (port.before) {
      port.before->rdma = slot.rdma_before;
      port.before->rdma_at = slot.rdma_before_at;
    }
    port.now = std::move(counts);
  }
  tenants_.Forget(now.at);
  view->tenants = tenants_.all();
  {
    const std::lock_guard lock(mutex_);
    if (bursts_on()) AddBursts(*view);
    view->version = current_->version + 1;
    current_ = std::move(view);
    read_ = now.at;
  }
  published_.notify_all();
}

void Sampler::AddBursts(PortsView& view) {
  for (PortView& port : view.ports) {
    if (port.now.pfc) {
      uint64_t pauses = 0;
      for (const uint64_t each : port.now.pfc->requests) pauses += each;
      for (const uint64_t each : port.now.pfc->indications) pauses += each;
      recorder_.Pauses(port.port->link, pauses);
    }
    const auto& seconds = recorder_.SecondsOf(port.port->link);
    if (!seconds.empty()) port.second = seconds.back();
    const auto first = seconds.end() - static_cast<ptrdiff_t>(std::min(seconds.size(), kPeakSeconds));
    for (auto second = first; second != seconds.end(); ++second) {
      for (const Direction direction : kDirections)
        port.peak[direction] = std::max(port.peak[direction], second->of[direction].max);
    }
  }
  view.bursts = recorder_.totals();
}

bool Sampler::IsDue(Clock::time_point now) const {
  return !bursts_on() && asked_ && (!read_ || now - *read_ >= kSecond);
}

bool Sampler::Ask() const {
  const auto now = Clock::now();
  asked_ = now;
  return IsDue(now);
}

bool Sampler::Due() const {
  const std::lock_guard lock(mutex_);
  return IsDue(Clock::now());
}

bool Sampler::SomebodyAsks() const {
  const std::lock_guard lock(mutex_);
  return asked_ && Clock::now() - *asked_ < kInterest;
}

Clock::duration Sampler::Pace() const {
  return SomebodyAsks() ? kSecond : kUnasked;
}

std::shared_ptr<const PortsView> Sampler::Current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

std::shared_ptr<const PortsView> Sampler::Fresh(Deadline deadline) const {
  std::unique_lock lock(mutex_);
  if (!Ask() || !wake_) return current_;
  const uint64_t old = current_->version;
  lock.unlock();
  wake_();
  lock.lock();
  published_.wait_until(lock, deadline, [&] { return current_->version > old; });
  return current_;
}

std::shared_ptr<const PortsView> Sampler::WaitNewer(uint64_t version, Deadline deadline) const {
  std::unique_lock lock(mutex_);
  if (Ask() && wake_) {
    lock.unlock();
    wake_();
    lock.lock();
  }
  published_.wait_until(lock, deadline, [&] { return current_->version > version; });
  return current_;
}

BurstList Sampler::Bursts(int64_t since_ms) const {
  BurstList list;
  const std::lock_guard lock(mutex_);
  list.bursts = recorder_.Since(since_ms);
  std::ranges::stable_sort(list.bursts, [](const Burst& a, const Burst& b) {
    return std::tie(a.ms, a.bytes) > std::tie(b.ms, b.bytes);
  });
  for (const PortView& port : current_->ports) {
    for (const Direction direction : kDirections) {
      Worst worst{.port = port.port, .line_rate = port.line_rate, .direction = direction};
      for (const Second& second : recorder_.SecondsOf(port.port->link)) {
        if (second.start_ms + second.ms < since_ms) continue;
        const Stretch& stretch = second.of[direction];
        worst.bytes += stretch.bytes;
        worst.ms += second.ms;
        worst.above_ms += stretch.above_ms;
        worst.pauses += second.pauses;
        if (stretch.max > worst.second.of[direction].max) worst.second = second;
      }
      if (worst.bytes > 0) list.worst.push_back(std::move(worst));
    }
  }
  std::ranges::stable_sort(list.worst, [](const Worst& a, const Worst& b) {
    return a.second.of[a.direction].max > b.second.of[b.direction].max;
  });
  return list;
}

}  // namespace rail::counters
