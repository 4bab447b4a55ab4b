#include "lib/inspect/lossless.h"

namespace rail::inspect {

Status LookAtLossless(NodeFacts& facts, const engine::Openers& openers) {
  for (const config::Rail& rail : facts.config.rails) {
    if (!rail.lossless) continue;
    facts.rails[rail.name].lossless = qos::Compare(*rail.lossless, rail.pf, engine::LookAtQos(openers, rail));
  }
  return {};
}

void TakeLossless(NodeFacts& facts, NodeFacts& seen, const Status& looked) {
  for (const config::Rail& rail : facts.config.rails) {
    if (!rail.lossless) continue;
    if (looked) {
      facts.rails[rail.name].lossless = std::move(seen.rails[rail.name].lossless);
      continue;
    }
    engine::Openers nothing;
    nothing.dcb = [&looked]() -> Result<std::unique_ptr<netlink::Dcb>> {
      return tl::make_unexpected(looked.error());
    };
    facts.rails[rail.name].lossless = qos::Compare(*rail.lossless, rail.pf, engine::LookAtQos(nothing, rail));
  }
}

}  // namespace rail::inspect
