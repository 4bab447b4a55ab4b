// Bridges and ports in memory, behaving as OVSDB and ovs-vswitchd do (test/contract/ovs_ovsdb_contract_test.cc).
//
// Use:      FakeOvsdb ovs;  ovs.AddDevice("rep0");  auto connection = ovs.Connect();
// Threads:  any thread; each connection one at a time
// Owns:     the rows; must outlive its connections
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "lib/ovs/ovsdb.h"
#include "lib/ovs/testing/faults.h"

namespace rail::ovs::testing {

class FakeOvsdb : public Ovsdb, public Faults {
 public:
  // Another connection to the same database, for code that opens its own.
  std::unique_ptr<Ovsdb> Connect();

  // The netdevs that a port can be made of.
  void AddDevice(const std::string& name);
  void RemoveDevice(const std::string& name);
  // A bridge as another program would make it: not secure, without an uplink.
  void AddForeignBridge(const std::string& name);
  // As another program would change it. There is such a bridge.
  void ChangeBridge(const std::string& name, const std::function<void(Bridge&)>& change);
  // As another program would remove it.
  void RemoveBridge(const std::string& name);
  // Called when Open vSwitch makes the netdev of an internal port, and when it removes it.
  using Internal = std::function<void(const std::string& name, const std::string& mac, bool made)>;
  void OnInternal(Internal called) { on_internal_ = std::move(called); }
  void SetOtherConfig(const std::string& key, const std::string& value);

  Result<Bridge> EnsureBridge(const BridgeSpec& spec, Deadline deadline) override;
  Result<bool> DeleteBridge(const std::string& name, const ExternalIds& owner, const std::string& uplink,
                            Deadline deadline) override;
  Result<std::vector<Bridge>> BridgesWith(const std::string& key, Deadline deadline) override;
  Status UnmarkBridge(const std::string& bridge, const std::vector<std::string>& keys,
                      Deadline deadline) override;
  Result<std::optional<Bridge>> FindBridge(const std::string& name, Deadline deadline) override;
  Result<Port> AddPort(const PortSpec& spec, Deadline deadline) override;
  Status DeletePort(const std::string& bridge, const std::string& name, const ExternalIds& owner, Wait wait,
                    Deadline deadline) override;
  Result<std::optional<Port>> FindPort(const std::string& name, Deadline deadline) override;
  Status SetExternalIds(const std::string& port, const ExternalIds& ids, Deadline deadline) override;
  Status RemoveExternalIds(const std::string& port, const std::vector<std::string>& keys,
                           Deadline deadline) override;
  Result<ExternalIds> OtherConfig(Deadline deadline) override;

 private:
  Port* Find(const std::string& name);
  void Open(Bridge& bridge, Port& port, std::optional<uint16_t> ofport_request);

  std::mutex mutex_;
  std::map<std::string, Bridge> bridges_;
  std::set<std::string> devices_;
  std::set<std::string> internal_;
  Internal on_internal_;
  ExternalIds other_config_;
};

}  // namespace rail::ovs::testing
