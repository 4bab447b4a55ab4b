// OpenFlow to a real bridge, on the management socket that ovs-vswitchd makes for each bridge.
//
// Use:      RAIL_ASSIGN(auto bridge, MgmtConnection::Open(run_dir + "/br-rail0.mgmt", deadline));
// Threads:  one at a time
// Owns:     the socket; when it is closed, the switch discards a bundle that is not committed
// Source:   OpenFlow 1.5.1; ovs-vswitchd(8) "<bridge>.mgmt"
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/socket.h"
#include "lib/ovs/openflow.h"
#include "lib/ovs/shim.h"

namespace rail::ovs {

class MgmtConnection : public OpenFlow {
 public:
  // Connects and agrees on OpenFlow 1.5.
  // Errors: kNotFound no such bridge, or ovs-vswitchd is down; kTransient; kUnsupported the bridge's `protocols` column
  //         does not contain OpenFlow15. Safe to repeat.
  static Result<std::unique_ptr<OpenFlow>> Open(const std::string& path, Deadline deadline);
  // Like Open. From then on the switch also reports what others change: see flow_monitor.h.
  static Result<std::unique_ptr<MgmtConnection>> OpenWatched(const std::string& path, Deadline deadline);

  Status ForEach(CookieMatch which, const EachRule& each, Deadline deadline) override;
  Result<uint64_t> Count(CookieMatch which, Deadline deadline) override;
  Result<RuleChanges> Changes() override;
  Status Commit(const Change& change, Deadline deadline) override;

  // As in FlowMonitor.
  Status TakeIn();
  bool told() const { return told_; }
  int fd() const { return socket_.fd(); }
  // False: a call has failed, and no other will succeed.
  bool usable() const { return !broken_; }

 private:
  // Returns the next piece to write; "" when there is no more.
  using Source = std::function<Result<std::string>()>;
  // Called with each whole message that is not an echo request. Returns true for the last message to wait for.
  using Sink = std::function<Result<bool>(const std::vector<uint64_t>& message, size_t size)>;

  explicit MgmtConnection(UnixStream socket) : socket_(std::move(socket)) {}
  static Result<std::unique_ptr<MgmtConnection>> Connect(const std::string& path, Deadline deadline);
  Status Handshake(Deadline deadline);
  Status Watch(Deadline deadline);
  Status Converse(const Source& source, const Sink& sink, Deadline deadline);
  Status TakeMessages(const Sink& sink, bool& done);
  Status TakeUpdate(const std::vector<uint64_t>& message);
  // Sends one request. Calls `reply` with each message that answers it, until `reply` returns true.
  Status Ask(const std::function<char*(uint32_t xid, rail_bytes* out)>& encode, rail_message answer,
             const Sink& reply, Deadline deadline);
  uint32_t NextXid() { return ++xid_; }

  UnixStream socket_;
  std::string in_;
  std::string out_;
  uint32_t xid_ = 0;
  bool broken_ = false;
  bool watched_ = false;
  bool told_ = false;  // changes_ has something that Changes has not returned yet
  RuleChanges changes_{.unknown = true, .cookies = {}, .foreign_cookies = {}, .others = {}};
};

}  // namespace rail::ovs
