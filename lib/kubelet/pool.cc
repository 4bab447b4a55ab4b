#include "lib/kubelet/pool.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "lib/base/pci_address.h"

namespace rail::kubelet {
namespace {

bool SameToTheKubelet(const Device& a, const Device& b) {
  return std::tie(a.id, a.numa, a.healthy) == std::tie(b.id, b.numa, b.healthy);
}

}  // namespace

DevicePool::Look DevicePool::See(const std::vector<Seen>& seen, Deadline now) {
  Look look;
  std::map<std::string, Fault> faults;
  for (const Seen& each : seen) {
    Device& device = look.devices.emplace_back(Device{.id = each.id, .numa = each.numa});
    if (each.fault.empty()) continue;
    const auto before = faults_.find(each.id);
    Fault fault = before == faults_.end() ? Fault{.since = now} : before->second;
    const Deadline end = fault.since + grace_;
    fault.told = fault.told || each.at_once || end <= now || !IsListed(each.id);
    faults.emplace(each.id, fault);
    if (fault.told) {
      device.healthy = false;
      device.reason = each.fault;
    } else {
      look.look_again = Earlier(look.look_again, end);
    }
  }
  faults_ = std::move(faults);
  std::ranges::sort(look.devices, IsBefore, &Device::id);
  look.changed = !std::ranges::equal(look.devices, last_, SameToTheKubelet);
  last_ = look.devices;
  return look;
}

bool DevicePool::IsListed(const std::string& id) const {
  return std::ranges::find(last_, id, &Device::id) != last_.end();
}

bool IsBefore(std::string_view a, std::string_view b) {
  const auto key = [](std::string_view id) {
    const auto address = PciAddress::Parse(id);
    return std::tuple(!address, address.value_or(PciAddress{}), id);
  };
  return key(a) < key(b);
}

}  // namespace rail::kubelet
