#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "cmd/railctl/commands.h"

#include "lib/base/text.h"

namespace rail::railctl {
namespace {

constexpr size_t kNameWidth = 14;

// Lines of a section: "  Addresses:  10.0.3.7, 2001:db8::7".
class Page {
 public:
  explicit Page(const Context& context) : out_(context.out), paint_(context.flags.color) {}

  void Title(const std::string& text) { out_ << OneLine(text) << '\n'; }
  void Section(const std::string& name) { out_ << "\n" << name << '\n'; }
  // An empty value is not known.
  void Line(const std::string& name, const std::string& value) {
    std::string label = "  " + name + ":";
    label.resize(std::max(label.size() + 1, kNameWidth + 2), ' ');
    out_ << label << (value.empty() ? "not known" : OneLine(value)) << '\n';
  }
  void Findings(const std::vector<const v1::Finding*>& findings, const v1::Finding* beside) {
    for (const v1::Finding* each : findings) {
      out_ << "  " << paint_(v1::Finding::Severity_Name(each->severity())) << ' ' << each->id() << ": "
           << OneLine(each->what()) << "\n    why: " << OneLine(each->why())
           << "\n    do:  " << OneLine(each->fix()) << '\n';
    }
    if (findings.empty()) out_ << "  none is about it\n";
    if (beside != nullptr) {
      out_ << "  Of the node: " << paint_(v1::Finding::Severity_Name(beside->severity())) << ' '
           << beside->id() << ": " << OneLine(beside->subject()) << ": " << OneLine(beside->what())
           << " (`railctl doctor` says what to do)\n";
    }
  }

 private:
  std::ostream& out_;
  const Painter paint_;
};

std::string Count(size_t number, const std::string& what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

bool IsAbout(const v1::Finding& finding, const v1::Attachment& a) {
  return finding.attachment() == a.id();
}

bool IsAbout(const v1::Finding& finding, const v1::Rail& rail) {
  return finding.rail() == rail.name();
}

// What the doctor has found about `thing`, and the node's worst finding when that is CRITICAL and about something else: it may be why.
template <class Thing>
struct About {
  std::vector<const v1::Finding*> findings;
  const v1::Finding* beside = nullptr;

  About(const v1::DoctorResponse& doctor, const Thing& thing) {
    findings = EveryFinding(doctor);
    std::erase_if(findings, [&](const v1::Finding* each) { return !IsAbout(*each, thing); });
    if (!doctor.findings().empty()) {
      const v1::Finding& worst = doctor.findings(0);
      if (worst.severity() == v1::Finding::CRITICAL && !IsAbout(worst, thing)) beside = &worst;
    }
  }
};

// "NoLeaf (the leaf's MAC address is not known yet)"
std::string Explained(const std::string& state, const std::map<std::string, std::string>& words) {
  const auto found = words.find(state);
  return state + (found == words.end() ? "" : " (" + found->second + ")");
}

std::string InWords(const v1::Attachment& a, int64_t now_ms) {
  static const std::map<std::string, std::string> words = {
      {"Ready", "the interface is in the pod"},
      {"Adding", "an ADD is under way, or died on its way; raild undoes it once the pod is gone"},
      {"Deleting", "a DEL has begun; only undo work is left"},
      {"Pending", "undo work has failed so far, and raild tries again"},
      {"NoDevice", "its NIC was reset, and the pod lives without it until raild has put it back"}};
  return Explained(WordOf(a.state()), words) + ", " + Age(a.created().seconds() * 1000, now_ms) + " old";
}

std::string InWords(const v1::Rail& rail) {
  static const std::map<std::string, std::string> words = {
      {"Ready", "pods can use it"},
      {"NoBridge", "Open vSwitch has no bridge of this name"},
      {"NoCarrier", "the uplink has no carrier"},
      {"NoSession", "the BGP session to the leaf is not Established"},
      {"NoLeaf", "the leaf's MAC address is not known yet"},
      {"RecordLost", "pods live that the record does not know"},
      {"Unseen", "raild cannot look at the bridge; all else is as it saw it last"},
      {"RulesDiffer", "the rules on the bridge are not those that it should have"}};
  return Explained(WordOf(rail.state()), words);
}

// By LLDP: "port swp3 (to node 7) of leaf3, chassis 00:1c:73:0a:0b:0c".
std::string PortInWords(const v1::LldpNeighbour& lldp) {
  return "port " + lldp.port() +
         (lldp.port_description().empty() || lldp.port_description() == lldp.port()
              ? ""
              : " (" + lldp.port_description() + ")") +
         (lldp.system_name().empty() ? "" : " of " + lldp.system_name()) + ", chassis " + lldp.chassis();
}

std::string Session(const v1::Rail& rail) {
  if (rail.by_vlan() && rail.vlans().empty()) return "none is needed: no tenant has a pod on the rail";
  if (rail.bgp_state().empty()) return "none";
  return rail.bgp_state() + ", " + std::to_string(rail.prefixes_received()) + " prefixes received, " +
         std::to_string(rail.prefixes_sent()) + " sent";
}

std::string RulesInWords(const v1::AttachmentFlows& flows) {
  uint64_t packets = 0;
  for (const v1::RuleStats& rule : flows.rules()) packets += rule.packets();
  return Count(static_cast<size_t>(flows.rules_size()), "rule") + ", which have met " +
         std::to_string(packets) + " packets";
}

std::string MegaflowsInWords(const v1::AttachmentFlows& flows) {
  std::map<std::string, int> places;
  std::string why;
  for (const v1::Megaflow& flow : flows.megaflows()) {
    ++places[WordOf(flow.place())];
    if (why.empty()) why = flow.why_not();
  }
  std::string text = Count(flows.megaflows_total(), "datapath flow");
  const auto in_words = [](const auto& each) { return std::to_string(each.second) + " in " + each.first; };
  if (!places.empty()) text += ": " + Join(places, ", ", in_words);
  return text + (why.empty() ? "" : "; why not in hardware: " + why);
}

// All that there is to ask about the attachments.
struct Asked {
  Result<v1::ListFlowsResponse> flows;
  Result<v1::CheckResponse> check;
  Result<v1::DoctorResponse> doctor;

  bool whole() const { return flows && check && doctor; }
};

Asked AskAll(const Context& context) {
  const auto selector = Meant<v1::AttachmentSelector>(context.flags);
  v1::CheckRequest request;
  *request.mutable_selector() = selector;
  return {context.client.ListFlows(selector), context.client.Ask(&v1::Node::Stub::Check, request),
          context.client.Ask(&v1::Node::Stub::Doctor)};
}

template <class T>
std::string NotKnown(const Result<T>& asked) {
  return "not known: " + asked.error().message;
}

// What raild says of the attachment; null: nothing, or it came or went between two questions.
template <class Response>
auto FindIn(const Result<Response>& asked, const v1::Attachment& a) {
  using Each = typename std::remove_cvref_t<decltype(asked->attachments())>::value_type;
  if (!asked) return static_cast<const Each*>(nullptr);
  const auto found = std::ranges::find(asked->attachments(), a.id(),
                                       [](const Each& each) { return each.attachment().id(); });
  return found == asked->attachments().end() ? nullptr : &*found;
}

template <class Thing>
void PrintFindingsOn(Page& page, const Result<v1::DoctorResponse>& doctor, const Thing& thing) {
  page.Section("Findings of the doctor");
  if (!doctor) return page.Line("Doctor", NotKnown(doctor));
  const About about(*doctor, thing);
  page.Findings(about.findings, about.beside);
}

std::string RateInWords(uint64_t share, uint64_t max_mbit) {
  return "share " + std::to_string(share) +
         (max_mbit == 0 ? ", no limit" : ", at most " + std::to_string(max_mbit) + " Mbit/s");
}

std::string RateInWords(const v1::AttachmentRate& rate) {
  std::string words = "its tenant's on this NIC: " + RateInWords(rate.tenant_share(), rate.tenant_max_mbit());
  if (rate.min_mbit() != 0) words += "; its own: at least " + std::to_string(rate.min_mbit()) + " Mbit/s";
  if (rate.max_mbit() != 0) words += "; its own: at most " + std::to_string(rate.max_mbit()) + " Mbit/s";
  return words;
}

void PrintAttachment(const Context& context, const v1::Attachment& a, const std::vector<v1::Rail>& rails,
                     const Asked& asked) {
  Page page(context);
  page.Title(a.pod().namespace_() + "/" + a.pod().name() + " " + a.ifname());
  page.Line("State", InWords(a, context.now()));
  page.Line("Tenant", a.tenant().name() + (a.tenant().id().empty() ? "" : " (" + a.tenant().id() + ")"));
  if (a.vlan() != 0) page.Line("VLAN", std::to_string(a.vlan()));
  const auto rail = std::ranges::find(rails, a.rail(), &v1::Rail::name);
  page.Line("Rail",
            a.rail() + (rail == rails.end() ? ", which node.json no longer names" : ": " + InWords(*rail)));
  if (!a.pending().empty()) page.Line("Undo work", a.pending());

  page.Section("In the pod");
  page.Line("Interface", a.ifname() + ", MAC " + (a.mac().empty() ? "not known" : a.mac()) + ", MTU " +
                             std::to_string(a.mtu()));
  page.Line("Addresses", Join(a.addresses(), ", "));
  page.Line("Device", a.device());
  page.Line("Namespace", a.netns() + (a.namespace_unseen().empty() ? "" : "; " + a.namespace_unseen()));
  page.Line("Container", a.container_id());

  page.Section("On the switch");
  page.Line("Port",
            a.representor().empty() ? "" : a.representor() + ", OpenFlow port " + std::to_string(a.ofport()));
  page.Line("Rules", a.has_rules_unknown_since() ? "not known: raild cannot look at the bridge"
                     : a.rules_in_place()        ? "all of them are on the bridge"
                                                 : "not all of them are on the bridge");
  const v1::AttachmentFlows* flows = FindIn(asked.flows, a);
  if (!asked.flows) {
    page.Line("Flows", NotKnown(asked.flows));
  } else if (flows != nullptr) {
    page.Line("Counted", RulesInWords(*flows));
    page.Line("Flows", asked.flows->datapath_problem().empty()
                           ? MegaflowsInWords(*flows)
                           : "not known: " + asked.flows->datapath_problem());
  }

  if (a.has_rate()) page.Line("Rate", RateInWords(a.rate()));

  page.Section("In the fabric");
  page.Line("Announced", !a.withdrawn().empty() ? "withdrawn: " + a.withdrawn()
                         : a.announced()        ? "bgpd has been given its addresses"
                                                : "no");
  page.Line("Session", rail == rails.end() ? "" : Session(*rail));
  for (const std::string& elsewhere : a.announced_elsewhere())
    page.Line(a.contested() ? "Contested" : "Duplicate", elsewhere);

  page.Section("Compared with the record (railctl check)");
  const v1::CheckedAttachment* checked = FindIn(asked.check, a);
  if (!asked.check) {
    page.Line("Check", NotKnown(asked.check));
  } else if (checked != nullptr) {
    if (checked->problems().empty()) page.Line("Check", "all is as the record says");
    for (const std::string& problem : checked->problems()) page.Line("Differs", problem);
  }

  PrintFindingsOn(page, asked.doctor, a);
}

template <class Thing>
Result<Json> FindingsJson(const v1::DoctorResponse& doctor, const Thing& thing) {
  Json findings = Json::array();
  for (const v1::Finding* each : About(doctor, thing).findings) {
    RAIL_ASSIGN(Json json, ToJson(*each));
    findings.push_back(std::move(json));
  }
  return findings;
}

Result<Json> AttachmentJson(const v1::Attachment& a, const Asked& asked) {
  Json json;
  RAIL_ASSIGN(json["attachment"], ToJson(a));
  if (const v1::AttachmentFlows* flows = FindIn(asked.flows, a)) {
    RAIL_ASSIGN(const Json found, ToJson(*flows));
    json["rules"] = found.at("rules");
    json["megaflows"] = found.at("megaflows");
  }
  if (const v1::CheckedAttachment* checked = FindIn(asked.check, a)) {
    RAIL_ASSIGN(const Json found, ToJson(*checked));
    json["problems"] = found.at("problems");
  }
  if (asked.doctor) {
    RAIL_ASSIGN(json["findings"], FindingsJson(*asked.doctor, a));
  }
  return json;
}

}  // namespace

ExitCode DescribeAttachment(const Context& context) {
  RAIL_ASSIGN(const v1::ListAttachmentsResponse response, ListAttachments(context));
  RAIL_ASSIGN(const std::vector<v1::Rail> rails, ListRails(context));
  const Asked asked = AskAll(context);
  if (AsJson(context)) {
    Json all = {{"attachments", Json::array()}};
    for (const v1::Attachment& a : response.attachments()) {
      RAIL_ASSIGN(Json json, AttachmentJson(a, asked));
      all["attachments"].push_back(std::move(json));
    }
    context.out << Text(all, Layout::kIndented) << '\n';
  } else {
    for (const v1::Attachment& a : response.attachments()) {
      if (&a != &response.attachments(0)) context.out << '\n';
      PrintAttachment(context, a, rails, asked);
    }
  }
  return asked.whole() ? kDone : kFailed;
}

ExitCode DescribeRail(const Context& context) {
  RAIL_ASSIGN(const std::vector<v1::Rail> rails, ListRails(context));
  if (rails.empty()) return Fail(Code::kNotFound, "rail " + context.flags.rail + " has just gone");
  const v1::Rail& rail = rails.front();
  RAIL_ASSIGN(const v1::ListAttachmentsResponse attachments, ListAttachments(context));
  RAIL_ASSIGN(const uint32_t remotes, context.client.CountRemotes(rail.name()));
  const Result<v1::DoctorResponse> doctor = context.client.Ask(&v1::Node::Stub::Doctor);
  if (AsJson(context)) {
    Json json;
    RAIL_ASSIGN(json["rail"], ToJson(rail));
    RAIL_ASSIGN(const Json listed, ToJson(attachments));
    json.update(listed);
    json["remotes"] = remotes;
    if (doctor) {
      RAIL_ASSIGN(json["findings"], FindingsJson(*doctor, rail));
    }
    context.out << Text(json, Layout::kIndented) << '\n';
    return doctor ? kDone : kFailed;
  }
  Page page(context);
  page.Title(rail.name() + ", index " + std::to_string(rail.index()));
  page.Line("State", InWords(rail));
  page.Line("Uplink", rail.pf() + (rail.carrier() ? ", with carrier" : ", without carrier"));
  page.Line("Bridge",
            rail.bridge() + (rail.bridge_present() ? ", MAC " + rail.bridge_mac() : ", which is not there"));
  page.Line("Leaf", rail.leaf_mac());
  if (rail.has_lldp()) page.Line("Plugged into", PortInWords(rail.lldp()));
  if (rail.has_plane()) page.Line("Plane", fmt::format("{} of rail {}", rail.plane(), rail.number()));
  if (rail.nic_planes() > 1)
    page.Line("Planes",
              fmt::format("{}, which the NIC makes of this uplink inside itself", rail.nic_planes()));
  page.Line("Session", Session(rail));
  page.Line("MTU", std::to_string(rail.mtu()) + " bytes for pods");
  page.Line("Rules", std::to_string(rail.rules_installed()) + " of ours on the bridge, " +
                         std::to_string(rail.rules_wanted()) + " wanted");
  if (rail.lossless_known() && rail.lossless_ok()) page.Line("Lossless", "as node.json wants it");
  for (const std::string& problem : rail.lossless_problems()) page.Line("Lossless", problem);
  for (const v1::TenantRate& each : rail.tenant_rates())
    page.Line("Rate", "tenant " + each.tenant().name() + " on " + each.nic() + ": " +
                          RateInWords(each.share(), each.max_mbit()) + ", for " +
                          Count(each.attachments(), "interface"));
  for (const std::string& problem : rail.rates_problems()) page.Line("Rate", problem);
  if (rail.unrecorded_pods() > 0)
    page.Line("Record", Count(rail.unrecorded_pods(), "pod") + " live that it has lost");
  page.Line("Remotes", std::to_string(remotes) + " addresses of pods elsewhere on this rail");

  if (rail.by_vlan()) {
    page.Section("VLANs");
    Table vlans = MakeTable(context, ColumnsOf<v1::RailVlan>());
    for (const v1::RailVlan& vlan : rail.vlans()) vlans.Add(RowOf(vlan));
    vlans.Print(context.out);
  }
  page.Section("Attachments");
  Table table = MakeTable(context, ColumnsOf<v1::Attachment>());
  for (const v1::Attachment& a : attachments.attachments()) table.Add(RowOf(a, StyleOf(context)));
  table.Print(context.out);
  PrintFindingsOn(page, doctor, rail);
  return doctor ? kDone : kFailed;
}

}  // namespace rail::railctl
