#include "cmd/railctl/rows.h"

#include <algorithm>

namespace rail::railctl {
namespace {

int64_t Milliseconds(const google::protobuf::Timestamp& time) {
  return time.seconds() * 1000 + time.nanos() / 1000000;
}

std::string RdmaText(v1::NodeInfo::RdmaMode mode) {
  switch (mode) {
    case v1::NodeInfo::NO_RDMA:
      return "none";
    case v1::NodeInfo::SHARED:
      return "shared";
    case v1::NodeInfo::EXCLUSIVE:
      return "exclusive";
    default:
      return "?";  // unknown yet, or from a newer raild
  }
}

// Whether the fabric leads to it.
std::string Bgp(const v1::Attachment& attachment) {
  if (!attachment.withdrawn().empty()) return "withdrawn";
  if (attachment.contested()) return "contested";
  if (attachment.announced_elsewhere_size() > 0) return "duplicate";
  return attachment.announced() ? "announced" : "";
}

// Whether they are on the bridge, as far as raild can look.
std::string Rules(const v1::Attachment& attachment) {
  if (attachment.has_rules_unknown_since()) return "unknown";
  return attachment.rules_in_place() ? "ok" : "missing";
}

std::string Joined(const google::protobuf::RepeatedPtrField<std::string>& texts, Lists lists) {
  if (lists == Lists::kShort && texts.size() > 1) return texts[0] + ",+" + std::to_string(texts.size() - 1);
  std::string joined;
  for (const std::string& text : texts) joined += (joined.empty() ? "" : ",") + text;
  return joined;
}

std::string VlanText(uint32_t vlan) {
  return vlan == 0 ? "" : std::to_string(vlan);
}

}  // namespace

const Columns kAttachmentWide = {"VLAN", "DEVICE", "REPRESENTOR", "MAC", "MTU", "OFPORT", "PLANE"};
const Columns kRailWide = {"INDEX",   "MTU",   "BRIDGE-MAC", "LEAF",        "LEAF-AS",
                           "LEAF-ID", "PLANE", "LEAF-PORT",  "LEAF-CHASSIS"};
const Columns kRemoteWide = {"VLAN", "DISTANCE", "AS-PATH", "PLANE"};
const Columns kTenantWide = {"VLAN"};
const Columns kRuleWide = {"PRIORITY", "ACTIONS"};
const Columns kMegaflowWide = {"BYTES", "MATCH", "ACTIONS"};

std::string State(const v1::Attachment& attachment) {
  if (!attachment.pending().empty()) return "Pending";
  if (attachment.device_lost()) return "NoDevice";
  switch (attachment.phase()) {
    case v1::Attachment::ADDING:
      return "Adding";
    case v1::Attachment::READY:
      return "Ready";
    case v1::Attachment::DELETING:
      return "Deleting";
    default:
      return "";
  }
}

// What opens the isolation; else the first thing that keeps the rail from carrying traffic.
std::string State(const v1::Rail& rail) {
  if (rail.foreign_flows() != 0) return "ForeignFlows";
  if (!rail.bridge_present()) return "NoBridge";
  if (!rail.carrier()) return "NoCarrier";
  const bool needs_leaf = !rail.by_vlan() || rail.vlans_size() != 0;
  if (needs_leaf && rail.bgp_state() != "Established") return "NoSession";
  if (needs_leaf && rail.leaf_mac().empty()) return "NoLeaf";
  if (rail.unrecorded_pods() != 0) return "RecordLost";
  if (!rail.unseen().empty()) return "Unseen";
  if (rail.rules_installed() != rail.rules_wanted()) return "RulesDiffer";
  return "Ready";
}

std::string PlaneText(uint32_t rail, uint32_t plane) {
  return std::to_string(rail) + "/" + std::to_string(plane);
}

Row AttachmentHeader() {
  return {"NAMESPACE", "POD", "IFNAME", "RAIL", "ADDRESS", "TENANT", "DEVICE", "REPRESENTOR", "STATE",
          "RULES",     "BGP", "AGE",    "MAC",  "MTU",     "OFPORT", "PLANE",  "VLAN"};
}

Row AttachmentRow(const v1::Attachment& a, int64_t now_ms, Lists lists) {
  return {a.pod().namespace_(),
          a.pod().name(),
          a.ifname(),
          a.rail(),
          Joined(a.addresses(), lists),
          a.tenant().name(),
          a.device(),
          a.representor(),
          State(a),
          Rules(a),
          Bgp(a),
          Age(Milliseconds(a.created()), now_ms),
          a.mac(),
          a.mtu() == 0 ? "" : std::to_string(a.mtu()),
          a.ofport() == 0 ? "" : std::to_string(a.ofport()),
          a.has_plane() ? PlaneText(a.rail_number(), a.plane()) : "",
          VlanText(a.vlan())};
}

Row RailHeader() {
  return {"NAME",       "INDEX",    "BRIDGE",  "PF",       "MTU",       "STATE",
          "BRIDGE-MAC", "LEAF-MAC", "BGP",     "RECEIVED", "SENT",      "RULES",
          "LEAF",       "LEAF-AS",  "LEAF-ID", "PLANE",    "LEAF-PORT", "LEAF-CHASSIS"};
}

Row RailRow(const v1::Rail& r) {
  return {r.name(),
          std::to_string(r.index()),
          r.bridge(),
          r.pf(),
          std::to_string(r.mtu()),
          State(r),
          r.bridge_mac(),
          r.leaf_mac(),
          r.bgp_state(),
          std::to_string(r.prefixes_received()),
          std::to_string(r.prefixes_sent()),
          std::to_string(r.rules_installed()) + "/" + std::to_string(r.rules_wanted()),
          r.leaf().name(),
          r.has_leaf() ? std::to_string(r.leaf().asn()) : "",
          r.leaf().router_id(),
          r.has_plane() ? PlaneText(r.number(), r.plane()) : "",
          r.lldp().port(),
          r.lldp().chassis()};
}

std::string DistanceText(v1::Distance distance) {
  switch (distance) {
    case v1::SAME_LEAF:
      return "same-leaf";
    case v1::SAME_UNIT:
      return "same-unit";
    case v1::ACROSS_SPINE:
      return "across-spine";
    case v1::FURTHER:
      return "further";
    default:
      return "";
  }
}

Row VlanHeader() {
  return {"VLAN", "TENANT", "BGP", "LEAF-MAC", "RECEIVED", "SENT", "PORT", "VRF"};
}

Row VlanRow(const v1::RailVlan& v) {
  return {VlanText(v.vlan()),
          v.tenant().name(),
          v.bgp_state(),
          v.leaf_mac(),
          std::to_string(v.prefixes_received()),
          std::to_string(v.prefixes_sent()),
          v.port() + (v.port_works() ? "" : " (missing)"),
          v.vrf()};
}

Row RemoteHeader() {
  return {"ADDRESS", "TENANT", "TENANT-ID", "RAIL", "INSTALLED", "VLAN", "DISTANCE", "AS-PATH", "PLANE"};
}

Row RemoteRow(const v1::Remote& r) {
  // Only the index is known of a rail that this node does not have.
  const std::string rail = r.rail().empty() && r.has_rail_index() ? std::to_string(r.rail_index()) : r.rail();
  std::string path;
  for (const uint32_t as : r.as_path()) path += (path.empty() ? "" : " ") + std::to_string(as);
  return {r.address(),
          r.tenant().name(),
          r.tenant().id(),
          rail,
          r.contested()   ? "contested"
          : r.installed() ? "yes"
                          : "no",
          VlanText(r.vlan()),
          DistanceText(r.distance()),
          path,
          r.has_plane() ? PlaneText(r.rail_number(), r.plane()) : ""};
}

Row NodeHeader() {
  return {"HOSTNAME", "VERSION", "UPTIME", "BMP", "RDMA", "REPAIRS"};
}

Row NodeRow(const v1::NodeInfo& n, int64_t now_ms) {
  return {n.hostname(),
          n.version(),
          Age(Milliseconds(n.started()), now_ms),
          n.bmp_up() ? "up" : "down",
          RdmaText(n.rdma()),
          std::to_string(n.repairs())};
}

Row HealthHeader() {
  return {"PART", "STATE", "PROBLEM"};
}

Row HealthRow(const v1::HealthPart& p) {
  return {p.part(), p.ok() ? "ok" : "failed", p.problem()};
}

Row FrontendHeader() {
  return {"LINK", "BGP", "TOLD", "DEFAULT", "RECEIVED", "PROBLEM"};
}

Row FrontendRow(const v1::NodeInfo& node, const v1::FrontendLink& link) {
  const auto joined = [](const auto& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
    return text;
  };
  const int own = node.frontend_addresses_size();
  const bool up = link.bgp_problem().empty();
  std::string problem = link.bgp_problem();
  if (up && !link.not_told().empty()) problem = "not told: " + joined(link.not_told());
  if (!link.leaked().empty()) problem = "LEAKED: " + joined(link.leaked());
  return {link.name(),
          link.bgp_state(),
          std::to_string(up ? own - link.not_told_size() : 0) + "/" + std::to_string(own),
          joined(link.default_routes()),
          std::to_string(link.prefixes_received()),
          problem};
}

Row TenantHeader() {
  return {"TENANT", "TENANT-ID", "NAMESPACES", "ATTACHMENTS", "RAILS", "REMOTES", "CONFIGURED", "VLAN"};
}

Row TenantRow(const v1::TenantSummary& t, Lists lists) {
  return {t.tenant().name(),
          t.tenant().id(),
          Joined(t.namespaces(), lists),
          std::to_string(t.attachments()),
          Joined(t.rails(), lists),
          std::to_string(t.remotes()),
          t.configured() ? "yes" : "no",
          VlanText(t.vlan())};
}

Row RuleHeader() {
  return {"NAMESPACE", "POD",     "IFNAME", "RAIL",  "TABLE",  "PRIORITY",
          "KIND",      "PACKETS", "BYTES",  "MATCH", "ACTIONS"};
}

Row RuleRow(const v1::Attachment& a, const v1::RuleStats& r) {
  return {a.pod().namespace_(),
          a.pod().name(),
          a.ifname(),
          a.rail(),
          std::to_string(r.table()),
          std::to_string(r.priority()),
          r.kind(),
          std::to_string(r.packets()),
          std::to_string(r.bytes()),
          r.match(),
          r.actions()};
}

Row MegaflowHeader() {
  return {"NAMESPACE", "POD",   "IFNAME", "RAIL",  "DIRECTION", "WHERE",
          "PACKETS",   "BYTES", "USED",   "MATCH", "ACTIONS",   "WHY-NOT-IN-HARDWARE"};
}

Row MegaflowRow(const v1::Attachment& a, const v1::Megaflow& f) {
  const char* where = "software";
  if (f.place() == v1::Megaflow::HARDWARE) where = "hardware";
  if (f.place() == v1::Megaflow::TC) where = "tc";
  return {a.pod().namespace_(),
          a.pod().name(),
          a.ifname(),
          a.rail(),
          f.direction() == v1::Megaflow::FROM_POD ? "from" : "to",
          where,
          std::to_string(f.packets()),
          std::to_string(f.bytes()),
          f.used(),
          f.match(),
          f.actions(),
          f.why_not()};
}

Row CheckHeader() {
  return {"NAMESPACE", "POD", "IFNAME", "RAIL", "CHECK", "PROBLEM"};
}

std::vector<Row> CheckRows(const v1::CheckedAttachment& c) {
  const v1::Attachment& a = c.attachment();
  const auto row = [&](const char* check, const std::string& problem) {
    return Row{a.pod().namespace_(), a.pod().name(), a.ifname(), a.rail(), check, problem};
  };
  std::vector<Row> rows;
  for (const std::string& problem : c.problems()) rows.push_back(row("failed", problem));
  if (rows.empty()) rows.push_back(row("ok", ""));
  return rows;
}

std::vector<std::string> CheckRemedies(const v1::CheckResponse& response) {
  std::vector<std::string> remedies;
  for (const v1::CheckedAttachment& each : response.attachments()) {
    for (const v1::CheckProblem& problem : each.details()) {
      if (!problem.fix().empty() && std::ranges::find(remedies, problem.fix()) == remedies.end())
        remedies.push_back(problem.fix());
    }
  }
  return remedies;
}

std::string StepText(const v1::TraceStep& s, bool decides) {
  std::string name = std::to_string(s.table()) + " " + s.table_name();
  name.resize(std::max<size_t>(name.size(), 13), ' ');
  const std::string words = (decides ? "> " : "  ") + name + "  " + s.words() + "\n" + std::string(19, ' ');
  if (!s.matched()) return words + "no rule matches\n";
  const v1::RuleStats& r = s.rule();
  return words + "priority=" + std::to_string(r.priority()) + (r.match().empty() ? "" : "," + r.match()) +
         " actions=" + r.actions() + " cookie=" + r.cookie() + " (" + r.kind() + ")\n";
}

std::string Age(int64_t since_ms, int64_t now_ms) {
  const int64_t s = std::max<int64_t>(0, now_ms - since_ms) / 1000;
  const int64_t m = s / 60;
  const int64_t h = m / 60;
  const int64_t d = h / 24;
  const auto text = [](int64_t big, const char* unit, int64_t small, const char* small_unit) {
    return std::to_string(big) + unit + (small == 0 ? "" : std::to_string(small) + small_unit);
  };
  if (s < 120) return text(s, "s", 0, "");
  if (m < 10) return text(m, "m", s % 60, "s");
  if (h < 3) return text(m, "m", 0, "");
  if (h < 8) return text(h, "h", m % 60, "m");
  if (h < 48) return text(h, "h", 0, "");
  if (d < 8) return text(d, "d", h % 24, "h");
  return text(d, "d", 0, "");
}

}  // namespace rail::railctl
