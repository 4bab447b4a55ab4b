#include "cmd/railctl/accept/casting.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "lib/base/parse.h"
#include "lib/base/strict_json.h"
#include "lib/base/text.h"
#include "lib/kubernetes/objects.h"
#include "lib/kubernetes/resource_api.h"

namespace rail::accept {
namespace {

using kubernetes::At;
using kubernetes::FindCondition;
using kubernetes::TextAt;
using nlohmann::json;

constexpr const char* kUnit = "railcni.io/su";
constexpr const char* kResource = "k8s.v1.cni.cncf.io/resourceName";
constexpr size_t kOfEachUnit = 2;
constexpr size_t kMostUnlabelled = 16;
constexpr size_t kMostReasons = 3;

// The rail of a network of ours; "": it is another's.
std::string RailOf(const json& definition) {
  const auto config = ParseJson(TextAt(definition, {"spec", "config"}));
  if (!config) return "";
  const json& plugins = At(*config, {"plugins"});
  const json alone = json::array({*config});
  for (const json& plugin : plugins.is_array() ? plugins : alone)
    if (TextAt(plugin, {"type"}) == "ovs-provider") return TextAt(plugin, {"rail"});
  return "";
}

bool InDefault(const Network& network) {
  return network.name.starts_with("default/");
}

// Why the node cannot take the pods; "": it can.
std::string ReasonAgainst(const json& node, const std::map<std::string, size_t>& needed) {
  if (TextAt(FindCondition(node, "Ready"), {"status"}) != "True") return "it is not Ready";
  if (At(node, {"spec", "unschedulable"}) == json(true)) return "it is cordoned";
  for (const auto& [resource, devices] : needed) {
    const auto has = Number<size_t>(TextAt(node, {"status", "allocatable", resource.c_str()})).value_or(0);
    if (has < devices) return fmt::format("it has {} of {}, and {} are needed", has, resource, devices);
  }
  return "";
}

class Candidates {
 public:
  Candidates(const std::vector<json>& nodes, const std::vector<Network>& networks) {
    std::map<std::string, size_t> needed;
    for (const Network& network : networks) needed[network.resource] += kTenants;
    for (const json& node : nodes) {
      const std::string name = TextAt(node, {"metadata", "name"});
      if (const std::string reason = ReasonAgainst(node, needed); !reason.empty()) {
        against_[name] = reason;
        continue;
      }
      units_[TextAt(node, {"metadata", "labels", kUnit})].push_back(name);
    }
    for (auto& [unit, names] : units_) std::ranges::sort(names);
  }

  Result<std::vector<std::string>> These(const std::vector<std::string>& wanted) const {
    std::string wrong;
    for (const std::string& name : wanted) {
      const auto against = against_.find(name);
      if (against != against_.end())
        Append(wrong, "; ", "node " + name + ": " + against->second);
      else if (!Has(name))
        Append(wrong, "; ", "there is no node " + name);
    }
    if (!wrong.empty()) return Fail(Code::kInvalid, "--nodes: " + wrong);
    return wanted;
  }

  Result<std::vector<std::string>> Some() const {
    std::vector<std::string> chosen;
    for (const auto& [unit, names] : units_) {
      if (unit.empty() && names.size() > kMostUnlabelled)
        return Fail(Code::kInvalid,
                    fmt::format("{} nodes have no label {}, so nobody knows which share their leaves: name "
                                "nodes by --nodes, or let raild label them (topology.labels of node.json)",
                                names.size(), kUnit));
      const size_t most = unit.empty() ? names.size() : std::min(names.size(), kOfEachUnit);
      chosen.insert(chosen.end(), names.begin(), names.begin() + static_cast<ptrdiff_t>(most));
    }
    if (chosen.empty()) return Fail(Code::kInvalid, "no node can take the pods" + Reasons());
    return chosen;
  }

 private:
  bool Has(const std::string& name) const {
    return std::ranges::any_of(
        units_, [&](const auto& unit) { return std::ranges::find(unit.second, name) != unit.second.end(); });
  }

  std::string Reasons() const {
    std::string reasons;
    size_t told = 0;
    for (const auto& [name, reason] : against_)
      if (told++ < kMostReasons) Append(reasons, "; ", name + ": " + reason);
    if (told > kMostReasons) reasons += fmt::format("; and {} more", told - kMostReasons);
    return reasons.empty() ? "" : ": " + reasons;
  }

  std::map<std::string, std::vector<std::string>> units_;  // those that can, by unit
  std::map<std::string, std::string> against_;
};

}  // namespace

Result<std::vector<Network>> ChooseNetworks(const std::vector<json>& definitions,
                                            const std::vector<std::string>& wanted) {
  std::map<std::string, Network> chosen;  // by rail
  std::vector<std::string> missing = wanted;
  for (const json& each : definitions) {
    Network network{RailOf(each),
                    TextAt(each, {"metadata", "namespace"}) + "/" + TextAt(each, {"metadata", "name"}),
                    TextAt(each, {"metadata", "annotations", kResource})};
    if (network.rail.empty()) continue;
    if (!wanted.empty() && std::erase(missing, network.name) == 0) continue;
    const auto [there, is_new] = chosen.try_emplace(network.rail, network);
    if (is_new) continue;
    if (!wanted.empty())
      return Fail(Code::kInvalid, "--networks: " + there->second.name + " and " + network.name +
                                      " are both of " + network.rail);
    const auto rank = [](const Network& a) { return std::pair(!InDefault(a), a.name); };
    if (rank(network) < rank(there->second)) there->second = network;
  }
  if (!missing.empty())
    return Fail(Code::kInvalid,
                "--networks: the cluster has no network of ovs-provider named " + Join(missing, ", "));
  if (chosen.empty())
    return Fail(Code::kInvalid,
                "the cluster has no NetworkAttachmentDefinition with ovs-provider: apply one for each rail "
                "(manifests/networks)");
  std::vector<Network> networks;
  for (auto& [rail, network] : chosen) {
    if (network.resource.empty())
      return Fail(Code::kUnsupported, "network " + network.name + " has no annotation " + kResource +
                                          ", by which a pod gets its device: make pods yourself, and name "
                                          "them in a file (--stage)");
    networks.push_back(std::move(network));
  }
  return networks;
}

Result<std::vector<std::string>> ChooseNodes(const std::vector<json>& nodes,
                                             const std::vector<Network>& networks,
                                             const std::vector<std::string>& wanted) {
  const Candidates candidates(nodes, networks);
  return wanted.empty() ? candidates.Some() : candidates.These(wanted);
}

}  // namespace rail::accept
