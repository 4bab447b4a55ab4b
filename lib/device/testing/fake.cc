#include "lib/device/testing/fake.h"

#include <algorithm>

namespace rail::device::testing {

void Fake::Add(const std::string& rail, const std::string& device, const std::string& representor) {
  Entry entry;
  entry.rail = rail;
  entry.state.id = device;
  entry.state.netdev = device;
  entry.state.representor = representor;
  entry.state.mac.bytes = {0x02, 0xde, 0xf1, 0, 0, static_cast<uint8_t>(entries_.size() + 1)};
  entry.state.mtu = 1500;
  entry.state.representor_mtu = 1500;
  entry.state.kind = "veth";
  entries_[device] = entry;
}

void Fake::KillNamespace(const netns::Identity& pod) {
  std::erase_if(entries_, [&](const auto& entry) { return entry.second.pod == pod; });
}

void Fake::Reset(const std::string& device) {
  Entry& entry = entries_.at(device);
  entry.pod.reset();
  entry.state.mac.bytes[1] ^= 1;
  entry.state.mtu = 1500;
}

void Fake::ReturnSwapped(const std::string& one, const std::string& other) {
  for (const std::string& device : {one, other}) entries_.at(device).pod.reset();
  std::swap(entries_.at(one).state.netdev, entries_.at(other).state.netdev);
}

void Fake::FailOn(const std::string& function, Error error) {
  failures_[function] = std::move(error);
}

std::optional<netns::Identity> Fake::Where(const std::string& device) const {
  const auto it = entries_.find(device);
  return it == entries_.end() ? std::nullopt : it->second.pod;
}

std::optional<Saved> Fake::State(const std::string& device) const {
  const auto it = entries_.find(device);
  return it == entries_.end() ? std::nullopt : std::optional(it->second.state);
}

Status Fake::Begin(const std::string& function) {
  if (const auto failure = failures_.extract(function)) return tl::make_unexpected(failure.mapped());
  return {};
}

tl::unexpected<Error> Fake::NotOf(const config::Rail& rail, const std::string& id) {
  return Fail(Code::kInvalid, "device '" + id + "' is not one of rail " + rail.name);
}

Status Fake::CheckRail(const config::Rail& rail, const std::string& id) {
  const auto it = entries_.find(id);
  if (it == entries_.end() || it->second.rail == rail.name) return {};
  return NotOf(rail, id);
}

Result<Location> Fake::Locate(const Saved& saved) {
  RAIL_TRY(Begin("Locate"));
  const auto it = entries_.find(saved.id);
  if (it == entries_.end() || gone_.contains(saved.id)) return Location::kNowhere;
  return it->second.pod ? Location::kElsewhere : Location::kHost;
}

Result<std::string> Fake::WhyGone(const Saved& saved) {
  const auto it = gone_.find(saved.id);
  return it == gone_.end() ? "" : it->second;
}

Result<Device> Fake::Find(const config::Rail& rail, const std::string& id) {
  RAIL_TRY(Begin("Find"));
  const bool listed =
      std::ranges::any_of(rail.devices, [&](const auto& entry) { return entry.device == id; });
  if (!listed) return NotOf(rail, id);
  const auto it = entries_.find(id);
  if (it == entries_.end() || it->second.pod || it->second.rail != rail.name) {
    return Fail(Code::kNotFound, "device " + id + " is not on the host now");
  }
  return Device{id, it->second.state.netdev, it->second.state.representor, it->second.state.mac};
}

Result<Saved> Fake::Save(const Device& device) {
  RAIL_TRY(Begin("Save"));
  const auto it = entries_.find(device.id);
  if (it == entries_.end() || it->second.pod)
    return Fail(Code::kNotFound, "device " + device.id + " is not on the host");
  calls_.push_back("Save " + device.id);
  Saved saved = it->second.state;
  saved.asked = device.settings;
  return saved;
}

Status Fake::RaiseRepresentor(const Device& device, uint32_t mtu) {
  RAIL_TRY(Begin("RaiseRepresentor"));
  const auto it = entries_.find(device.id);
  if (it == entries_.end()) return Fail(Code::kNotFound, "there is no link " + device.representor);
  it->second.state.representor_mtu = mtu;
  it->second.state.representor_up = true;
  return {};
}

Result<MacAddress> Fake::MoveIn(const Device& device, const netns::Netns& pod, const std::string& ifname) {
  RAIL_TRY(Begin("MoveIn"));
  const auto it = entries_.find(device.id);
  if (it == entries_.end() || it->second.pod)
    return Fail(Code::kNotFound, "device " + device.id + " is not on the host");
  Settings others = device.settings;
  others.mac.reset();
  if (!others.empty()) return Fail(Code::kUnsupported, device.id + " is no virtual function");
  for (const auto& [id, entry] : entries_) {
    if (entry.pod == pod.identity() && entry.ifname == ifname) {
      return Fail(Code::kExists, "the pod has a link " + ifname + " already");
    }
  }
  Entry& entry = it->second;
  entry.pod = pod.identity();
  entry.ifname = ifname;
  entry.state.mac = device.settings.mac.value_or(entry.state.mac);
  entry.state.up = false;
  calls_.push_back("MoveIn " + device.id);
  return entry.state.mac;
}

Result<std::vector<std::string>> Fake::Verify(const Saved& saved, const std::optional<Settings>&,
                                              const netns::Netns&) {
  RAIL_TRY(Begin("Verify"));
  const auto it = amiss_.find(saved.id);
  return it == amiss_.end() ? std::vector<std::string>() : it->second;
}

Status Fake::Restore(const Saved& saved, const netns::Netns* pod, const std::string&, Deadline) {
  RAIL_TRY(Begin("Restore"));
  if (gone_.contains(saved.id)) return {};
  calls_.push_back("Restore " + saved.id);
  const auto it = entries_.find(saved.id);
  if (it == entries_.end()) return {};
  if (it->second.pod && (pod == nullptr || pod->identity() != *it->second.pod)) {
    return Fail(Code::kBusy, "device " + saved.id + " is neither on the host nor in the pod");
  }
  it->second.pod.reset();
  it->second.ifname.clear();
  it->second.state = saved;
  it->second.state.asked = {};
  for (const auto& [id, other] : entries_) {
    if (id == saved.id || other.pod || other.state.netdev != saved.netdev) continue;
    it->second.state.netdev = "of-" + saved.id;
    return Fail(Code::kExists, saved.netdev + " is another's name now");
  }
  return {};
}

}  // namespace rail::device::testing
