// Whether a pod can reach an address, and which rule decides: asks the switch with the pod's own packet and explains its answer.
//
// Use:      RAIL_ASSIGN(const Answer answer, Trace(question, facts, ask_switch));
//           answer.verdict, answer.sentence, answer.advice
// Threads:  pure functions, except for what `ask_switch` does
// Source:   lib/pipeline/README.md (what each table asks); ovs-vswitchd(8) "ofproto/trace"
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

namespace rail::inspect {

enum class Protocol { kUdp, kTcp, kIcmp };

struct Question {
  Selector source;
  IpAddress destination;
  Protocol protocol = Protocol::kUdp;
  uint16_t destination_port = 4791;
  uint16_t source_port = 49152;
  std::optional<IpAddress> source_address;  // none: the pod's own
  std::optional<MacAddress> source_mac;
};

enum class Verdict { kReaches, kDoubtful, kDropped };
enum class Reason {  // see rail.v1.TraceResponse.Reason
  kDeliveredLocally,
  kSentToLeaf,
  kOtherTenant,
  kUnknownDestination,
  kNotInstalled,
  kSpoofedSource,
  kRulesMissing,
  kNoTenant,
  kNoLeafMac,
  kNoCarrier,
  kBgpDown,
  kNotAnnounced,
  kAnotherRail,
  kOwnAddress,
  kNotForPods,
  kNoAddressOfFamily,
  kForeignRule,
  kNoWayBack,
  kPortNotWorking,
  kContested,
  kInsidePod,
};

struct Hop {
  SwitchStep step;
  std::string words;
};

// A packet through this node's switch.
struct Way {
  std::string packet;
  std::vector<Hop> hops;
  std::string megaflow;
  std::string datapath_actions;
};

struct Back {
  bool admitted = false;
  std::string sentence;
  Way way;
};

struct Answer {
  Verdict verdict = Verdict::kDropped;
  Reason reason = Reason::kRulesMissing;
  std::string sentence;
  std::string advice;
  engine::AttachmentView source;
  Way way;                         // empty when the switch was not asked
  std::optional<size_t> deciding;  // index in way.hops
  std::vector<std::string> notes;
  std::optional<Back> back;
  std::string fabric_path;  // the way of a packet that leaves the node; "": not known
};

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

// "pipeline", "attachment", ...; "foreign" for a cookie that is not ours.
std::string CookieKindName(uint64_t cookie);
// "admit", "source", ...; "" for a table that is not ours.
std::string TableName(uint8_t table);

}  // namespace rail::inspect
