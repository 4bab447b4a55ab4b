#include "lib/inspect/doctor/causes.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "lib/inspect/select.h"

namespace rail::inspect {
namespace {

// What follows where the node does not hear a rail's leaf, beside `more`.
std::vector<std::string_view> WithoutLeaf(std::vector<std::string_view> more) {
  more.insert(more.end(), {"no-leaf-neighbour", "bgp-session-down", "vlan-session-down", "bgp-hold-timer",
                           "leaf-silent", "firewall-drops-bgp", "part-failing:leaf", "device-unhealthy"});
  return more;
}

}  // namespace

// One line for each cause: what it takes with it.
std::span<const Cause> Causes() {
  using enum Scope;
  static const std::vector<Cause> table = {
      {"record-no-space",
       kNode,
       {"record-unreadable", "part-failing:state", "part-failing:writing the record",
        "part-failing:tenants of namespaces"}},
      {"config-unreadable", kNode, {"raild-cannot-start", "raild-down"}},
      {"certificate-unreadable", kNode, {"raild-cannot-start", "raild-down"}},
      {"raild-cannot-start", kNode, {"raild-down"}},
      {"raild-down", kNode, {"pending-work", "add-died", "delete-unfinished", "tenant-changed"}},
      {"record-unreadable",
       kNode,
       {"raild-down", "rules-unknown", "part-failing:state", "part-failing:rail", "part-failing:bgp",
        "part-failing:devices of pods", "part-failing:writing the record"}},
      {"ovsdb-down",
       kNode,
       {"rules-unknown", "rules-missing", "port-not-working", "pending-work:port", "pending-work:adopt",
        "pending-work:admit", "pending-work:tenant", "part-failing:rail", "part-failing:leaf",
        "part-failing:flow limit"}},
      {"vswitchd-down", kNode,
       WithoutLeaf({"rules-unknown", "rules-missing", "port-not-working", "uplink-not-working",
                    "local-no-link-local", "pending-work:port", "pending-work:adopt", "pending-work:admit",
                    "pending-work:tenant", "part-failing:rail", "part-failing:sysctls",
                    "part-failing:flow limit"})},
      {"bgpd-down",
       kNode,
       {"pending-work:announce", "part-failing:front end", "part-failing:bgp", "part-failing:bgp feed",
        "part-failing:bgp remotes", "part-failing:addresses of pods"}},
      {"bmp-missing", kNode, {"part-failing:bgp feed"}},
      {"links-unknown",
       kNode,
       {"rules-unknown", "part-failing:rail", "part-failing:leaf", "part-failing:uplink", "part-failing:NIC",
        "pods-not-looked-into"}},
      {"namespaces-not-visible",
       kNode,
       {"pods-not-looked-into", "part-failing:namespaces of pods", "part-failing:devices of pods"}},
      {"record-lost", kNode, {"foreign-port", "part-failing:record", "part-failing:rail"}},
      {"prefixes-above-limit", kNode, {"part-failing:bgp prefixes"}},
      {"prefixes-near-limit", kNode, {"part-failing:bgp prefixes"}},
      {"own-address-announced-elsewhere", kNode, {"part-failing:addresses of pods"}},
      {"zebra-down", kNode, {"no-leaf-neighbour", "frontend-default-route", "part-failing:leaf"}},
      {"frontend-not-redundant", kNode, {"frontend-session-down"}},
      {"mtu-too-small", kRail, {"leaf-mtu-too-small"}},
      {"uplink-missing", kRail,
       WithoutLeaf({"nic-reset", "nic-without-vfs", "nic-not-in-switchdev", "bridge-missing",
                    "uplink-not-in-bridge", "uplink-not-working", "device-lost", "port-not-working",
                    "rules-unknown", "rules-missing", "withdrawn", "part-failing:rail", "part-failing:uplink",
                    "part-failing:NIC", "part-failing:QoS", "lossless-unknown", "part-failing:sysctls"})},
      {"lossless-unknown", kRail, {"part-failing:QoS"}},
      {"rates-refused", kRail, {"rates-differ"}},
      {"nic-without-vfs",
       kRail,
       {"nic-reset", "device-lost", "device-unhealthy", "port-not-working", "part-failing:NIC"}},
      {"nic-not-in-switchdev",
       kRail,
       {"nic-reset", "device-lost", "device-unhealthy", "port-not-working", "part-failing:NIC"}},
      {"nic-reset", kRail, {"device-lost", "port-not-working", "part-failing:rail", "part-failing:NIC"}},
      {"bridge-missing", kRail,
       WithoutLeaf({"rules-unknown", "rules-missing", "port-not-working", "local-no-link-local",
                    "vlan-port-missing", "part-failing:rail", "part-failing:sysctls"})},
      {"fail-mode-not-secure", kRail, {"rules-unknown", "rules-missing", "part-failing:rail"}},
      {"in-band-rules", kRail, {"rules-unknown", "rules-missing", "part-failing:rail"}},
      {"uplink-down", kRail, WithoutLeaf({"withdrawn", "part-failing:rail", "part-failing:uplink"})},
      {"uplink-without-carrier", kRail,
       WithoutLeaf({"withdrawn", "part-failing:rail", "part-failing:uplink"})},
      {"cable-in-other-leaf",
       kRail,
       {"no-leaf-neighbour", "bgp-session-down", "vlan-session-down", "bgp-hold-timer", "leaf-silent",
        "leaf-refuses-bgp", "leaf-rejects-bgp", "bgp-wrong-as", "part-failing:leaf"}},
      {"rail-in-other-plane", kRail, {"leaf-in-two-planes"}},
      {"uplink-not-in-bridge", kRail, WithoutLeaf({"rules-unknown", "rules-missing", "part-failing:rail"})},
      {"uplink-not-working", kRail, WithoutLeaf({"rules-unknown", "rules-missing", "part-failing:rail"})},
      {"local-ipv6-disabled", kRail, WithoutLeaf({"part-failing:sysctls"})},
      {"local-no-link-local", kRail, WithoutLeaf({})},
      {"no-leaf-neighbour", kRail, {"bgp-session-down", "part-failing:leaf", "device-unhealthy"}},
      {"bgp-session-down", kRail, {"device-unhealthy"}},
      {"vf-of-two-owners", kRail, {"device-unhealthy"}},
      {"vlan-port-missing", kRail, {"part-failing:leaf", "part-failing:bgp"}},
      {"vlan-vrf-missing", kRail, {"part-failing:leaf", "part-failing:bgp"}},
      {"vlan-session-down", kRail, {"part-failing:leaf"}},
      {"device-lost", kRail, {"part-failing:rail", "device-unhealthy"}},
      {"port-not-working", kRail, {"part-failing:rail"}},
      {"representor-down", kRail, {"part-failing:representors"}},
      {"rules-unknown", kRail, {"part-failing:rail"}},
      {"rules-missing", kRail, {"part-failing:rail"}},
      {"vlan-vrf-missing", kAttachment, {"vlan-session-down"}},  // of the same VLAN
      {"vlan-port-missing", kAttachment, {"vlan-session-down"}},
      {"device-lost", kNode, {"part-failing:devices of pods"}},
      {"device-lost", kAttachment, {"port-not-working", "rules-missing", "withdrawn", "not-announced"}},
      {"representor-down", kAttachment, {"attachment-differs"}},
      {"attachment-differs", kAttachment, {"representor-without-carrier"}},
      {"port-not-working", kAttachment, {"rules-missing", "attachment-differs"}},
  };
  return table;
}

namespace {

// The nouns of FollowsInShort. What is not here is counted by what it concerns.
struct Noun {
  std::string_view id, one, many;
};
constexpr std::array kNouns = {Noun{"bgp-session-down", "session", "sessions"},
                               Noun{"vlan-session-down", "session", "sessions"},
                               Noun{"bgp-hold-timer", "session", "sessions"},
                               Noun{"leaf-silent", "session", "sessions"},
                               Noun{"firewall-drops-bgp", "session", "sessions"},
                               Noun{"part-failing", "part of raild", "parts of raild"}};

bool Names(std::string_view entry, const Finding& finding) {
  if (!entry.starts_with(finding.id)) return false;
  entry.remove_prefix(finding.id.size());
  return entry.empty() || (entry.front() == ':' && entry.substr(1) == finding.aspect);
}

class Tree {
 public:
  Tree(std::vector<Finding> found, const NodeFacts& facts) : found_(std::move(found)) {
    std::map<std::string, const state::Attachment*> attachments;
    for (const engine::AttachmentView& a : facts.view.attachments)
      attachments.emplace(Name(a.attachment), &a.attachment);
    for (size_t i = 0; i < found_.size(); ++i) {
      Place(found_[i], facts.config, attachments);
      by_id_[found_[i].id].push_back(i);
    }
    below_.resize(found_.size());
  }

  std::vector<Finding> Roots() {
    std::vector<size_t> roots;
    for (size_t i = 0; i < found_.size(); ++i) {
      const auto cause = CauseOf(found_[i]);
      (cause ? below_[*cause] : roots).push_back(i);
    }
    return Assemble(roots);
  }

 private:
  static void Place(Finding& finding, const config::NodeConfig& config,
                    const std::map<std::string, const state::Attachment*>& attachments) {
    if (const auto found = attachments.find(finding.subject); found != attachments.end()) {
      finding.scope = Scope::kAttachment;
      finding.rail = found->second->rail;
      finding.attachment = found->second->id;
      return;
    }
    if (config.FindRail(finding.subject) != nullptr) finding.rail = finding.subject;
    if (!finding.rail.empty()) finding.scope = Scope::kRail;
  }

  static bool Reaches(Scope scope, const Finding& cause, const Finding& finding) {
    if (scope == Scope::kAttachment) return cause.subject == finding.subject;
    return scope == Scope::kNode || (!cause.rail.empty() && cause.rail == finding.rail);
  }

  std::optional<size_t> CauseOf(const Finding& finding) const {
    for (const Scope scope : {Scope::kAttachment, Scope::kRail, Scope::kNode}) {
      for (const Cause& row : Causes()) {
        const auto there = by_id_.find(row.id);
        if (row.scope != scope || there == by_id_.end()) continue;
        if (std::ranges::none_of(row.follows, [&](std::string_view entry) { return Names(entry, finding); }))
          continue;
        for (const size_t i : there->second) {
          if (Reaches(scope, found_[i], finding)) return i;
        }
      }
    }
    return std::nullopt;
  }

  // A cause on which others of the node depend comes before rails; a certificate, on which none does, after them.
  static int Nearness(const Finding& finding) {
    if (finding.scope == Scope::kAttachment) return 2;
    if (finding.scope == Scope::kRail) return 1;
    const bool is_cause =
        std::ranges::any_of(Causes(), [&](const Cause& row) { return row.id == finding.id; });
    return is_cause ? 0 : 3;
  }

  std::vector<Finding> Assemble(const std::vector<size_t>& indexes) {
    const std::span<const std::string_view> kinds = KindsOfFindings();
    std::vector<std::pair<std::tuple<int, int, int64_t, int64_t, std::string>, Finding>> keyed;
    for (const size_t i : indexes) {
      Finding finding = std::move(found_[i]);
      finding.follows = Assemble(below_[i]);
      for (const Finding& each : finding.follows)
        finding.severity = std::max(finding.severity, each.severity);
      auto key =
          std::tuple(-static_cast<int>(finding.severity), Nearness(finding),
                     -static_cast<int64_t>(CountFollows(finding)),
                     std::ranges::find(kinds, std::string_view(finding.id)) - kinds.begin(), finding.subject);
      keyed.emplace_back(std::move(key), std::move(finding));
    }
    std::ranges::stable_sort(keyed, {}, [](const auto& each) -> const auto& { return each.first; });
    std::vector<Finding> ordered;
    for (auto& [key, finding] : keyed) ordered.push_back(std::move(finding));
    return ordered;
  }

  std::vector<Finding> found_;
  std::map<std::string, std::vector<size_t>, std::less<>> by_id_;
  std::vector<std::vector<size_t>> below_;  // by index: what hangs on it
};

using Things = std::map<std::pair<std::string_view, std::string_view>,
                        std::set<std::string>>;  // (one, many) -> subjects

void Collect(const Finding& finding, Things& things) {
  for (const Finding& each : finding.follows) {
    const auto* noun = std::ranges::find(kNouns, std::string_view(each.id), &Noun::id);
    std::pair<std::string_view, std::string_view> name = {"more finding", "more findings"};
    if (noun != kNouns.end()) {
      name = {noun->one, noun->many};
    } else if (each.scope == Scope::kAttachment) {
      name = {"attachment", "attachments"};
    } else if (each.scope == Scope::kRail) {
      name = {"rail", "rails"};
    }
    things[name].insert(each.subject);
    Collect(each, things);
  }
}

}  // namespace

std::vector<Finding> CausesFirst(std::vector<Finding> found, const NodeFacts& facts) {
  return Tree(std::move(found), facts).Roots();
}

size_t CountFollows(const Finding& finding) {
  size_t count = finding.follows.size();
  for (const Finding& each : finding.follows) count += CountFollows(each);
  return count;
}

std::string FollowsInShort(const Finding& finding) {
  Things things;
  Collect(finding, things);
  std::string text;
  for (const std::string_view first : {"session", "attachment", "rail", "part of raild", "more finding"}) {
    for (const auto& [name, subjects] : things) {
      if (name.first != first) continue;
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", subjects.size(),
                          subjects.size() == 1 ? name.first : name.second);
    }
  }
  return text;
}

}  // namespace rail::inspect
