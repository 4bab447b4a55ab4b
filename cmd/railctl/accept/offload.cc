#include "cmd/railctl/accept/offload.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cmd/railctl/accept/configuration.h"
#include "cmd/railctl/accept/echo_pair.h"
#include "cmd/railctl/accept/partners.h"
#include "cmd/railctl/accept/parts.h"

namespace rail::accept {
namespace {

constexpr uint32_t kConnections = 20;  // each from a UDP port of its own, as queue pairs have

// Errors: those of asking; kTransient: the datapath does not tell.
Result<v1::ListFlowsResponse> AskFlows(const Node& node, const v1::ListFlowsRequest& request) {
  RAIL_ASSIGN(auto answer, Ask(*node.raild, &v1::Node::Stub::ListFlows, request, node.Whom()));
  if (!answer.datapath_problem().empty()) return Fail(Code::kTransient, answer.datapath_problem());
  return answer;
}

Result<v1::AttachmentFlows> FlowsOf(const Port& port) {
  v1::ListFlowsRequest request;
  request.mutable_selector()->set_namespace_(port.pod().substr(0, port.pod().find('/')));
  request.mutable_selector()->set_pod(port.pod().substr(port.pod().find('/') + 1));
  request.mutable_selector()->set_rail(port.rail);
  RAIL_ASSIGN(const auto answer, AskFlows(*port.node, request));
  const auto found = std::ranges::find(answer.attachments(), port.ifname,
                                       [](const v1::AttachmentFlows& f) { return f.attachment().ifname(); });
  if (found == answer.attachments().end())
    return Fail(Code::kTransient,
                port.node->Whom() + " no longer knows " + port.ifname + " of " + port.pod());
  return *found;
}

// Nothing came back for one of them: no flow says anything.
Status Talk(const Port& from, const Port& to, uint32_t connections) {
  for (uint32_t i = 0; i < connections; ++i) {
    RAIL_ASSIGN(const auto answer, Echo(from, to, 5, 1024));
    if (answer.received() == 0)
      return Fail(Code::kTransient, "nothing comes back from " + to.pod() + ", so there is no load");
  }
  return {};
}

Attempt OneMegaflow(const Port& from, const Port& to) {
  const auto count = [&](uint32_t connections) -> Result<uint32_t> {
    RAIL_TRY(Talk(from, to, connections));
    RAIL_ASSIGN(const auto flows, FlowsOf(from));
    return flows.megaflows_total();
  };
  const auto one = count(1);
  if (!one) return NotMeasured(one.error().message);
  const auto many = count(kConnections);
  if (!many) return NotMeasured(many.error().message);
  Attempt attempt;
  attempt.set_did(fmt::format("1, then {} connections, each with a UDP port of its own", kConnections));
  attempt.set_seen(
      fmt::format("{} megaflows of the sender with 1 connection, {} with {}", *one, *many, 1 + kConnections));
  attempt.set_value(*many);
  attempt.set_unit("megaflows");
  attempt.set_verdict(*many <= *one + 1 ? kPass : kFail);
  return attempt;
}

Attempt NoNic(const Node& node) {
  return NotMeasured("the datapath of " + node.name +
                     " is in userspace: no flow can be in a NIC (finding userspace-datapath)");
}

Attempt InHardware(const Port& from, const Port& to) {
  if (IsInUserspace(*from.node)) return NoNic(*from.node);
  if (const Status talked = Talk(from, to, 3); !talked) return NotMeasured(talked.error().message);
  const auto flows = FlowsOf(from);
  if (!flows) return NotMeasured(flows.error().message);
  Attempt attempt;
  attempt.set_did("3 connections, then the datapath's flows of the sender's port");
  const auto& megaflows = flows->megaflows();
  const auto elsewhere = std::ranges::find_if(
      megaflows, [](const v1::Megaflow& flow) { return flow.place() != v1::Megaflow::HARDWARE; });
  attempt.set_verdict(elsewhere == megaflows.end() ? kPass : kFail);
  attempt.set_seen(elsewhere == megaflows.end()
                       ? fmt::format("{} megaflows, all in hardware", megaflows.size())
                       : fmt::format("not in hardware: {} -> {} ({})", elsewhere->match(),
                                     elsewhere->actions(), elsewhere->why_not()));
  return megaflows.empty() ? NotMeasured("the datapath shows no flow of the pair") : attempt;
}

// Each pod of the node talks, so that all that they need is in the NIC at once.
Attempt FewMasks(const Stage& stage, const Node& node) {
  if (IsInUserspace(node)) return NoNic(node);
  size_t pairs = 0;
  for (const Port& from : stage.ports()) {
    const Port* const to = from.node == &node ? Mate(stage, from) : nullptr;
    if (to == nullptr) continue;
    if (const Status talked = Talk(from, *to, 1); !talked) return NotMeasured(talked.error().message);
    ++pairs;
  }
  if (pairs == 0) return NotMeasured("no pod of the node has another one of its tenant, so there is no load");
  v1::ListFlowsRequest request;
  request.set_page_size(1);
  const auto flows = AskFlows(node, request);
  return flows ? JudgeMasks(*flows, node.name, pairs) : NotMeasured(flows.error().message);
}

}  // namespace

Attempt JudgeMasks(const v1::ListFlowsResponse& flows, const std::string& node, size_t pairs) {
  const uint32_t masks = flows.masks_in_hardware();
  if (flows.most_masks() == 0) return NotMeasured("raild of " + node + " is too old to count masks");
  if (masks == 0)
    return NotMeasured("no flow of " + node + " is in hardware: offload.ready and offload.hardware say why");
  Attempt attempt;
  attempt.set_did(fmt::format(
      "{} of the node's pods under load, then the masks of its datapath's flows that are in hardware",
      Times(pairs, "pair")));
  attempt.set_seen(
      fmt::format("{} in the eSwitch, at most {} are common; for each more the NIC may look every packet up "
                  "once more (not timed)",
                  Times(masks, "mask"), flows.most_masks()));
  attempt.set_value(masks);
  attempt.set_unit("masks");
  attempt.set_verdict(masks > flows.most_masks() ? kFail : kPass);
  return attempt;
}

void CheckOffload(const Stage& stage, Book& book) {
  AddFindings(stage, "offload.ready", book);
  bool tried = false;
  for (const Port& from : stage.ports()) {
    const Port* const to = Mate(stage, from);
    if (to == nullptr) continue;
    book.Say("offload, " + from.pod() + " to " + to->pod() + " on " + from.rail);
    for (const auto& [check, attempt_of] :
         {std::pair("offload.hardware", &InHardware), std::pair("offload.one-megaflow", &OneMegaflow)}) {
      if (book.Wants(check)) book.Add(check, Between(from, *to, attempt_of(from, *to)));
    }
    tried = true;
  }
  if (!tried) {
    for (const char* check : {"offload.hardware", "offload.one-megaflow"})
      book.Add(check, NotMeasured("no tenant has two pods on one rail"));
  }
  if (!book.Wants("offload.masks")) return;
  for (const auto& node : stage.nodes()) {
    book.Say("offload.masks, " + node->name);
    Attempt attempt = FewMasks(stage, *node);
    attempt.set_from(node->name);
    book.Add("offload.masks", std::move(attempt));
  }
}

}  // namespace rail::accept
