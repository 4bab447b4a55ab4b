// A node.json that has what is required and one section more.
//
// Use:      EXPECT_THAT(ProblemsWith("bursts", R"({"every_ms": 4})", node), ElementsAre(HasSubstr("bursts.every_ms")));
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/config/keys.h"
#include "lib/config/node_config.h"

namespace rail::config::testing {

inline nlohmann::json Minimal() {
  return nlohmann::json::parse(R"({"rails": [{"name": "rail0", "index": 0, "pf": "p0", "bridge": "br0"}],
    "cluster": "c", "bgp": {"asn": 1, "router_id": "10.0.0.1", "community_asn": 1}})");
}

// What is wrong with the document; if nothing is, `node` is what it says.
inline std::vector<std::string> Problems(const nlohmann::json& document, NodeConfig& node) {
  std::vector<std::string> problems;
  for (const JsonError& problem : ProblemsOf(document)) problems.push_back(problem.ToText());
  if (auto parsed = Parse(document.dump())) node = std::move(*parsed);
  return problems;
}

inline std::vector<std::string> ProblemsWith(const char* key, const nlohmann::json& section,
                                             NodeConfig& node) {
  nlohmann::json document = Minimal();
  document[key] = section;
  return Problems(document, node);
}

}  // namespace rail::config::testing
