#include <algorithm>

#include "cmd/raild/api/messages.h"
#include "lib/base/utf8.h"
#include "lib/inspect/select.h"

namespace rail::raild {
namespace {

using counters::Direction;

constexpr uint32_t kMostBursts = 10'000;
constexpr uint32_t kDefaultBursts = 100;
constexpr uint32_t kMostSeconds = 900;

bool Matches(const v1::PortFilter& filter, const counters::Port& port) {
  const auto fits = [](const std::string& wanted, const std::string& is) {
    return wanted.empty() || wanted == is;
  };
  return fits(filter.rail(), port.rail) && fits(filter.namespace_(), port.pod_namespace) &&
         fits(filter.pod(), port.pod) && fits(filter.ifname(), port.ifname) &&
         inspect::IsTenant(filter.tenant(), port.tenant, port.tenant_id);
}

v1::Port ToMessage(const counters::Port& port) {
  v1::Port message;
  message.set_rail(port.rail);
  message.set_link(ValidUtf8(port.link));
  message.set_attachment(port.attachment);
  message.set_namespace_(ValidUtf8(port.pod_namespace));
  message.set_pod(ValidUtf8(port.pod));
  message.set_ifname(ValidUtf8(port.ifname));
  message.set_tenant(ValidUtf8(port.tenant));
  return message;
}

v1::Burst::Direction ToMessage(Direction direction) {
  return direction == Direction::kSent ? v1::Burst::SENT : v1::Burst::RECEIVED;
}

// Growth per second; a counter that has begun anew has none.
class Rate {
 public:
  explicit Rate(const counters::PortView& port) : Rate(port, &counters::PortCounts::at) {}
  // Of the readings of these times.
  Rate(const counters::PortView& port, Clock::time_point counters::PortCounts::* at)
      : seconds_(port.before ? std::chrono::duration<double>(port.now.*at - (*port.before).*at).count() : 0) {
  }
  double operator()(uint64_t before, uint64_t now) const {
    return seconds_ <= 0 || now < before ? 0 : static_cast<double>(now - before) / seconds_;
  }
  double seconds() const { return seconds_; }

 private:
  double seconds_;
};

v1::Traffic TrafficOf(const counters::PortView& port, Direction direction, const Rate& rate) {
  const counters::Counts& now = port.now.traffic[direction];
  const counters::Counts& before = port.before ? port.before->traffic[direction] : now;
  v1::Traffic message;
  message.set_bytes(now.bytes);
  message.set_packets(now.packets);
  message.set_dropped(now.dropped);
  message.set_errors(now.errors);
  message.set_byte_rate(rate(before.bytes, now.bytes));
  message.set_packet_rate(rate(before.packets, now.packets));
  message.set_dropped_rate(rate(before.dropped, now.dropped));
  message.set_error_rate(rate(before.errors, now.errors));
  if (now.slow_packets) {
    message.set_slow_packets(*now.slow_packets);
    message.set_slow_rate(rate(before.slow_packets.value_or(*now.slow_packets), *now.slow_packets));
  }
  if (port.second) {
    const counters::Stretch& stretch = port.second->of[direction];
    message.set_peak(stretch.max);
    message.set_p99(stretch.p99);
    message.set_above_ms(stretch.above_ms);
    message.set_longest_ms(stretch.longest_ms);
  } else {
    message.set_peak(static_cast<uint64_t>(message.byte_rate()));  // no tick is shorter
  }
  return message;
}

void AddPfc(const counters::PortView& port, const Rate& rate, v1::PortCounters& message) {
  if (!port.now.pfc) return;
  const netlink::PfcStats& now = *port.now.pfc;
  const netlink::PfcStats& before = port.before && port.before->pfc ? *port.before->pfc : now;
  for (uint32_t priority = 0; priority < now.requests.size(); ++priority) {
    const bool enabled = ((now.enabled >> priority) & 1) != 0;
    if (!enabled && now.requests[priority] == 0 && now.indications[priority] == 0) continue;
    v1::PfcCounters& pfc = *message.add_pfc();
    pfc.set_priority(priority);
    pfc.set_enabled(enabled);
    pfc.set_sent(now.requests[priority]);
    pfc.set_received(now.indications[priority]);
    pfc.set_sent_rate(rate(before.requests[priority], now.requests[priority]));
    pfc.set_received_rate(rate(before.indications[priority], now.indications[priority]));
  }
}

void AddRdma(const counters::PortView& port, v1::PortCounters& message) {
  const Rate rate(port, &counters::PortCounts::rdma_at);
  for (const netlink::RdmaCounter& counter : port.now.rdma) {
    v1::NamedCounter& named = *message.add_rdma();
    named.set_name(ValidUtf8(counter.name));
    named.set_value(counter.value);
    if (!port.before) continue;
    const auto old = std::ranges::find(port.before->rdma, counter.name, &netlink::RdmaCounter::name);
    if (old != port.before->rdma.end()) named.set_rate(rate(old->value, counter.value));
  }
}

}  // namespace

v1::ListCountersResponse ListCounters(const counters::PortsView& view, const v1::PortFilter& filter) {
  v1::ListCountersResponse response;
  SetTime(*response.mutable_read(), view.unix_ms);
  response.set_bursts_on(view.bursts_on);
  for (const counters::PortView& port : view.ports) {
    if (!Matches(filter, *port.port)) continue;
    const Rate rate(port);
    v1::PortCounters& message = *response.add_ports();
    *message.mutable_port() = ToMessage(*port.port);
    message.set_line_rate(port.line_rate);
    message.set_seconds(rate.seconds());
    *message.mutable_sent() = TrafficOf(port, Direction::kSent, rate);
    *message.mutable_received() = TrafficOf(port, Direction::kReceived, rate);
    AddPfc(port, rate, message);
    AddRdma(port, message);
  }
  return response;
}

v1::ListBurstsResponse ToMessage(const counters::BurstList& list, const v1::ListBurstsRequest& request) {
  v1::ListBurstsResponse response;
  const uint32_t most = std::min(request.most() == 0 ? kDefaultBursts : request.most(), kMostBursts);
  uint32_t total = 0;
  for (const counters::Burst& burst : list.bursts) {
    if (!Matches(request.filter(), *burst.port) || total++ >= most) continue;
    v1::Burst& message = *response.add_bursts();
    *message.mutable_port() = ToMessage(*burst.port);
    message.set_direction(ToMessage(burst.direction));
    SetTime(*message.mutable_start(), burst.start_ms);
    message.set_ms(burst.ms);
    message.set_bytes(burst.bytes);
    message.set_peak(burst.max);
    message.set_line_rate(burst.line_rate);
    message.set_goes_on(burst.goes_on);
    for (const counters::Companion& companion : burst.with) {
      v1::Companion& with = *message.add_with();
      *with.mutable_port() = ToMessage(*companion.port);
      with.set_bytes(companion.bytes);
    }
  }
  response.set_total(total);
  for (const counters::Worst& worst : list.worst) {
    if (!Matches(request.filter(), *worst.port)) continue;
    v1::FastestSecond& message = *response.add_seconds();
    *message.mutable_port() = ToMessage(*worst.port);
    message.set_direction(ToMessage(worst.direction));
    SetTime(*message.mutable_start(), worst.second.start_ms);
    message.set_peak(worst.second.of[worst.direction].max);
    message.set_p99(worst.second.of[worst.direction].p99);
    message.set_line_rate(worst.line_rate);
    message.set_average(worst.ms == 0 ? 0 : worst.bytes * 1000 / worst.ms);
    message.set_above_ms(worst.above_ms);
    message.set_pauses(worst.pauses);
  }
  return response;
}

v1::ListBurstsResponse ListBursts(const counters::Sampler& sampler, const v1::ListBurstsRequest& request,
                                  int64_t now_ms) {
  const uint32_t asked = request.since_seconds() == 0 ? kMostSeconds : request.since_seconds();
  const int64_t since = now_ms - int64_t{1000} * std::min(asked, kMostSeconds);
  return ToMessage(sampler.Bursts(since), request);
}

}  // namespace rail::raild
