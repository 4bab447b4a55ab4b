#include "lib/ovs/testing/fake_ovsdb.h"

#include <algorithm>

namespace rail::ovs::testing {
namespace {

constexpr int64_t kLocalOfport = 65534;

void Merge(ExternalIds& into, const ExternalIds& from) {
  for (const auto& [key, value] : from) into[key] = value;
}

class Connection : public Ovsdb {
 public:
  explicit Connection(FakeOvsdb& db) : db_(db) {}
  Result<Bridge> EnsureBridge(const BridgeSpec& spec, Deadline deadline) override {
    return db_.EnsureBridge(spec, deadline);
  }
  Result<bool> DeleteBridge(const std::string& name, const ExternalIds& owner, const std::string& uplink,
                            Deadline deadline) override {
    return db_.DeleteBridge(name, owner, uplink, deadline);
  }
  Result<std::vector<Bridge>> BridgesWith(const std::string& key, Deadline deadline) override {
    return db_.BridgesWith(key, deadline);
  }
  Status UnmarkBridge(const std::string& bridge, const std::vector<std::string>& keys,
                      Deadline deadline) override {
    return db_.UnmarkBridge(bridge, keys, deadline);
  }
  Result<std::optional<Bridge>> FindBridge(const std::string& name, Deadline deadline) override {
    return db_.FindBridge(name, deadline);
  }
  Result<Port> AddPort(const PortSpec& spec, Deadline deadline) override {
    return db_.AddPort(spec, deadline);
  }
  Status DeletePort(const std::string& bridge, const std::string& name, const ExternalIds& owner, Wait wait,
                    Deadline deadline) override {
    return db_.DeletePort(bridge, name, owner, wait, deadline);
  }
  Result<std::optional<Port>> FindPort(const std::string& name, Deadline deadline) override {
    return db_.FindPort(name, deadline);
  }
  Status SetExternalIds(const std::string& port, const ExternalIds& ids, Deadline deadline) override {
    return db_.SetExternalIds(port, ids, deadline);
  }
  Status RemoveExternalIds(const std::string& port, const std::vector<std::string>& keys,
                           Deadline deadline) override {
    return db_.RemoveExternalIds(port, keys, deadline);
  }
  Result<ExternalIds> OtherConfig(Deadline deadline) override { return db_.OtherConfig(deadline); }

 private:
  FakeOvsdb& db_;
};

}  // namespace

std::unique_ptr<Ovsdb> FakeOvsdb::Connect() {
  return std::make_unique<Connection>(*this);
}

void FakeOvsdb::AddDevice(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  devices_.insert(name);
}

void FakeOvsdb::RemoveDevice(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  devices_.erase(name);
  if (Port* port = Find(name)) {
    port->ofport = -1;
    port->error = "could not open network device " + name + " (No such device)";
  }
}

void FakeOvsdb::ChangeBridge(const std::string& name, const std::function<void(Bridge&)>& change) {
  const std::scoped_lock lock(mutex_);
  change(bridges_.at(name));
}

void FakeOvsdb::RemoveBridge(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  bridges_.erase(name);
}

void FakeOvsdb::AddForeignBridge(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  bridges_[name] = {.name = name,
                    .datapath = "netdev",
                    .fail_mode = {},
                    .hwaddr = {},
                    .external_ids = {},
                    .prefixes = {},
                    .ports = {}};
  bridges_[name].ports.push_back(
      {.bridge = name, .name = name, .ofport = kLocalOfport, .error = {}, .external_ids = {}});
}

Port* FakeOvsdb::Find(const std::string& name) {
  for (auto& [bridge_name, bridge] : bridges_) {
    const auto it = std::ranges::find(bridge.ports, name, &Port::name);
    if (it != bridge.ports.end()) return &*it;
  }
  return nullptr;
}

void FakeOvsdb::Open(Bridge& bridge, Port& port, std::optional<uint16_t> ofport_request) {
  if (port.ofport > 0) return;
  if (!devices_.contains(port.name)) {
    port.error = "could not open network device " + port.name + " (No such device)";
    return;
  }
  const auto taken = [&](int64_t ofport) {
    return std::ranges::find(bridge.ports, ofport, &Port::ofport) != bridge.ports.end();
  };
  int64_t ofport = ofport_request.value_or(1);
  while (taken(ofport)) ++ofport;
  port.ofport = ofport;
  port.error.clear();
}

Result<Bridge> FakeOvsdb::EnsureBridge(const BridgeSpec& spec, Deadline) {
  RAIL_TRY(Check());
  const std::scoped_lock lock(mutex_);
  const std::string doing = "set up bridge " + spec.name;
  const Port* uplink = Find(spec.uplink);
  if (uplink != nullptr && uplink->bridge != spec.name) {
    return Fail(Code::kExists,
                doing + ": its uplink " + spec.uplink + " is a port of bridge " + uplink->bridge);
  }
  Bridge& bridge = bridges_[spec.name];
  bridge.name = spec.name;
  bridge.datapath = spec.datapath;
  bridge.fail_mode = "secure";
  if (!spec.hwaddr.empty()) bridge.hwaddr = spec.hwaddr;
  bridge.disable_in_band = kNoInBand;
  Merge(bridge.external_ids, spec.external_ids);
  for (const auto& [table, fields] : spec.prefixes) bridge.prefixes[table] = fields;
  if (Find(spec.name) == nullptr) {
    bridge.ports.push_back(
        {.bridge = spec.name, .name = spec.name, .ofport = kLocalOfport, .error = {}, .external_ids = {}});
  }
  if (uplink == nullptr) {
    bridge.ports.push_back(
        {.bridge = spec.name, .name = spec.uplink, .ofport = -1, .error = {}, .external_ids = {}});
  }
  std::ranges::sort(bridge.ports, {}, &Port::name);
  Port& port = *Find(spec.uplink);
  Open(bridge, port, 1);
  if (port.ofport < 0)
    return Fail(Code::kInvalid,
                doing + ": Open vSwitch could not open its uplink " + port.name + ": " + port.error);
  return bridge;
}

Result<bool> FakeOvsdb::DeleteBridge(const std::string& name, const ExternalIds& owner,
                                     const std::string& uplink, Deadline) {
  RAIL_TRY(Check());
  const std::scoped_lock lock(mutex_);
  const auto it = bridges_.find(name);
  if (it == bridges_.end()) return false;
  for (const auto& [key, value] : owner) {
    const auto its = it->second.external_ids.find(key);
    if (its == it->second.external_ids.end() || its->second != value) return false;
  }
  for (const Port& port : it->second.ports) {
    if (port.name != name && port.name != uplink)
      return Fail(Code::kBusy, "remove bridge " + name + ": it has ports of others: " + port.name);
  }
  bridges_.erase(it);
  return true;
}

Result<std::vector<Bridge>> FakeOvsdb::BridgesWith(const std::string& key, Deadline) {
  RAIL_TRY(Check());
  const std::scoped_lock lock(mutex_);
  std::vector<Bridge> found;
  for (const auto& [name, bridge] : bridges_) {
    if (bridge.external_ids.contains(key)) found.push_back(bridge);
  }
  return found;
}

Status FakeOvsdb::UnmarkBridge(const std::string& name, const std::vector<std::string>& keys, Deadline) {
  RAIL_TRY(Check());
  const std::scoped_lock lock(mutex_);
  const auto it = bridges_.find(name);
  if (it == bridges_.end()) return {};
  for (const std::string& key : keys) it->second.external_ids.erase(key);
  return {};
}

Result<std::optional<Bridge>> FakeOvsdb::FindBridge(const std::string& name, Deadline) {
  RAIL_TRY(Check());
  const std::scoped_lock lock(mutex_);
  const auto it = bridges_.find(name);
  if (it == bridges_.end()) return std::optional<Bridge>();
  return it->second;
}

Result<Port> FakeOvsdb::AddPort(const PortSpec& spec, Deadline) {
  RAIL_TRY(Check());
  const std::scoped_lock lock(mutex_);
  const std::string doing = "add port " + spec.name + " to bridge " + spec.bridge;
  const auto it = bridges_.find(spec.bridge);
  if (it == bridges_.end()) return Fail(Code::kNotFound, doing + ": there is no such bridge");
  Bridge& bridge = it->second;
  Port* there = Find(spec.name);
  if (there != nullptr && there->bridge != spec.bridge) {
    return Fail(Code::kExists, doing + ": it is a port of bridge " + there->bridge + " already");
  }
  if (there != nullptr && IsAnothers(there->external_ids, spec))
    return Fail(Code::kExists, doing + ": it is there already, and another's");
  if (there != nullptr) Merge(there->external_ids, spec.external_ids);
  Port port = there != nullptr ? *there
                               : Port{.bridge = spec.bridge,
                                      .name = spec.name,
                                      .ofport = -1,
                                      .error = {},
                                      .external_ids = spec.external_ids};
  if (spec.internal && there == nullptr) {
    devices_.insert(spec.name);
    internal_.insert(spec.name);
    if (on_internal_) on_internal_(spec.name, spec.mac, true);
  }
  Open(bridge, port, spec.ofport_request);
  if (port.ofport < 0) return Fail(Code::kInvalid, doing + ": Open vSwitch could not open it: " + port.error);
  if (there != nullptr) {
    *there = port;
  } else {
    bridge.ports.push_back(port);
    std::ranges::sort(bridge.ports, {}, &Port::name);
  }
  return port;
}

Status FakeOvsdb::DeletePort(const std::string& bridge, const std::string& name, const ExternalIds& owner,
                             Wait, Deadline) {
  RAIL_TRY(Check());
  const std::scoped_lock lock(mutex_);
  const auto it = bridges_.find(bridge);
  if (it == bridges_.end()) return {};
  const size_t gone = std::erase_if(it->second.ports, [&](const Port& port) {
    return port.name == name && std::ranges::all_of(owner, [&](const auto& entry) {
             const auto id = port.external_ids.find(entry.first);
             if (entry.second.empty()) return id == port.external_ids.end();
             return id != port.external_ids.end() && id->second == entry.second;
           });
  });
  if (gone > 0 && internal_.erase(name) > 0) {
    devices_.erase(name);
    if (on_internal_) on_internal_(name, "", false);
  }
  return {};
}

Result<std::optional<Port>> FakeOvsdb::FindPort(const std::string& name, Deadline) {
  RAIL_TRY(Check());
  const std::scoped_lock lock(mutex_);
  const Port* port = Find(name);
  return port == nullptr ? std::optional<Port>() : *port;
}

Status FakeOvsdb::SetExternalIds(const std::string& port, const ExternalIds& ids, Deadline) {
  RAIL_TRY(Check());
  const std::scoped_lock lock(mutex_);
  Port* row = Find(port);
  if (row == nullptr)
    return Fail(Code::kNotFound, "set external_ids of port " + port + ": there is no such port");
  Merge(row->external_ids, ids);
  return {};
}

Status FakeOvsdb::RemoveExternalIds(const std::string& port, const std::vector<std::string>& keys, Deadline) {
  RAIL_TRY(Check());
  const std::scoped_lock lock(mutex_);
  if (Port* row = Find(port)) {
    for (const auto& key : keys) row->external_ids.erase(key);
  }
  return {};
}

void FakeOvsdb::SetOtherConfig(const std::string& key, const std::string& value) {
  const std::scoped_lock lock(mutex_);
  other_config_[key] = value;
}

Result<ExternalIds> FakeOvsdb::OtherConfig(Deadline) {
  RAIL_TRY(Check());
  const std::scoped_lock lock(mutex_);
  return other_config_;
}

}  // namespace rail::ovs::testing
