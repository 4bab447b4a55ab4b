// Whether a pod can reach an address, and which rule decides: asks the switch with the pod's own packet and explains its answer.
//
// Use:      RAIL_ASSIGN(const Answer answer, Trace(question, facts, ask_switch));
//           answer.verdict(), answer.sentence(), answer.advice()
// Threads:  pure functions, except for what `ask_switch` does
// Source:   lib/engine/attach/TABLES.md (what each table asks); ovs-vswitchd(8) "ofproto/trace"
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/address.h"
#include "lib/engine/view.h"
#include "lib/inspect/select.h"
#include "lib/inspect/trace/switch_trace.h"
#include "lib/netlink/netlink.h"
#include "lib/podnet/podnet.h"
#include "rail/v1/node.pb.h"

namespace rail::inspect {

struct Question {
  Selector source;
  IpAddress destination;
  v1::TraceRequest::Protocol protocol = v1::TraceRequest::UDP;
  uint16_t destination_port = 4791;
  uint16_t source_port = 49152;
  std::optional<IpAddress> source_address;  // none: the pod's own
  std::optional<MacAddress> source_mac;
};

using Answer = v1::TraceResponse;

// The view, and the facts that it does not contain.
struct TraceFacts {
  const engine::NodeView& view;
  const config::NodeConfig& config;
  // The OpenFlow ports of a bridge, by name.
  std::function<Result<std::map<std::string, int64_t>>(const std::string& bridge)> ports;
  // What is not as its ADD made it inside a pod of this node. Empty: nobody looks.
  std::function<std::vector<podnet::Deviation>(const state::Attachment&)> inside;
  // A link of the host.
  std::function<Result<netlink::Link>(const std::string& name)> link;
};

// Runs ofproto/trace of `flow` on `bridge` and returns its output.
using AskSwitch = std::function<Result<std::string>(const std::string& bridge, const std::string& flow)>;

// Errors: kNotFound no attachment matches (the message lists those on this node); kInvalid several match; of the switch.
Result<Answer> Trace(const Question& question, const TraceFacts& facts, const AskSwitch& ask);

// "admit", "source", ...; "" for a table that is not ours.
std::string TableName(uint8_t table);

}  // namespace rail::inspect
