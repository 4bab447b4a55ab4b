#include "cmd/raild/modes.h"

#include <unistd.h>

#include <cstdio>

#include "cmd/raild/check_node.h"
#include "lib/base/log.h"
#include "lib/config/cluster_nodes.h"

namespace rail::raild {
namespace {

using config::ClusterFile;
using config::NodeFacts;
using config::Resolved;

// The node of the command line, with what its object says.
Result<NodeFacts> FactsOf(const Flags& flags) {
  NodeFacts node;
  if (!flags.node_object.empty()) {
    RAIL_ASSIGN(const std::vector<NodeFacts> nodes, config::ReadNodes(flags.node_object));
    if (nodes.size() != 1 || nodes[0].name != flags.node)
      return Fail(Code::kInvalid, flags.node_object + " is not the object of node " + flags.node);
    node = nodes[0];
  }
  node.name = flags.node;
  if (!flags.node_ip.empty()) {
    RAIL_ASSIGN_AS(node.ip, IpAddress::Parse(flags.node_ip), "--node-ip");
  }
  return node;
}

std::string LineOf(const std::string& name, const Resolved& resolved) {
  std::string rails;
  for (const config::Rail& rail : resolved.config.rails)
    rails += " " + rail.name + "=" + resolved.pf_as_written.at(rail.name);
  return name + "  asn " + std::to_string(resolved.config.bgp.asn) + "  router_id " +
         resolved.config.bgp.router_id.ToString() + " " + rails;
}

// The file with the node's own rule, where there is one.
Result<ClusterFile> FileFor(const ClusterFile& file, const Flags& flags, const std::string& node) {
  const std::string path = flags.overrides + "/" + node + ".json";
  if (flags.overrides.empty() || ::access(path.c_str(), F_OK) != 0) return file;
  return file.WithOverride(node, path);
}

int ResolveAll(const ClusterFile& common, const Flags& flags) {
  const auto nodes = config::ReadNodes(flags.nodes);
  if (!nodes) return Failed(nodes.error());
  std::map<std::string, Resolved> by_node;
  size_t wrong = 0;
  for (const NodeFacts& node : *nodes) {
    const auto file = FileFor(common, flags, node.name);
    auto resolved = file ? file->Resolve(node, config::UplinkElsewhere)
                         : Result<Resolved>(tl::make_unexpected(file.error()));
    if (!resolved) {
      ++wrong;
      (void)Failed(resolved.error());
      continue;
    }
    std::printf("%s\n", LineOf(node.name, *resolved).c_str());
    by_node[node.name] = std::move(*resolved);
  }
  const std::vector<std::string> collisions = config::Collisions(by_node);
  for (const std::string& collision : collisions) log::Error("{}", collision);
  std::printf("%zu nodes, %zu wrong, %zu collisions\n", nodes->size(), wrong, collisions.size());
  return wrong == 0 && collisions.empty() ? 0 : 1;
}

}  // namespace

int Failed(const Error& error) {
  log::Error("{}", error.message);
  return 1;
}

int ResolveConfig(const Flags& flags, const config::FindUplink& find_uplink) {
  const auto common = ClusterFile::Load(flags.resolve_config);
  if (!common) return Failed(common.error());
  if (!flags.nodes.empty()) return ResolveAll(*common, flags);
  const auto file = FileFor(*common, flags, flags.node);
  if (!file) return Failed(file.error());
  const auto node = FactsOf(flags);
  if (!node) return Failed(node.error());
  if (file->needs_labels() && !node->labels) {
    log::Error("{} depends on labels of the node: give its object by --node-object", flags.resolve_config);
    return kNeedsLabels;
  }
  const auto resolved = file->Resolve(*node, find_uplink);
  if (!resolved) return Failed(resolved.error());
  std::fputs(resolved->text.c_str(), stdout);
  return std::fflush(stdout) == 0 ? 0 : 1;
}

int CheckNode(const std::string& file, netlink::Netlink& netlink, const std::string& sysfs) {
  const auto config = config::Load(file);
  if (!config) return Failed(config.error());
  const auto problems = preflight::CheckNode(*config, netlink, sriov::Sysfs(sysfs));
  if (!problems) return Failed(problems.error());
  for (const std::string& problem : *problems) log::Error("{}", problem);
  if (problems->empty()) std::printf("%s: this node has what it names\n", file.c_str());
  return problems->empty() ? 0 : 1;
}

}  // namespace rail::raild
