#include "lib/inspect/trace/trace.h"

#include <fmt/core.h>

#include <algorithm>

#include "lib/base/text.h"
#include "lib/base/utf8.h"
#include "lib/inspect/inside.h"
#include "lib/inspect/messages.h"
#include "lib/inspect/trace/tracer.h"

namespace rail::inspect {

using engine::AttachmentView;
using engine::RailView;
using engine::RemoteView;

Result<Answer> Tracer::Run() {
  RAIL_TRY(Decide());
  LookInside();
  *answer_.mutable_source() = ToMessage(source_);
  return std::move(answer_);
}

Status Tracer::Decide() {
  RAIL_TRY(FindSource());
  if (Refused()) return {};
  RAIL_ASSIGN(ports_, facts_.ports(rail_->rail.bridge));
  if (!Works(source().representor)) {
    NotWorking(source().representor, PodName(source()) + " can send nothing");
    return {};
  }
  if (!Carries(source().representor, PodName(source()) + " can send nothing")) return {};
  RAIL_ASSIGN(steps_, Through(packet_, answer_));
  answer_.set_deciding_step(static_cast<uint32_t>(steps_.size() - 1));
  Judge();
  if (answer_.verdict() == Answer::DROPPED) return {};
  return Return();
}

void Tracer::LookInside() {
  if (!facts_.inside || source().phase != state::Phase::kReady) return;
  LookInside(source());
  const AttachmentView* local = Local();
  if (local != nullptr && local->attachment.id != source().id) LookInside(local->attachment);
}

void Tracer::LookInside(const state::Attachment& pod) {
  const std::vector<podnet::Deviation> found = facts_.inside(pod);
  for (const podnet::Deviation& each : found) Note("inside the pod " + PodName(pod) + ": " + each.what);
  const auto cut = std::ranges::find_if(found, &podnet::Deviation::cuts);
  if (cut == found.end() || answer_.verdict() != Answer::REACHES) return;
  const std::string command = CommandFor(pod, found);
  Say(Answer::DOUBTFUL, Answer::INSIDE_POD,
      answer_.sentence() + "; but inside the pod " + PodName(pod) +
          " something is not as its ADD has made it: " + cut->what,
      (command.empty() ? "" : command + ", or ") + "delete the pod: its successor is whole");
}

const RailView* Tracer::FindRail(const std::string& name) const {
  const auto it = std::ranges::find_if(view_.rails, [&](const RailView& r) { return r.rail.name == name; });
  return it == view_.rails.end() ? nullptr : &*it;
}

bool Tracer::SharesAddresses(tenancy::TenantId tenant) const {
  return facts_.config.tenancy.mode != config::TenancyMode::kVrf || tenant == source().tenant_id;
}

const v1::RailVlan* Tracer::Vlan() const {
  return rail_->seen.by_vlan() ? rail_->VlanOf(source().tenant_id) : nullptr;
}

MacAddress Tracer::LeafMac() const {
  const v1::RailVlan* vlan = Vlan();
  return engine::MacOf(vlan == nullptr ? rail_->seen.leaf_mac() : vlan->leaf_mac());
}

const std::string& Tracer::BgpState() const {
  const v1::RailVlan* vlan = Vlan();
  return vlan == nullptr ? rail_->seen.bgp_state() : vlan->bgp_state();
}

std::string Tracer::Session() const {
  const v1::RailVlan* vlan = Vlan();
  if (vlan == nullptr) return rail_->rail.name;
  return "VLAN " + std::to_string(vlan->vlan()) + " of tenant " + vlan->tenant().name() + " on " +
         rail_->rail.name;
}

const AttachmentView* Tracer::Local() const {
  const auto it = std::ranges::find_if(view_.attachments, [&](const AttachmentView& a) {
    return Holds(a.attachment, question_.destination) && SharesAddresses(a.attachment.tenant_id);
  });
  return it == view_.attachments.end() ? nullptr : &*it;
}

const RemoteView* Tracer::Remote() const {
  const auto it = std::ranges::find_if(view_.remotes, [&](const RemoteView& r) {
    return r.remote.address == question_.destination && SharesAddresses(r.remote.tenant);
  });
  return it == view_.remotes.end() ? nullptr : &*it;
}

std::string Tracer::RailOfDestination() const {
  if (const AttachmentView* local = Local()) return local->attachment.rail;
  const RemoteView* remote = Remote();
  if (remote == nullptr || !remote->remote.rail_index) return {};
  for (const RailView& r : view_.rails) {
    if (r.rail.index == *remote->remote.rail_index) return r.rail.name;
  }
  return {};
}

Status Tracer::FindSource() {
  std::vector<const AttachmentView*> found = Select(view_, question_.source);
  if (found.empty()) {
    std::string known;
    for (const AttachmentView& a : view_.attachments) {
      if (known.size() > 400) {
        known += ", ...";
        break;
      }
      Append(known, ", ", PodName(a.attachment));
    }
    return Fail(Code::kNotFound, "there is no " + ToText(question_.source) + " on this node (" +
                                     view_.hostname + "); there " +
                                     (known.empty() ? "is none at all" : "are: " + known) +
                                     "; a pod of another node is asked about on that node");
  }
  // A pod with several rails: prefer the rail of the destination. The pod's kernel uses it if the sender's address is on that rail.
  if (found.size() > 1) {
    const auto& first = found.front()->attachment;
    const bool one_pod = std::ranges::all_of(found, [&](const AttachmentView* a) {
      return a->attachment.key.container_id == first.key.container_id;
    });
    if (!one_pod) {
      const auto name = [this](const AttachmentView* a) { return PodName(a->attachment); };
      return Fail(Code::kInvalid, "the source is not clear, it could be: " + Join(found, ", ", name) +
                                      "; say the namespace, the pod and the rail");
    }
    source_ = *found.front();  // whose tenant is that of all of them
    const std::string rail = RailOfDestination();
    const auto it =
        std::ranges::find_if(found, [&](const AttachmentView* a) { return a->attachment.rail == rail; });
    source_ = it == found.end() ? *found.front() : **it;
  } else {
    source_ = *found.front();
  }
  rail_ = FindRail(source().rail);
  if (rail_ == nullptr) {
    return Fail(Code::kInvalid,
                "rail " + source().rail + " of " + PodName(source()) + " is not in node.json any more");
  }
  return {};
}

bool Tracer::Refused() {
  if (source().phase != state::Phase::kReady) {
    Drop(Answer::RULES_MISSING,
         PodName(source()) + (source().phase == state::Phase::kAdding
                                  ? " is being attached: its ADD is under way, or has died"
                                  : " is being taken away: its DEL has begun"),
         "see `railctl get attachments`; an ADD that has died is undone by raild once its namespace is gone");
    return true;
  }
  const auto own = std::ranges::find_if(
      source().addresses, [&](const IpAddress& a) { return a.is_v6() == question_.destination.is_v6(); });
  if (own == source().addresses.end() && !question_.source_address) {
    Drop(Answer::NO_ADDRESS_OF_FAMILY,
         PodName(source()) + " has no " + (question_.destination.is_v6() ? "IPv6" : "IPv4") +
             " address to send from",
         "give the network's IPAM a range of that family, or ask about an address of the other");
    return true;
  }
  if (question_.source_address && question_.source_address->is_v6() != question_.destination.is_v6()) {
    Drop(Answer::NO_ADDRESS_OF_FAMILY, "source and destination are of two families, no packet has both", "");
    return true;
  }
  packet_ = {.in_port = source().ofport,
             .source_mac = question_.source_mac.value_or(source().mac),
             .destination_mac = rail_->rail.GatewayMac(),
             .source = question_.source_address ? *question_.source_address : *own,
             .destination = question_.destination,
             .protocol = question_.protocol,
             .source_port = question_.source_port,
             .destination_port = question_.destination_port};
  const bool itself = !question_.source_address && !question_.source_mac;
  if (itself && Holds(source(), question_.destination)) {
    Drop(Answer::OWN_ADDRESS,
         destination() + " is this interface's own address: the pod's kernel keeps it inside", "");
    return true;
  }
  return false;
}

template <class Way>
Result<std::vector<SwitchStep>> Tracer::Through(const Packet& packet, Way& way) const {
  way.set_packet(packet.ToText());
  RAIL_ASSIGN(const std::string text, ask_(rail_->rail.bridge, way.packet()));
  RAIL_ASSIGN(SwitchTrace trace, ParseSwitchTrace(text));
  for (const SwitchStep& step : trace.steps) {
    v1::TraceStep& message = *way.add_steps();
    message.set_table(step.table);
    message.set_table_name(TableName(step.table));
    message.set_matched(step.matched);
    if (step.matched) {
      *message.mutable_rule() =
          ToMessage({step.table, step.priority, step.cookie, step.match, Join(step.actions, ",")});
    }
    message.set_words(ValidUtf8(Words(step, packet)));
  }
  way.set_megaflow(ValidUtf8(trace.megaflow));
  way.set_datapath_actions(ValidUtf8(trace.datapath_actions));
  return std::move(trace.steps);
}

bool Tracer::Works(const std::string& port) const {
  const auto it = ports_.find(port);
  return it != ports_.end() && it->second > 0;
}

std::string Tracer::PortName(int64_t number) const {
  for (const auto& [name, ofport] : ports_) {
    if (ofport == number) return name;
  }
  return "port " + std::to_string(number);
}

int64_t Tracer::Uplink() const {
  const auto it = ports_.find(rail_->rail.pf);
  return it == ports_.end() ? -1 : it->second;
}

void Tracer::Say(Answer::Verdict verdict, Answer::Reason reason, const std::string& sentence,
                 const std::string& advice) {
  answer_.set_verdict(verdict);
  answer_.set_reason(reason);
  answer_.set_sentence(ValidUtf8(sentence));
  answer_.set_advice(ValidUtf8(advice));
}

void Tracer::Drop(Answer::Reason reason, const std::string& sentence, const std::string& advice) {
  Say(Answer::DROPPED, reason, sentence, advice);
}

void Tracer::Note(const std::string& text) {
  answer_.add_notes(ValidUtf8(text));
}

Status Tracer::Return() {
  Packet packet{.source = packet_.destination,
                .destination = packet_.source,
                .protocol = packet_.protocol,
                .source_port = packet_.destination_port,
                .destination_port = packet_.source_port};
  const AttachmentView* local = Local();
  if (answer_.reason() == Answer::DELIVERED_LOCALLY && local != nullptr) {
    packet.in_port = local->attachment.ofport;
    packet.source_mac = local->attachment.mac;
    packet.destination_mac = rail_->rail.GatewayMac();
  } else {
    packet.in_port = Uplink();
    packet.vlan = source_.vlan;
    packet.source_mac = LeafMac();
    packet.destination_mac = engine::MacOf(rail_->seen.bridge_mac());
  }
  v1::ReturnPath& back = *answer_.mutable_back();
  RAIL_ASSIGN(const std::vector<SwitchStep> steps, Through(packet, back));
  const SwitchStep& last = steps.back();
  const auto output = Output(last);
  const bool to_source = !Drops(last) && output && *output == source().ofport;
  back.set_admitted(to_source && !GoesNowhere(back));
  if (back.admitted()) {
    back.set_sentence(ValidUtf8("the answer is admitted and delivered to " + source().representor));
    return {};
  }
  back.set_sentence(
      ValidUtf8("the answer does not come back: " +
                (to_source ? "no working port has the number that its rules send it to"
                           : fmt::format("it ends in table {} ({})", last.table, Words(last, packet)))));
  if (answer_.verdict() == Answer::REACHES) {
    Say(Answer::DOUBTFUL, Answer::NO_WAY_BACK, "the packet gets there, but " + back.sentence(),
        "`railctl check` says which rules are missing; raild puts them back");
  }
  return {};
}

Result<Answer> Trace(const Question& question, const TraceFacts& facts, const AskSwitch& ask) {
  return Tracer(question, facts, ask).Run();
}

}  // namespace rail::inspect
