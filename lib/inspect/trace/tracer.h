// One trace, from the question to the answer. trace.cc asks the switch, trace_verdict.cc judges, trace_words.cc finds the words.
#pragma once

#include <map>
#include <string>

#include "lib/inspect/trace/trace.h"
#include "lib/ovs/rule.h"

namespace rail::inspect {

// A frame for ofproto/trace.
struct Packet {
  int64_t in_port = 0;
  uint16_t vlan = 0;  // mode `vrf`: that of its tenant, on the uplink; 0: no tag
  MacAddress source_mac;
  MacAddress destination_mac;
  IpAddress source;
  IpAddress destination;
  v1::TraceRequest::Protocol protocol = v1::TraceRequest::UDP;
  uint16_t source_port = 0;
  uint16_t destination_port = 0;

  std::string ToText() const;
};

class Tracer {
 public:
  Tracer(const Question& question, const TraceFacts& facts, const AskSwitch& ask)
      : question_(question), facts_(facts), view_(facts.view), ask_(ask) {}

  Result<Answer> Run();

 private:
  const state::Attachment& source() const { return source_.attachment; }
  std::string destination() const { return question_.destination.ToString(); }
  std::string PodName(const state::Attachment& a) const { return Name(a); }

  // trace.cc: the question, the facts for it, and the switch.
  Status Decide();
  // Notes what is amiss inside the pods at both ends of the way, which the switch cannot know.
  void LookInside();
  void LookInside(const state::Attachment& pod);
  const engine::RailView* FindRail(const std::string& name) const;
  // Mode `vrf`: an address of another tenant is another address.
  bool SharesAddresses(tenancy::TenantId tenant) const;
  // The attachment of this node that holds the destination; nullptr: none.
  const engine::AttachmentView* Local() const;
  const engine::RemoteView* Remote() const;
  std::string RailOfDestination() const;
  // The source's VLAN on its rail; nullptr: not in mode `vrf`, or it has none there.
  const v1::RailVlan* Vlan() const;
  MacAddress LeafMac() const;
  const std::string& BgpState() const;
  // "rail0", or "VLAN 101 of tenant red on rail0".
  std::string Session() const;
  Status FindSource();
  // Answers the question without the switch, if that is possible. False: the switch must be asked.
  bool Refused();
  // What the switch does with the packet. `way`: TraceResponse or ReturnPath.
  template <class Way>
  Result<std::vector<SwitchStep>> Through(const Packet& packet, Way& way) const;
  bool Works(const std::string& port) const;
  std::string PortName(int64_t number) const;
  int64_t Uplink() const;
  void Say(Answer::Verdict verdict, Answer::Reason reason, const std::string& sentence,
           const std::string& advice);
  void Drop(Answer::Reason reason, const std::string& sentence, const std::string& advice);
  void Note(const std::string& text);
  // Finds out whether the destination's answer would come back.
  Status Return();

  // trace_verdict.cc: what the switch's answer means.
  void Judge();
  // The rules send the packet to a port that the datapath does not have. `way`: TraceResponse or ReturnPath.
  static bool GoesNowhere(const auto& way) { return way.datapath_actions() == "drop"; }
  void NotWorking(const std::string& port, const std::string& so);
  // False, and the answer is given: the link of the representor is down or has no carrier. `so`: what follows.
  bool Carries(const std::string& representor, const std::string& so);
  void JudgeDrop(const SwitchStep& last);
  void Missing(const std::string& what);
  // A pod whose port has no number gets no rules.
  void MissingFor(const state::Attachment& to, const std::string& what);
  void JudgeEntry(const SwitchStep& last);
  void JudgeTenants();
  // Whether more than one tenant announces the destination, and which.
  bool Contested() const;
  // That two announce the destination, as a sentence; "": nothing hints at it.
  std::string AnnouncedTwice() const;
  std::string Claimants() const;
  std::string FindTheWrongOne(const IpAddress& address) const;
  // The command that shows what bgpd knows, of the address or of `what`, for people.
  std::string ShowBgp(const std::string& what) const;
  std::string ShowBgp(const IpAddress& address) const;
  // Who else announces an address of an attachment of this node, as notes.
  void NoteElsewhere(const engine::AttachmentView& attachment, const IpAddress& address);
  void OtherTenant(const std::string& whose);
  // tenancy.cross_rail is false, and the destination is on `rail` ("" a rail that this node does not have).
  void NotAcross(const std::string& rail);
  // Table 4 knows no leaf.
  void NoLeaf();
  // Mode `vrf`: that other tenants have the destination, as a sentence; "": none has.
  std::string OthersHaveIt() const;
  // No table knows the destination.
  void JudgeUnknown();
  void JudgeLeaving();
  void NoteFabricPath(const engine::RemoteView* remote);

  // trace_words.cc: what a step does, and its words.
  // "set_field:0xc6b1->xxreg0" -> the tenant; none: the step sets none. `leaving`: the one that the address is leaving.
  static tenancy::TenantId TenantSetBy(const SwitchStep& step, bool leaving = false);
  // Of which tenants the step says that somebody is; "": it sets none.
  std::string TenantsSetBy(const SwitchStep& step) const;
  std::string NameOfTenant(tenancy::TenantId id) const;
  // "namespace team-a (<id>)" of a namespace that is a tenant by itself, "tenant blue (<id>)" of one that a list or a label names.
  std::string TenantText(const std::string& name, tenancy::TenantId id) const;
  std::string HowTheyShareATenant() const;
  static bool Drops(const SwitchStep& step);
  static bool Admits(const SwitchStep& step);  // table 5 lets it on
  // The port that the step sends to; nothing when it sends nowhere.
  std::optional<int64_t> Output(const SwitchStep& step) const;
  std::string Words(const SwitchStep& step, const Packet& packet) const;

  const Question& question_;
  const TraceFacts& facts_;
  const engine::NodeView& view_;
  const AskSwitch& ask_;
  Answer answer_;
  engine::AttachmentView source_;
  std::vector<SwitchStep> steps_;  // of the packet; none when the switch was not asked
  const engine::RailView* rail_ = nullptr;
  std::map<std::string, int64_t> ports_;
  Packet packet_;
};

bool IsOurs(uint64_t cookie);
bool IsOf(uint64_t cookie, ovs::CookieKind kind);
bool Holds(const state::Attachment& attachment, const IpAddress& address);

}  // namespace rail::inspect
