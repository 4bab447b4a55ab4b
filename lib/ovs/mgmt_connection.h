// OpenFlow to a real bridge, on the management socket that ovs-vswitchd keeps for each.
//
// Use:      RAIL_ASSIGN(auto bridge, MgmtConnection::Open(run_dir + "/br-rail0.mgmt", deadline));
// Threads:  one at a time
// Owns:     the socket; closing it discards a bundle that was not committed
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
  // Errors: kNotFound no such bridge, or ovs-vswitchd is down; kTransient; kUnsupported the bridge's
  // `protocols` column
  //         leaves out OpenFlow15. Safe to repeat.
  static Result<std::unique_ptr<OpenFlow>> Open(const std::string& path, Deadline deadline);
  // The same, and the switch tells from now on what others change: see flow_monitor.h.
  static Result<std::unique_ptr<MgmtConnection>> OpenWatched(const std::string& path, Deadline deadline);

  Status ForEach(CookieMatch which, const EachRule& each, Deadline deadline) override;
  Result<uint64_t> Count(CookieMatch which, Deadline deadline) override;
  Result<RuleChanges> Changes() override;
  Status Commit(const Change& change, Deadline deadline) override;

  // As FlowMonitor's.
  Status TakeIn();
  bool told() const { return told_; }
  int fd() const { return socket_.fd(); }
  // False: a call has failed, and no other will succeed.
  bool usable() const { return !broken_; }

 private:
  // Asked for the next piece of what is to be written; "" when there is no more.
  using Source = std::function<Result<std::string>()>;
  // Given each whole message that is not an echo request; true: that was the last one waited for.
  using Sink = std::function<Result<bool>(const std::vector<uint64_t>& message, size_t size)>;

  explicit MgmtConnection(UnixStream socket) : socket_(std::move(socket)) {}
  static Result<std::unique_ptr<MgmtConnection>> Connect(const std::string& path, Deadline deadline);
  Status Handshake(Deadline deadline);
  Status Watch(Deadline deadline);
  Status Converse(const Source& source, const Sink& sink, Deadline deadline);
  Status TakeMessages(const Sink& sink, bool& done);
  Status TakeUpdate(const std::vector<uint64_t>& message);
  // Sends one request; `reply` is given each message that answers it, until it says that it was the last.
  Status Ask(const std::function<char*(uint32_t xid, rail_bytes* out)>& encode, rail_message answer,
             const Sink& reply, Deadline deadline);
  uint32_t NextXid() { return ++xid_; }

  UnixStream socket_;
  std::string in_;
  std::string out_;
  uint32_t xid_ = 0;
  bool broken_ = false;
  bool watched_ = false;
  bool told_ = false;  // changes_ has something that Changes has not handed out yet
  RuleChanges changes_{.unknown = true, .cookies = {}, .others = {}};
};

}  // namespace rail::ovs
