// The configuration database of a real Open vSwitch.
//
// Use:      RAIL_ASSIGN(auto db, DbConnection::Open("/run/openvswitch/db.sock", deadline));
// Threads:  one at a time
// Owns:     the socket
// Source:   RFC 7047; ovsdb-server(7); ovs-vswitchd.conf.db(5)
//
// How it stays right beside other writers (64 plugins at once, ovs-vsctl, another CNI): every transaction
// says with `wait` operations what it has seen, is refused as a whole when that is no longer so, and is then
// thought over again. Members of shared sets and maps are inserted and deleted one by one, never written back
// whole.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lib/ovs/ovsdb.h"
#include "lib/ovs/rpc.h"

namespace rail::ovs {

class DbConnection : public Ovsdb {
 public:
  // `path`: of the socket, with or without "unix:" in front.
  // Errors: kNotFound no such socket; kTransient ovsdb-server is down or slow; kInvalid another kind of
  // address.
  static Result<std::unique_ptr<Ovsdb>> Open(const std::string& path, Deadline deadline);

  Result<Bridge> EnsureBridge(const BridgeSpec& spec, Deadline deadline) override;
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
  struct Observed;
  // Which Port and Interface rows: those of one name, or all.
  Result<Observed> Observe(const std::string& only, Deadline deadline);
  // The results of `operations`. Errors: kBusy a `wait` was not met: something changed in between.
  Result<nlohmann::json> Transact(const nlohmann::json& operations, Deadline deadline);
  // The same, with next_cfg counted up, and kClosed: not before ovs-vswitchd has taken it up.
  Status Apply(nlohmann::json operations, Wait wait, Deadline deadline);
  // `operations`, and then until ovs-vswitchd has taken up all that was committed by then, by whomever.
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
