#include "lib/netlink/testing/rdma.h"

#include <algorithm>

namespace rail::netlink::testing {
namespace {

class View : public Rdma {
 public:
  View(RdmaMachine& machine, const netns::Identity& where) : machine_(machine), where_(where) {}

  Result<RdmaNetns> NetnsMode() override { return machine_.mode(); }

  Result<std::vector<RdmaDevice>> List() override {
    std::vector<RdmaDevice> seen;
    for (const auto& entry : machine_.devices()) {
      if (Sees(entry)) seen.push_back(entry.device);
    }
    return seen;
  }

  Status Rename(uint32_t device, std::string_view name) override {
    RAIL_ASSIGN(RdmaMachine::Device * entry, Find(device));
    if (machine_.Find(std::string(name)) != nullptr) return Fail(Code::kExists, "the name is taken");
    entry->device.name = name;
    machine_.on_change();
    return {};
  }

  Status Move(uint32_t device, int netns_fd) override {
    RAIL_ASSIGN(RdmaMachine::Device * entry, Find(device));
    if (machine_.mode() == RdmaNetns::kShared) return Fail(Code::kUnsupported, "shared mode");
    RAIL_ASSIGN(const auto there, netns::Netns::Open("/proc/self/fd/" + std::to_string(netns_fd)));
    entry->where = there.identity();
    machine_.on_change();
    return {};
  }

 private:
  bool Sees(const RdmaMachine::Device& entry) const {
    return machine_.mode() == RdmaNetns::kShared || entry.where == where_;
  }
  Result<RdmaMachine::Device*> Find(uint32_t device) {
    for (auto& entry : machine_.devices()) {
      if (entry.device.index == device && Sees(entry)) return &entry;
    }
    return Fail(Code::kNotFound, "no such RDMA device here");
  }

  RdmaMachine& machine_;
  const netns::Identity where_;
};

}  // namespace

uint32_t RdmaMachine::Add(const std::string& name, const netns::Identity& where) {
  devices_.push_back({{next_, name}, where});
  return next_++;
}

void RdmaMachine::Kill(const netns::Identity& pod, const netns::Identity& home) {
  for (Device& entry : devices_) {
    if (entry.where == pod) entry.where = home;
  }
}

void RdmaMachine::Rename(const std::string& from, const std::string& to) {
  for (Device& entry : devices_) {
    if (entry.device.name == from) entry.device.name = to;
  }
}

const RdmaMachine::Device* RdmaMachine::Find(const std::string& name) const {
  const auto it = std::ranges::find(devices_, name, [](const Device& entry) { return entry.device.name; });
  return it == devices_.end() ? nullptr : &*it;
}

std::vector<std::string> RdmaMachine::Names() const {
  std::vector<std::string> names;
  names.reserve(devices_.size());
  for (const Device& entry : devices_) names.push_back(entry.device.name);
  return names;
}

Result<std::unique_ptr<Rdma>> RdmaMachine::Open() {
  RAIL_ASSIGN(const auto here, netns::Netns::Current());
  return std::unique_ptr<Rdma>(std::make_unique<View>(*this, here.identity()));
}

}  // namespace rail::netlink::testing
