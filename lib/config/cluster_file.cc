#include "lib/config/cluster_file.h"

#include <fnmatch.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/base/pci_address.h"
#include "lib/base/strict_json.h"
#include "lib/base/text.h"
#include "lib/config/keys.h"
#include "lib/config/overlay.h"

namespace rail::config {
namespace {

using nlohmann::json;

// What is one value for the whole file would be the same on every node.
constexpr std::initializer_list<const char*> kOfOneNode = {"asn", "router_id"};

// Errors of `overlay`'s document, each with the rule that has set what is wrong.
void AddProblems(const std::vector<JsonError>& problems, const Overlay& overlay,
                 std::vector<std::string>& all) {
  for (const JsonError& problem : problems) {
    const std::string origin = overlay.OriginOf(problem.path);
    all.push_back(problem.ToText() + (origin.empty() ? "" : " (set by " + origin + ")"));
  }
}

// Wrong on whatever node: not what another rule may still add.
bool IsWrongAnywhere(const JsonError& problem) {
  return problem.kind == JsonError::Kind::kValue;
}

// Stand-ins for what differs from node to node, so that the plain reader judges the rest.
void StandIn(json& document) {
  if (json* asn = DerivedAt(document, "asn")) *asn = 1U;
  if (json* router_id = DerivedAt(document, "router_id")) *router_id = "0.0.0.1";
}

// The uplinks by their PCI addresses. Errors are added with the paths of the keys.
std::map<std::string, std::string> FindUplinks(json& document, const FindUplink& find, JsonErrors& errors) {
  std::map<std::string, std::string> written;
  const auto rails = document.find("rails");
  if (rails == document.end() || !rails->is_array()) return written;
  for (size_t i = 0; i < rails->size(); ++i) {
    json& rail = (*rails)[i];
    if (!rail.is_object() || !rail.contains("pf") || !rail["pf"].is_string()) continue;
    const auto pf = rail["pf"].get<std::string>();
    if (rail.contains("name") && rail["name"].is_string()) written[rail["name"].get<std::string>()] = pf;
    if (!IsPciAddress(pf)) continue;
    auto link = find(pf);
    if (link) {
      rail["pf"] = *link;
    } else {
      errors.Add("rails[" + std::to_string(i) + "].pf", link.error().message);
      rail["pf"] = *UplinkElsewhere(pf);  // one error is enough
    }
  }
  return written;
}

}  // namespace

Result<std::string> UplinkElsewhere(const std::string& pci_address) {
  std::string name = pci_address;
  std::erase(name, ':');  // a link's name has no ':' and at most 15 bytes
  return name;
}

Result<ClusterFile> ClusterFile::Parse(std::string_view text, const std::string& name) {
  RAIL_ASSIGN_AS(const json document, ParseJson(text), name);
  return FromDocument(document, name);
}

Result<ClusterFile> ClusterFile::Load(const std::string& path) {
  RAIL_ASSIGN_AS(const json document, ReadJsonFile(path), "read the configuration of all nodes");
  return FromDocument(document, path);
}

Result<ClusterFile> ClusterFile::FromDocument(const json& document, const std::string& name) {
  ClusterFile file;
  file.name_ = name;
  if (!document.is_object())
    return Fail(Code::kInvalid, name + ": must be an object, not " + document.type_name());
  json base = document;
  base.erase("rules");
  file.base_ = std::make_shared<const json>(base);
  JsonErrors errors;
  JsonObject root(document, "", errors);
  if (const json* rules = root.Array("rules")) file.ReadRules(*rules, errors);
  file.needs_labels_ = DerivesFromLabels(base) || std::ranges::any_of(file.rules_, [](const Rule& rule) {
                         return !rule.labels.empty() || DerivesFromLabels(*rule.set);
                       });

  std::vector<std::string> problems = errors.list();
  StandIn(base);
  Overlay plain(base);
  JsonErrors uplinks;
  (void)FindUplinks(plain.document(), UplinkElsewhere, uplinks);
  std::vector<JsonError> wrong = ProblemsOf(plain.document());
  std::erase_if(wrong, [](const JsonError& problem) { return !IsWrongAnywhere(problem); });
  AddProblems(wrong, plain, problems);
  for (const Rule& rule : file.rules_) {
    const std::vector<std::string> of_rule = file.ProblemsOfRule(rule);
    problems.insert(problems.end(), of_rule.begin(), of_rule.end());
  }
  if (!problems.empty()) return Fail(Code::kInvalid, name + ": " + Join(problems, "; "));
  return file;
}

std::vector<std::string> ClusterFile::ProblemsOfRule(const Rule& rule) const {
  Overlay merged(*base_);
  JsonErrors merging;
  merged.Merge(*rule.set, rule.place, merging);
  std::vector<std::string> problems = merging.list();
  JsonErrors uplinks;
  StandIn(merged.document());
  (void)FindUplinks(merged.document(), UplinkElsewhere, uplinks);
  for (const JsonError& problem : ProblemsOf(merged.document())) {
    if (IsWrongAnywhere(problem) && !merged.OriginOf(problem.path).empty())
      AddProblems({problem}, merged, problems);
  }
  return problems;
}

Result<ClusterFile> ClusterFile::WithOverride(const std::string& node, const std::string& path) const {
  RAIL_ASSIGN_AS(json set, ReadJsonFile(path), "read what is only for node " + node);
  if (!set.is_object()) return Fail(Code::kInvalid, path + ": must be an object, not " + set.type_name());
  if (set.contains("rules")) return Fail(Code::kInvalid, path + ": rules: unknown key");
  ClusterFile file = *this;
  file.needs_labels_ = needs_labels_ || DerivesFromLabels(set);
  file.rules_.push_back(
      {.place = path, .node = node, .labels = {}, .set = std::make_shared<const json>(std::move(set))});
  const std::vector<std::string> problems = file.ProblemsOfRule(file.rules_.back());
  if (!problems.empty()) return Fail(Code::kInvalid, path + ": " + Join(problems, "; "));
  return file;
}

void ClusterFile::ReadRules(const json& list, JsonErrors& errors) {
  for (size_t i = 0; i < list.size(); ++i) {
    JsonObject object(list[i], "rules[" + std::to_string(i) + "]", errors);
    Rule rule{.place = object.PathOf("set"), .node = {}, .labels = {}, .set = {}};
    if (const json* where = object.Object("where")) {
      JsonObject conditions(*where, object.PathOf("where"), errors);
      rule.node = conditions.StringOr("node", "");
      if (const json* labels = conditions.Object("label")) {
        JsonObject each(*labels, conditions.PathOf("label"), errors);
        for (const auto& [key, unused] : labels->items()) rule.labels[key] = each.String(key);
      }
      conditions.RejectUnknown();
      if (rule.node.empty() && rule.labels.empty())
        errors.Add(object.PathOf("where"),
                   R"(must have "node" (a name or pattern) or "label"; what all nodes share needs no rule)");
    } else if (!object.Has("where")) {
      errors.Add(object.PathOf("where"), "is missing: it says on which nodes the rule holds");
    }
    const json* set = object.Object("set");
    if (set == nullptr && !object.Has("set")) errors.Add(object.PathOf("set"), "is missing");
    if (set != nullptr && set->contains("rules"))
      errors.AddValue(object.PathOf("set") + ".rules", "unknown key");
    object.RejectUnknown();
    rule.set = std::make_shared<const json>(set == nullptr ? json::object() : *set);
    rules_.push_back(std::move(rule));
  }
}

bool ClusterFile::Matches(const Rule& rule, const NodeFacts& node) const {
  if (!rule.node.empty() && ::fnmatch(rule.node.c_str(), node.name.c_str(), FNM_NOESCAPE) != 0) return false;
  return std::ranges::all_of(rule.labels, [&](const auto& wanted) {
    if (!node.labels) return false;
    const auto label = node.labels->find(wanted.first);
    return label != node.labels->end() && label->second == wanted.second;
  });
}

Result<Resolved> ClusterFile::Resolve(const NodeFacts& node, const FindUplink& find_uplink) const {
  const std::string name = name_ + ", for node " + node.name;
  if (needs_labels_ && !node.labels) {
    return Fail(Code::kInvalid, name + ": it depends on the node's labels, and they are not known");
  }
  JsonErrors errors;
  Overlay overlay(*base_);
  std::string matched;
  for (const Rule& rule : rules_) {
    if (!Matches(rule, node)) continue;
    overlay.Merge(*rule.set, rule.place, errors);
    Append(matched, ", ", rule.place);
  }
  json& document = overlay.document();
  for (const char* key : kOfOneNode) {
    const std::string path = std::string("bgp.") + key;
    const auto bgp = document.find("bgp");
    if (bgp == document.end() || !bgp->is_object() || !bgp->contains(key)) continue;
    if (!(*bgp)[key].is_object() && overlay.OriginOf(path).empty()) {
      errors.Add(
          path, DumpJson((*bgp)[key]) +
                    R"( would be that of every node: write {"from": ...}, or set it by a rule for the node)");
    }
  }
  Derive(document, node, errors);
  std::vector<std::string> problems;
  auto written = FindUplinks(document, find_uplink, errors);
  AddProblems(errors.all(), overlay, problems);
  StandIn(document);  // only where that has failed: one error is enough
  AddProblems(ProblemsOf(document), overlay, problems);
  if (!problems.empty()) {
    return Fail(Code::kInvalid,
                name + ": " + Join(problems, "; ") +
                    (matched.empty() ? " (no rule matches this node)" : " (in force: " + matched + ")"));
  }
  Resolved resolved;
  resolved.text = document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
  RAIL_ASSIGN_AS(resolved.config, config::Parse(resolved.text), name);
  resolved.pf_as_written = std::move(written);
  return resolved;
}

}  // namespace rail::config
