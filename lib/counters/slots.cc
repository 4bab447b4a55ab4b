#include "lib/counters/slots.h"

#include <algorithm>
#include <map>
#include <utility>

#include "lib/sriov/sysfs.h"

namespace rail::counters {
namespace {

constexpr std::chrono::minutes kLineRateEvery{1};
constexpr uint64_t kBytesPerMbit = 125'000;

}  // namespace

void Slots::Find() {
  const auto view = views_.Current();
  if (std::exchange(of_view_, view->version) == view->version && !std::exchange(lost_, false) &&
      !slots_.empty())
    return;
  std::vector<Slot> before = std::exchange(slots_, {});
  by_index_.clear();
  indexes_.clear();
  const sriov::Sysfs sysfs(sysfs_);
  std::map<std::string, uint64_t> rates;  // by rail
  for (PortPtr& port : PortsOf(config_, *view)) {
    const auto old =
        std::ranges::find_if(before, [&](const Slot& slot) { return slot.port && *slot.port == *port; });
    Slot slot;
    if (old != before.end()) {
      slot = std::move(*old);
      old->port = nullptr;
    } else {
      slot.port = port;
      if (port->is_uplink()) {
        slot.line_rate = config_.bursts.line_rate_mbit != 0
                             ? config_.bursts.line_rate_mbit * kBytesPerMbit
                             : netlink::Stats::LineRate(port->link).value_or(0);
        // Its PCI device says it even where the RDMA device names another link (a bond). What comes later is found by the link.
        const auto devices = sysfs.List("class/net/" + port->link + "/device/infiniband");
        if (!devices.empty()) slot.rdma = devices.front();
      }
    }
    if (slot.port->is_uplink()) {
      rates[port->rail] = slot.line_rate;
    } else {
      slot.line_rate = rates[port->rail];
    }
    const int index = netlink::Stats::IndexOf(port->link);
    if (index == 0) lost_ = true;
    if (index != 0 && by_index_.insert_or_assign(index, slots_.size()).second) indexes_.push_back(index);
    slots_.push_back(std::move(slot));
  }
  std::ranges::sort(indexes_);
}

void Slots::AskLineRates(Clock::time_point now) {
  if (config_.bursts.line_rate_mbit != 0 || (line_rates_asked_ && now - *line_rates_asked_ < kLineRateEvery))
    return;
  line_rates_asked_ = now;
  for (Slot& slot : slots_) {
    if (slot.port->is_uplink()) slot.line_rate = netlink::Stats::LineRate(slot.port->link).value_or(0);
  }
}

Status Slots::Read(netlink::Stats& stats, netlink::Stats::Detail detail) {
  for (Slot& slot : slots_) slot.read = false;
  RAIL_TRY(stats.Links(detail, indexes_, [this](const netlink::LinkStats& link) {
    const auto at = by_index_.find(link.index);
    if (at == by_index_.end()) return;
    slots_[at->second].stats = link;
    slots_[at->second].read = true;
  }));
  for (const Slot& slot : slots_) lost_ = lost_ || !slot.read;
  return {};
}

}  // namespace rail::counters
