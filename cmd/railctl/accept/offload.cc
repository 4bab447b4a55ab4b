#include "cmd/railctl/accept/offload.h"

#include <fmt/format.h>

#include <algorithm>

#include "cmd/railctl/accept/configuration.h"
#include "cmd/railctl/accept/echo_pair.h"
#include "cmd/railctl/accept/partners.h"

namespace rail::accept {
namespace {

constexpr uint32_t kConnections = 20;  // each from a UDP port of its own, as queue pairs have

Result<v1::AttachmentFlows> FlowsOf(const Port& port) {
  v1::ListFlowsRequest request;
  request.mutable_selector()->set_namespace_(port.pod().substr(0, port.pod().find('/')));
  request.mutable_selector()->set_pod(port.pod().substr(port.pod().find('/') + 1));
  request.mutable_selector()->set_rail(port.rail);
  RAIL_ASSIGN(const auto answer,
              Ask(*port.node->raild, &v1::Node::Stub::ListFlows, request, port.node->Whom()));
  if (!answer.datapath_problem().empty()) return Fail(Code::kTransient, answer.datapath_problem());
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

Attempt InHardware(const Port& from, const Port& to) {
  if (IsInUserspace(*from.node))
    return NotMeasured("the datapath of " + from.node->name +
                       " is in userspace: no flow can be in a NIC (finding userspace-datapath)");
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

}  // namespace

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
}

}  // namespace rail::accept
