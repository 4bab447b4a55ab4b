#include "lib/inspect/trace.h"

#include <fmt/core.h>

#include <algorithm>

#include "lib/inspect/text.h"
#include "lib/ovs/rule.h"
#include "lib/pipeline/pipeline.h"

namespace rail::inspect {
namespace {

using engine::AttachmentView;
using engine::NodeView;
using engine::RailView;
using engine::RemoteView;
using ovs::CookieKind;
using state::Attachment;
using tenancy::TenantId;

bool IsOurs(uint64_t cookie) {
  return ovs::CookieMatch::Ours().Selects(cookie);
}
bool IsOf(uint64_t cookie, CookieKind kind) {
  return ovs::CookieMatch::Kind(kind).Selects(cookie);
}

bool Holds(const Attachment& attachment, const IpAddress& address) {
  return std::ranges::find(attachment.addresses, address) != attachment.addresses.end();
}

std::string TenantText(const std::string& name, TenantId id) {
  const std::string hex = id.ToString();
  return name.empty() ? "tenant " + hex : "tenant " + name + " (" + hex + ")";
}

// A frame as ofproto/trace takes it.
struct Packet {
  int64_t in_port = 0;
  MacAddress source_mac;
  MacAddress destination_mac;
  IpAddress source;
  IpAddress destination;
  Protocol protocol = Protocol::kUdp;
  uint16_t source_port = 0;
  uint16_t destination_port = 0;

  std::string ToText() const {
    const bool v6 = destination.is_v6();
    std::string text = fmt::format("in_port={},dl_src={},dl_dst={},", in_port, source_mac.ToString(),
                                   destination_mac.ToString());
    switch (protocol) {
      case Protocol::kUdp:
        text += v6 ? "udp6" : "udp";
        break;
      case Protocol::kTcp:
        text += v6 ? "tcp6" : "tcp";
        break;
      case Protocol::kIcmp:
        text += v6 ? "icmp6" : "icmp";
        break;
    }
    text += fmt::format(",{}={},{}={},nw_ttl=64", v6 ? "ipv6_src" : "nw_src", source.ToString(),
                        v6 ? "ipv6_dst" : "nw_dst", destination.ToString());
    if (protocol == Protocol::kIcmp)
      return text + (v6 ? ",icmpv6_type=128,icmpv6_code=0" : ",icmp_type=8,icmp_code=0");
    const char* name = protocol == Protocol::kTcp ? "tcp" : "udp";
    return text + fmt::format(",{0}_src={1},{0}_dst={2}", name, source_port, destination_port);
  }
};

class Tracer {
 public:
  Tracer(const Question& question, const TraceFacts& facts, const AskSwitch& ask)
      : question_(question), facts_(facts), view_(facts.view), ask_(ask) {}

  Result<Answer> Run() {
    RAIL_TRY(FindSource());
    if (Refused()) return std::move(answer_);
    RAIL_ASSIGN(ports_, facts_.ports(rail_->rail.bridge));
    if (!Works(source().representor)) {
      NotWorking(source().representor, PodName(source()) + " can send nothing");
      return std::move(answer_);
    }
    RAIL_TRY(Send());
    Judge();
    if (answer_.verdict == Verdict::kDropped) return std::move(answer_);
    RAIL_TRY(Return());
    return std::move(answer_);
  }

 private:
  const Attachment& source() const { return answer_.source.attachment; }
  std::string destination() const { return question_.destination.ToString(); }
  std::string PodName(const Attachment& a) const { return Name(a); }

  const RailView* FindRail(const std::string& name) const {
    const auto it = std::ranges::find_if(view_.rails, [&](const RailView& r) { return r.rail.name == name; });
    return it == view_.rails.end() ? nullptr : &*it;
  }

  // The attachment of this node that holds the destination; nullptr: none.
  const AttachmentView* Local() const {
    const auto it = std::ranges::find_if(view_.attachments, [&](const AttachmentView& a) {
      return Holds(a.attachment, question_.destination);
    });
    return it == view_.attachments.end() ? nullptr : &*it;
  }
  const RemoteView* Remote() const {
    const auto it = std::ranges::find_if(
        view_.remotes, [&](const RemoteView& r) { return r.remote.address == question_.destination; });
    return it == view_.remotes.end() ? nullptr : &*it;
  }

  std::string RailOfDestination() const {
    if (const AttachmentView* local = Local()) return local->attachment.rail;
    const RemoteView* remote = Remote();
    if (remote == nullptr || !remote->remote.rail_index) return {};
    for (const RailView& r : view_.rails) {
      if (r.rail.index == *remote->remote.rail_index) return r.rail.name;
    }
    return {};
  }

  Status FindSource() {
    std::vector<const AttachmentView*> found = Select(view_, question_.source);
    if (found.empty()) {
      std::string known;
      for (const AttachmentView& a : view_.attachments) {
        if (known.size() > 400) {
          known += ", ...";
          break;
        }
        known += (known.empty() ? "" : ", ") + PodName(a.attachment);
      }
      return Fail(Code::kNotFound, "there is no " + ToText(question_.source) + " on this node (" +
                                       view_.hostname + "); there " +
                                       (known.empty() ? "is none at all" : "are: " + known) +
                                       "; a pod of another node is asked about on that node");
    }
    // A pod with several rails: its kernel takes the one of the destination when the sender's address is of it.
    if (found.size() > 1) {
      const auto& first = found.front()->attachment;
      const bool one_pod = std::ranges::all_of(found, [&](const AttachmentView* a) {
        return a->attachment.key.container_id == first.key.container_id;
      });
      if (!one_pod) {
        std::string names;
        for (const AttachmentView* a : found) names += (names.empty() ? "" : ", ") + PodName(a->attachment);
        return Fail(Code::kInvalid, "the source is not clear, it could be: " + names +
                                        "; say the namespace, the pod and the rail");
      }
      const std::string rail = RailOfDestination();
      const auto it =
          std::ranges::find_if(found, [&](const AttachmentView* a) { return a->attachment.rail == rail; });
      answer_.source = it == found.end() ? *found.front() : **it;
    } else {
      answer_.source = *found.front();
    }
    rail_ = FindRail(source().rail);
    if (rail_ == nullptr) {
      return Fail(Code::kInvalid,
                  "rail " + source().rail + " of " + PodName(source()) + " is not in node.json any more");
    }
    return {};
  }

  void Say(Verdict verdict, Reason reason, std::string sentence, std::string advice) {
    answer_.verdict = verdict;
    answer_.reason = reason;
    answer_.sentence = std::move(sentence);
    answer_.advice = std::move(advice);
  }
  void Drop(Reason reason, std::string sentence, std::string advice) {
    Say(Verdict::kDropped, reason, std::move(sentence), std::move(advice));
  }

  // What makes the question pointless for the switch.
  bool Refused() {
    if (source().phase != state::Phase::kReady) {
      Drop(Reason::kRulesMissing,
           PodName(source()) + (source().phase == state::Phase::kAdding
                                    ? " is being attached: its ADD is under way, or has died"
                                    : " is being taken away: its DEL has begun"),
           "see `railctl get attachments`; an ADD that has died is undone by raild once its namespace is "
           "gone");
      return true;
    }
    const auto own = std::ranges::find_if(
        source().addresses, [&](const IpAddress& a) { return a.is_v6() == question_.destination.is_v6(); });
    if (own == source().addresses.end() && !question_.source_address) {
      Drop(Reason::kNoAddressOfFamily,
           PodName(source()) + " has no " + (question_.destination.is_v6() ? "IPv6" : "IPv4") +
               " address to send from",
           "give the network's IPAM a range of that family, or ask about an address of the other");
      return true;
    }
    if (question_.source_address && question_.source_address->is_v6() != question_.destination.is_v6()) {
      Drop(Reason::kNoAddressOfFamily, "source and destination are of two families, no packet has both", "");
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
      Drop(Reason::kOwnAddress,
           destination() + " is this interface's own address: the pod's kernel keeps it inside", "");
      return true;
    }
    return false;
  }

  Result<Way> Through(const Packet& packet) const {
    Way way{.packet = packet.ToText()};
    RAIL_ASSIGN(const std::string text, ask_(rail_->rail.bridge, way.packet));
    RAIL_ASSIGN(SwitchTrace trace, ParseSwitchTrace(text));
    way.megaflow = std::move(trace.megaflow);
    way.datapath_actions = std::move(trace.datapath_actions);
    for (SwitchStep& step : trace.steps) way.hops.push_back({std::move(step), ""});
    for (Hop& hop : way.hops) hop.words = Words(hop.step, packet);
    return way;
  }

  Status Send() {
    RAIL_ASSIGN(answer_.way, Through(packet_));
    answer_.deciding = answer_.way.hops.size() - 1;
    return {};
  }

  bool Works(const std::string& port) const {
    const auto it = ports_.find(port);
    return it != ports_.end() && it->second > 0;
  }

  std::string PortName(int64_t number) const {
    for (const auto& [name, ofport] : ports_) {
      if (ofport == number) return name;
    }
    return "port " + std::to_string(number);
  }

  // "set_field:0xc6b1->xxreg0" -> the tenant; none: the step sets none.
  static TenantId TenantSetBy(const SwitchStep& step) {
    for (const std::string& action : step.actions) {
      const size_t arrow = action.find("->xxreg");
      if (!action.starts_with("set_field:0x") || arrow == std::string::npos) continue;
      return TenantId::Parse(fmt::format("{:0>28}", action.substr(12, arrow - 12))).value_or(TenantId());
    }
    return {};
  }
  std::string NameOfTenant(TenantId id) const {
    for (const AttachmentView& a : view_.attachments) {
      if (a.attachment.tenant_id == id) return a.attachment.tenant;
    }
    return {};
  }

  static bool Drops(const SwitchStep& step) {
    return !step.matched || step.actions.empty() || step.actions == std::vector<std::string>{"drop"};
  }
  // The port that the step sends to; nothing when it sends nowhere.
  std::optional<int64_t> Output(const SwitchStep& step) const {
    for (const std::string& action : step.actions) {
      if (!action.starts_with("output:")) continue;
      const std::string_view to = std::string_view(action).substr(7);
      if (const auto number = Number<int64_t>(to)) return number;
      const auto named = ports_.find(std::string(to));
      if (named != ports_.end()) return named->second;
    }
    return std::nullopt;
  }
  int64_t Uplink() const {
    const auto it = ports_.find(rail_->rail.pf);
    return it == ports_.end() ? -1 : it->second;
  }

  std::string Words(const SwitchStep& step, const Packet& packet) const {
    if (step.matched && !IsOurs(step.cookie)) return "a rule that is not RailCNI's";
    const std::string from = packet.source.ToString();
    const std::string to = packet.destination.ToString();
    switch (step.table) {
      case pipeline::kAdmitTable:
        if (!Drops(step)) {
          return packet.in_port == Uplink() ? "may enter: from the leaf, for a pod of this node"
                                            : "may enter: MAC and address are the pod's own";
        }
        return "may not enter";
      case pipeline::kSourceTable:
        if (const TenantId id = TenantSetBy(step); !id.is_none())
          return "the sender is of " + TenantText(NameOfTenant(id), id);
        return Drops(step) ? "nobody knows whose the sender is" : "tenancy is off: not asked";
      case pipeline::kDestinationTable:
        if (const TenantId id = TenantSetBy(step); !id.is_none()) {
          return to + " is of " + TenantText(NameOfTenant(id), id) +
                 (IsOf(step.cookie, CookieKind::kRemote) ? ", learned from BGP" : ", on this node");
        }
        return Drops(step) ? "nobody knows " + to : "tenancy is off: not asked";
      case pipeline::kCompareTable:
        if (Drops(step)) return "two tenants";
        return step.priority == 0 ? "tenancy is off: not asked" : "the same tenant";
      case pipeline::kForwardTable: {
        const auto output = Output(step);
        if (!output) return "no way on";
        if (*output == Uplink())
          return "to the leaf " + rail_->leaf_mac.ToString() + " through " + rail_->rail.pf;
        return "to the pod behind " + PortName(*output);
      }
      default:
        return {};
    }
  }

  void Judge() {
    const SwitchStep& last = answer_.way.hops.back().step;
    if (last.matched && !IsOurs(last.cookie)) {
      return Drop(Reason::kForeignRule,
                  fmt::format("a rule with the cookie {:#x} decides, which is not RailCNI's", last.cookie),
                  "find out who writes rules to " + rail_->rail.bridge + "; RailCNI never touches them");
    }
    if (Drops(last)) return JudgeDrop(last);
    const auto output = Output(last);
    if (last.table != pipeline::kForwardTable || !output) {
      return Drop(Reason::kNotForPods,
                  destination() + " is no destination for pods: the switch ends it in table " +
                      std::to_string(last.table),
                  "");
    }
    // What let it through is the comparison; what carries it is table 4.
    for (size_t i = 0; i < answer_.way.hops.size(); ++i) {
      if (answer_.way.hops[i].step.table == pipeline::kCompareTable) answer_.deciding = i;
    }
    if (GoesNowhere(answer_.way)) {
      answer_.deciding = answer_.way.hops.size() - 1;
      const AttachmentView* to = Local();
      return NotWorking(IsOf(last.cookie, CookieKind::kLeaf) ? rail_->rail.pf
                        : to == nullptr                      ? PortName(*output)
                                                             : to->attachment.representor,
                        "the rules forward the packet there and Open vSwitch drops it");
    }
    if (*output == Uplink()) return JudgeLeaving();
    const AttachmentView* local = Local();
    Say(Verdict::kReaches, Reason::kDeliveredLocally,
        local == nullptr ? "it is delivered to the pod behind " + PortName(*output)
                         : "it is delivered on this node, to " + PodName(local->attachment) + " (" +
                               local->attachment.representor + "): the same tenant",
        "");
  }

  // The rules send it to a port, and the datapath has none for it.
  static bool GoesNowhere(const Way& way) { return way.datapath_actions == "drop"; }

  void NotWorking(const std::string& port, const std::string& so) {
    Drop(Reason::kPortNotWorking, port + " is not a working port of " + rail_->rail.bridge + ": " + so,
         "`railctl doctor` says why; is the device there (`ip link show " + port + "`)?");
  }

  void JudgeDrop(const SwitchStep& last) {
    switch (last.table) {
      case pipeline::kAdmitTable:
        return JudgeEntry(last);
      case pipeline::kSourceTable:
        if (source().tenant_id.is_none()) {
          return Drop(
              Reason::kNoTenant, "the pod has no tenant: tenant-isolation has not run in its chain",
              "put tenant-isolation into the network's plugins after ovs-provider and attach the pod anew");
        }
        return Missing("the rule that says which tenant the pod is of");
      case pipeline::kDestinationTable:
        return JudgeUnknown();
      case pipeline::kCompareTable:
        return JudgeTenants();
      case pipeline::kForwardTable:
        if (Local() != nullptr && Local()->attachment.rail == source().rail) {
          return MissingFor(Local()->attachment, "the rule that forwards to " + PodName(Local()->attachment));
        }
        return Drop(Reason::kNoLeafMac,
                    "the leaf's MAC address is not known: no neighbour that is a router has been heard on " +
                        rail_->rail.bridge,
                    "is the cable in, and does the leaf send router advertisements? `ip -6 neigh show dev " +
                        rail_->rail.bridge + "`; `railctl doctor`");
      default:
        return Drop(Reason::kRulesMissing, "the switch drops it in table " + std::to_string(last.table),
                    "`railctl doctor` knows more");
    }
  }

  void Missing(const std::string& what) {
    const auto health = std::ranges::find(view_.health, "rail " + rail_->rail.name, &engine::Health::part);
    const bool failing = health != view_.health.end() && !health->ok;
    Drop(Reason::kRulesMissing, what + " is not in " + rail_->rail.bridge,
         failing ? "raild cannot put it there: " + health->problem
                 : "raild puts it back as soon as it sees it, within 30 s at the latest; is raild healthy "
                   "(`railctl get node`)?");
  }

  // A pod whose port has no number gets no rules.
  void MissingFor(const Attachment& to, const std::string& what) {
    if (Works(to.representor)) return Missing(what);
    NotWorking(to.representor, "nothing reaches " + PodName(to));
  }

  void JudgeEntry(const SwitchStep& last) {
    if (!last.matched || !IsOf(last.cookie, CookieKind::kAttachment)) {
      return Missing("every rule of " + PodName(source()));
    }
    if (packet_.source_mac != source().mac) {
      return Drop(Reason::kSpoofedSource,
                  "the source MAC " + packet_.source_mac.ToString() + " is not the pod's (" +
                      source().mac.ToString() + "): the frame is dropped at its port, " +
                      source().representor,
                  "the pod's interface must keep its MAC; nothing else may be sent through it");
    }
    if (!Holds(source(), packet_.source)) {
      std::string own;
      for (const IpAddress& address : source().addresses)
        own += (own.empty() ? "" : ", ") + address.ToString();
      return Drop(
          Reason::kSpoofedSource,
          "the source address " + packet_.source.ToString() + " is not the pod's (" + own +
              "): the packet is dropped at its port, " + source().representor,
          "an application that binds to another rail's address must send through that rail's interface: "
          "its policy routing does that unless the socket is bound to a device");
    }
    Missing("the rule that admits " + packet_.source.ToString() + " from " + source().representor);
  }

  void JudgeTenants() {
    const AttachmentView* local = Local();
    const RemoteView* remote = Remote();
    std::string whose = "another tenant";
    TenantId id;
    for (const Hop& hop : answer_.way.hops) {
      if (hop.step.table == pipeline::kDestinationTable) id = TenantSetBy(hop.step);
    }
    if (local != nullptr) {
      whose = TenantText(local->attachment.tenant, local->attachment.tenant_id) + ", of pod " +
              PodName(local->attachment);
    } else if (remote != nullptr) {
      whose = TenantText(remote->tenant, remote->remote.tenant) + ", on another node";
    } else if (!id.is_none()) {
      whose = TenantText(NameOfTenant(id), id);
    }
    if (!id.is_none() && id == source().tenant_id)
      return Missing("the rule that lets the tenant talk to itself");
    OtherTenant(whose);
  }

  // Who announces the destination, where that is not one tenant.
  bool Contested() const {
    const RemoteView* remote = Remote();
    return remote != nullptr && remote->contested;
  }
  std::string Claimants() const {
    std::map<TenantId, std::string> tenants;
    for (const RemoteView& r : view_.remotes) {
      if (r.remote.address == question_.destination)
        tenants[r.remote.tenant] = TenantText(r.tenant, r.remote.tenant);
    }
    std::string all;
    for (const auto& [id, text] : tenants) all += (all.empty() ? "" : " and ") + text;
    return all;
  }
  std::string FindTheWrongOne() const {
    return std::string("one pod must give the address up: `vtysh -c 'show bgp ") +
           (question_.destination.is_v6() ? "ipv6" : "ipv4") + " unicast " +
           question_.destination.ToHostPrefix() + "'` says where each comes from";
  }

  void OtherTenant(const std::string& whose) {
    Drop(Reason::kOtherTenant,
         destination() + " belongs to another tenant: " + whose + "; " + PodName(source()) + " is of " +
             TenantText(source().tenant, source().tenant_id),
         "this is the isolation at work; if the two shall talk, join their namespaces to one tenant in "
         "tenancy.tenants of node.json on every node, and attach the pods anew");
  }

  // Table 2 does not know the destination.
  void JudgeUnknown() {
    const IpAddress& to = question_.destination;
    if (to.is_multicast() || to.is_broadcast() || to.is_link_local() || to.is_loopback() ||
        to.is_unspecified()) {
      return Drop(Reason::kNotForPods,
                  destination() +
                      " is no pod's address: rails carry unicast between pods of one tenant, nothing else",
                  "");
    }
    if (const AttachmentView* local = Local()) {
      if (local->attachment.rail == source().rail) {
        if (local->attachment.tenant_id.is_none()) {
          return Drop(
              Reason::kNoTenant,
              destination() + " is of " + PodName(local->attachment) + ", which has no tenant",
              "put tenant-isolation into the network's plugins after ovs-provider and attach that pod anew");
        }
        return MissingFor(local->attachment,
                          "the rule that knows " + destination() + " of " + PodName(local->attachment));
      }
      if (local->attachment.tenant_id != source().tenant_id) {
        return OtherTenant(TenantText(local->attachment.tenant, local->attachment.tenant_id) + ", of pod " +
                           PodName(local->attachment));
      }
      return Drop(Reason::kAnotherRail,
                  destination() + " is on " + local->attachment.rail + " of this very node (" +
                      PodName(local->attachment) +
                      "): rails are joined by the fabric alone, and it is not known on " + source().rail,
                  "send from the pod's interface on " + local->attachment.rail +
                      "; or see whether the leaves pass "
                      "on the routes of other rails (`railctl get remotes`)");
    }
    if (Contested()) {
      return Drop(Reason::kContested,
                  destination() + " is announced for several tenants, " + Claimants() +
                      ": while it is, it reaches nobody",
                  FindTheWrongOne());
    }
    if (const RemoteView* remote = Remote()) {
      if (remote->remote.tenant != source().tenant_id) {
        return OtherTenant(TenantText(remote->tenant, remote->remote.tenant) + ", on another node");
      }
      return Drop(
          Reason::kNotInstalled,
          destination() + " is known from BGP and of the same tenant, and its rules are not on " +
              rail_->rail.bridge + " yet",
          "raild installs them as soon as it can; `railctl get node` says what keeps it from doing so");
    }
    if (rail_->bgp_state != "Established") {
      return Drop(Reason::kBgpDown,
                  "nobody has told of " + destination() + ", and the BGP session of " + rail_->rail.name +
                      " is " + (rail_->bgp_state.empty() ? "not there" : rail_->bgp_state) +
                      ": nothing can be learned over it",
                  "`railctl doctor`; `vtysh -c 'show bgp summary'`");
    }
    Drop(Reason::kUnknownDestination,
         "nobody announces " + destination() +
             ": no pod of this node has it, and BGP has not told of it with a " + "tenant's community",
         "is the pod running and its address right? On its node, `railctl get attachments` must say "
         "announced; "
         "between the nodes every leaf and spine must pass on large communities");
  }

  void JudgeLeaving() {
    const RemoteView* remote = Remote();
    const std::string way =
        "it leaves through " + rail_->rail.pf + " to the leaf " + rail_->leaf_mac.ToString();
    if (!rail_->uplink_carrier) {
      return Drop(
          Reason::kNoCarrier,
          "the switch forwards it, and the uplink " + rail_->rail.pf + " has no carrier: it goes nowhere",
          "is the cable in, is the leaf's port up? `ip link show " + rail_->rail.pf + "`");
    }
    if (rail_->bgp_state != "Established") {
      return Say(Verdict::kDoubtful, Reason::kBgpDown,
                 way + ", but the BGP session of " + rail_->rail.name + " is " +
                     (rail_->bgp_state.empty() ? "not there" : rail_->bgp_state) +
                     ": the leaf may have forgotten the way back, and what is known here grows old",
                 "`railctl doctor`; `vtysh -c 'show bgp summary'`");
    }
    if (remote == nullptr && facts_.config.tenancy.mode == config::TenancyMode::kNamespace) {
      const AttachmentView* local = Local();
      if (local == nullptr) {
        return Say(
            Verdict::kDoubtful, Reason::kUnknownDestination,
            way + "; its rules are there, and BGP does not tell of " + destination() + " any more",
            "its pod has gone, or its leaf has lost its node; the rules go when the sessions have settled");
      }
    }
    if (Contested()) {
      return Say(Verdict::kDoubtful, Reason::kContested,
                 way + ", but " + destination() + " is announced for several tenants, " + Claimants() +
                     ": its rules go as soon as raild can remove them",
                 FindTheWrongOne());
    }
    if (!source().announced) {
      return Say(Verdict::kDoubtful, Reason::kNotAnnounced,
                 way + ", but " + packet_.source.ToString() +
                     " is not announced: no other node lets it in, and "
                     "no answer finds its way",
                 "put frr-provider into the network's plugins and attach the pod anew");
    }
    const std::string other = RailOfDestination();
    if (!other.empty() && other != source().rail) {
      answer_.notes.push_back(destination() + " is on " + other + ": from " + source().rail +
                              " the packet crosses the spine; the pod's interface on " + other +
                              " is the short way");
    }
    std::string sentence = way;
    if (remote != nullptr) {
      sentence += ": " + destination() + " is of the same tenant, " + source().tenant + ", on another node";
    }
    Say(Verdict::kReaches, Reason::kSentToLeaf, std::move(sentence), "");
    if (remote != nullptr) {
      answer_.notes.push_back(
          "the other node compares the tenants once more; ask there with `railctl trace` for its word");
    }
  }

  // Whether the answer would come in.
  Status Return() {
    Packet packet{.source = packet_.destination,
                  .destination = packet_.source,
                  .protocol = packet_.protocol,
                  .source_port = packet_.destination_port,
                  .destination_port = packet_.source_port};
    const AttachmentView* local = Local();
    if (answer_.reason == Reason::kDeliveredLocally && local != nullptr) {
      packet.in_port = local->attachment.ofport;
      packet.source_mac = local->attachment.mac;
      packet.destination_mac = rail_->rail.GatewayMac();
    } else {
      packet.in_port = Uplink();
      packet.source_mac = rail_->leaf_mac;
      packet.destination_mac = rail_->bridge_mac;
    }
    Back back;
    RAIL_ASSIGN(back.way, Through(packet));
    const SwitchStep& last = back.way.hops.back().step;
    const auto output = Output(last);
    const bool to_source = !Drops(last) && output && *output == source().ofport;
    back.admitted = to_source && !GoesNowhere(back.way);
    if (back.admitted) {
      back.sentence = "the answer is admitted and delivered to " + source().representor;
    } else {
      back.sentence = "the answer does not come back: ";
      back.sentence += to_source ? "no working port has the number that its rules send it to"
                                 : "it ends in table " + std::to_string(last.table) + " (" +
                                       back.way.hops.back().words + ")";
      if (answer_.verdict == Verdict::kReaches) {
        Say(Verdict::kDoubtful, Reason::kNoWayBack, "the packet gets there, but " + back.sentence,
            "`railctl check` says which rules are missing; raild puts them back");
      }
    }
    answer_.back = std::move(back);
    return {};
  }

  const Question& question_;
  const TraceFacts& facts_;
  const NodeView& view_;
  const AskSwitch& ask_;
  Answer answer_;
  const RailView* rail_ = nullptr;
  std::map<std::string, int64_t> ports_;
  Packet packet_;
};

}  // namespace

Result<Answer> Trace(const Question& question, const TraceFacts& facts, const AskSwitch& ask) {
  return Tracer(question, facts, ask).Run();
}

std::string CookieKindName(uint64_t cookie) {
  if (!IsOurs(cookie)) return "foreign";
  switch (static_cast<CookieKind>(cookie >> 24 & 0xff)) {
    case CookieKind::kPipeline:
      return "pipeline";
    case CookieKind::kAttachment:
      return "attachment";
    case CookieKind::kTenant:
      return "tenant";
    case CookieKind::kCompare:
      return "compare";
    case CookieKind::kRemote:
      return "remote";
    case CookieKind::kLeaf:
      return "leaf";
  }
  return "foreign";
}

std::string TableName(uint8_t table) {
  static constexpr const char* kNames[] = {"admit", "source", "destination", "compare", "forward"};
  return table < std::size(kNames) ? kNames[table] : "";
}

}  // namespace rail::inspect
