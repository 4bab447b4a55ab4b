// node.json as bytes: any of them give a configuration that keeps its own promises, or kInvalid with a
// message.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "lib/config/node_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto node = rail::config::Parse({reinterpret_cast<const char*>(data), size});
  if (!node) {
    if (node.error().code != rail::Code::kInvalid || node.error().message.empty()) std::abort();
    return 0;
  }
  if (node->rails.empty() || node->bgp.asn == 0 || node->bgp.router_id.is_v6()) std::abort();
  for (const auto& rail : node->rails) {
    if (node->FindRail(rail.name) != &rail || rail.index > 99 || rail.mtu < 1280 || rail.mtu > 9600)
      std::abort();
    for (const auto& entry : rail.devices) {
      if (rail.FindDevice(entry.device) != &entry) std::abort();
    }
  }
  return 0;
}
