// The node.json for all nodes as bytes: any of them give a file for a node that the plain reader takes, or kInvalid with a message.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "lib/config/cluster_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace config = rail::config;
  const auto is_refusal = [](const rail::Error& error) {
    return error.code == rail::Code::kInvalid && !error.message.empty();
  };
  const auto file = config::ClusterFile::Parse({reinterpret_cast<const char*>(data), size});
  if (!file) {
    if (!is_refusal(file.error())) std::abort();
    return 0;
  }
  const config::NodeFacts node{.name = "gpu-b7",
                               .ip = *rail::IpAddress::Parse("10.0.3.7"),
                               .labels = {{{"rack", "r17"}, {"asn", "65001"}}}};
  const auto resolved = file->Resolve(node, config::UplinkElsewhere);
  if (!resolved) {
    if (!is_refusal(resolved.error())) std::abort();
    return 0;
  }
  if (!config::Parse(resolved->text) || resolved->config.bgp.asn == 0) std::abort();
  return 0;
}
