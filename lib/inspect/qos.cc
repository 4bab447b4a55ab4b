#include "lib/inspect/qos.h"

#include "lib/engine/attach/tenant_rates.h"
#include "lib/engine/repair/lossless.h"

namespace rail::inspect {
namespace {

void Compare(NodeFacts& facts, const engine::Openers& openers) {
  for (const config::Rail& rail : facts.config.rails) {
    if (!rail.lossless) continue;
    facts.rails[rail.name].lossless = qos::Compare(*rail.lossless, rail.pf, engine::LookAtQos(openers, rail));
  }
}

}  // namespace

Status LookAtLossless(NodeFacts& facts, const engine::Openers& openers) {
  Compare(facts, openers);
  return {};
}

void LosslessUnknown(NodeFacts& facts, const Error& error) {
  engine::Openers nothing;
  nothing.dcb = [&]() -> Result<std::unique_ptr<netlink::Dcb>> { return tl::make_unexpected(error); };
  Compare(facts, nothing);
}

Status LookAtRates(NodeFacts& facts, const engine::Openers& openers) {
  if (!facts.config.rates) return {};
  const engine::Connections connections(openers, Deadline::max());
  RAIL_ASSIGN(const engine::NicRates nics, connections.Rates());
  for (const engine::AttachmentView& shown : facts.view.attachments) {
    if (shown.attachment.phase != state::Phase::kReady) continue;
    if (!engine::LeafOf(shown.attachment, nics)) continue;  // raild says that it has none: rates-refused
    auto differ = engine::RatesDiffer(*facts.config.rates, shown.attachment, nics);
    if (!differ.empty()) facts.rates_differ[shown.attachment.id] = std::move(differ);
  }
  return {};
}

}  // namespace rail::inspect
