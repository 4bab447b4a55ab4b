// The configuration database of a real Open vSwitch.
//
// Use:      RAIL_ASSIGN(auto db, DbConnection::Open("/run/openvswitch/db.sock", deadline));
// Threads:  one at a time
// Owns:     the socket
// Source:   RFC 7047; ovsdb-server(7); ovs-vswitchd.conf.db(5)
//
// There are other writers (64 plugins at once, ovs-vsctl, another CNI). So every transaction states with `wait`
// operations what it relies on. If that has changed, ovsdb-server refuses the whole transaction, and this class reads
// the database again and makes a new one. It inserts and deletes members of shared sets and maps one by one, and never
// writes a whole set or map back.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lib/ovs/ovsdb.h"
#include "lib/ovs/rpc.h"

namespace rail::ovs {

struct Observed;

class DbConnection : public Ovsdb {
 public:
  // `path`: the socket's, with or without "unix:" in front.
  // Errors: kNotFound no such socket; kTransient ovsdb-server is down or slow; kInvalid another kind of address.
  static Result<std::unique_ptr<Ovsdb>> Open(const std::string& path, Deadline deadline);

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
  // Reads the rows. `only`: the name of the Port and Interface rows to read, or "" for all.
  Result<Observed> Observe(const std::string& only, Deadline deadline);
  // Runs `operations` and returns their results. Errors: kBusy a `wait` failed: something has changed since it was read.
  Result<nlohmann::json> Transact(const nlohmann::json& operations, Deadline deadline);
  // Runs `operations` and increments next_cfg. With kClosed, waits until ovs-vswitchd has applied them.
  Status Apply(nlohmann::json operations, Wait wait, Deadline deadline);
  // Runs `operations`, then waits until ovs-vswitchd has applied everything committed so far, by any writer.
  Status TransactAndWait(nlohmann::json operations, Deadline deadline);
  Status WaitForVswitchd(int64_t config, Deadline deadline);
  Status TakeUpdate(const std::string& body);
  Status RemoveUnopened(const std::string& name, Deadline deadline);

  explicit DbConnection(RpcConnection rpc) : rpc_(std::move(rpc)) {}

  RpcConnection rpc_;
  bool monitored_ = false;  // a monitor keeps current_ up to date
  int64_t current_ = -1;    // Open_vSwitch.cur_cfg
};

}  // namespace rail::ovs
