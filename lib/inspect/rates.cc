#include "lib/inspect/rates.h"

#include "lib/engine/attach/tenant_rates.h"

namespace rail::inspect {

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

void TakeRates(NodeFacts& facts, NodeFacts& seen, const Status& looked) {
  if (looked) facts.rates_differ = std::move(seen.rates_differ);
}

}  // namespace rail::inspect
