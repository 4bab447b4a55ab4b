#include "cmd/raild/workers/bridge_watch.h"

#include "lib/base/log.h"
#include "lib/base/socket.h"

namespace rail::raild {
namespace {

// A lent connection. It ends with the round, but the connection itself stays open.
class Lent : public ovs::OpenFlow {
 public:
  explicit Lent(ovs::OpenFlow& bridge) : bridge_(bridge) {}
  Status ForEach(ovs::CookieMatch which, const EachRule& each, Deadline deadline) override {
    return bridge_.ForEach(which, each, deadline);
  }
  Result<uint64_t> Count(ovs::CookieMatch which, Deadline deadline) override {
    return bridge_.Count(which, deadline);
  }
  Result<ovs::RuleChanges> Changes() override { return bridge_.Changes(); }
  Status Commit(const ovs::Change& change, Deadline deadline) override {
    return bridge_.Commit(change, deadline);
  }

 private:
  ovs::OpenFlow& bridge_;
};

}  // namespace

std::function<engine::Openers(const config::NodeConfig&)> BridgeWatch::Lending(
    std::function<engine::Openers(const config::NodeConfig&)> openers) {
  return [this, openers = std::move(openers)](const config::NodeConfig& config) {
    engine::Openers all = openers(config);
    all.openflow = [this](const std::string& bridge, Deadline deadline) { return Lend(bridge, deadline); };
    return all;
  };
}

Result<std::unique_ptr<ovs::OpenFlow>> BridgeWatch::Lend(const std::string& bridge, Deadline deadline) {
  Slot& slot = slots_[bridge];
  if (slot.open && !slot.open->usable()) Close(slot);
  if (!slot.open) {
    auto opened = ovs::FlowMonitor::Open(PathOf(bridge), deadline);
    if (!opened) {
      slot.lost = !UnixStream::Connect(PathOf(bridge), Clock::now());
      return tl::make_unexpected(opened.error());
    }
    slot.open = std::move(*opened);
    slot.lost = false;
    const Status watched = worker_.loop().Watch(slot.open->fd(), [this, bridge] { Take(bridge); });
    if (!watched) log::Warning("rule events of bridge {}: {}", bridge, watched.error().message);
  }
  return std::make_unique<Lent>(slot.open->bridge());
}

void BridgeWatch::Take(const std::string& bridge) {
  Slot& slot = slots_[bridge];
  if (!slot.open) return;
  if (!slot.open->usable()) return Close(slot);  // the round has said why
  const Status taken = slot.open->TakeIn();
  if (!taken) {
    log::Warning("rule events of bridge {}: {}", bridge, taken.error().message);
    Close(slot);
    slot.lost = true;
    events_.lost();
  } else if (slot.open->told()) {
    events_.changed();
  }
}

void BridgeWatch::TakeAll() {
  for (const auto& [bridge, slot] : slots_) Take(bridge);
}

void BridgeWatch::AskForLost() {
  bool back = false;
  for (auto& [bridge, slot] : slots_) {
    if (!slot.lost || !UnixStream::Connect(PathOf(bridge), Clock::now())) continue;
    slot.lost = false;
    back = true;
  }
  if (back) events_.back();
}

void BridgeWatch::Close(Slot& slot) {
  worker_.loop().Unwatch(slot.open->fd());
  slot.open.reset();
}

}  // namespace rail::raild
