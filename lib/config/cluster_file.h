// The node.json of a whole cluster: the plain keys, rules for what differs, and from it the plain node.json of each node.
//
// Use:      RAIL_ASSIGN(const ClusterFile file, ClusterFile::Load("/config/node.json"));
//           RAIL_ASSIGN(Resolved one, file.Resolve({.name = "gpu-a17", .ip = ip}, uplinks));   // one.text, one.config
// Threads:  values
// Source:   README.md of this folder ("One file for all nodes")
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/strict_json.h"
#include "lib/config/node_config.h"

namespace rail::config {

// What the file can ask of a node.
struct NodeFacts {
  std::string name;
  std::optional<IpAddress> ip;  // as Kubernetes knows it (status.hostIP); nothing: not known
  std::optional<std::map<std::string, std::string>> labels;  // nothing: not known
};

struct Resolved {
  std::string text;  // the plain node.json, for people and programs
  NodeConfig config;
  // Rail -> what the file says for its pf: the link's name, or the PCI address that led to it.
  std::map<std::string, std::string> pf_as_written;
};

// The link that is the uplink of a PCI address. Errors: no such device; it has no link, or several.
using FindUplink = std::function<Result<std::string>(const std::string& pci_address)>;
// For a file that is resolved elsewhere than on its nodes: a name that no other address gets.
Result<std::string> UplinkElsewhere(const std::string& pci_address);

// The value of bgp.<key> if it is an object, from which the node's own is made; else nullptr.
nlohmann::json* DerivedAt(nlohmann::json& document, const char* key);
// bgp.asn and bgp.router_id, where the file says how to make them of the node: "asn": {"base": 4200000000, "from": "node_ip"} becomes
// "asn": 4200002570. What cannot be derived stays, and `errors` says why, with the key's path.
void Derive(nlohmann::json& document, const NodeFacts& node, JsonErrors& errors);
// Whether the document needs labels of the node for either key.
bool DerivesFromLabels(const nlohmann::json& document);

class ClusterFile {
 public:
  // Errors: kInvalid; the message names every key that is wrong in whatever node: unknown keys, wrong types and ranges, also
  // those of rules that no node matches.
  static Result<ClusterFile> Parse(std::string_view text, const std::string& name = "node.json");
  // The same from a file. Errors: also kNotFound, kPermission.
  static Result<ClusterFile> Load(const std::string& path);

  // Whether a node can be resolved only with its labels.
  bool needs_labels() const { return needs_labels_; }

  // The same file with one more rule for `node`, the last one: what is in `path`, in place of "set". Errors: as Load.
  Result<ClusterFile> WithOverride(const std::string& node, const std::string& path) const;

  // The plain file of one node. Errors: kInvalid; the message names the node, the keys, and the rules that have set them.
  Result<Resolved> Resolve(const NodeFacts& node, const FindUplink& find_uplink) const;

 private:
  struct Rule {
    std::string place;  // of `set` in the file: "rules[2].set"
    std::string node;   // a shell pattern for the name; "": any
    std::map<std::string, std::string> labels;
    std::shared_ptr<const nlohmann::json> set;
  };
  // What is wrong with the rule on whatever node.
  std::vector<std::string> ProblemsOfRule(const Rule& rule) const;
  ClusterFile() = default;
  static Result<ClusterFile> FromDocument(const nlohmann::json& document, const std::string& name);
  void ReadRules(const nlohmann::json& list, JsonErrors& errors);
  bool Matches(const Rule& rule, const NodeFacts& node) const;

  std::string name_;  // of the file, for errors
  std::shared_ptr<const nlohmann::json> base_;
  std::vector<Rule> rules_;
  bool needs_labels_ = false;
};

}  // namespace rail::config
