#include "lib/fabric/symptoms.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

namespace rail::fabric {
namespace {

// "": a rail in this state shows nothing.
std::string_view IdOf(v1::Rail::State state) {
  switch (state) {
    case v1::Rail::FOREIGN_FLOWS: return "rail-foreign-flows";
    case v1::Rail::NO_BRIDGE: return "rail-without-bridge";
    case v1::Rail::NO_CARRIER: return "rail-without-carrier";
    case v1::Rail::NO_SESSION: return "rail-without-session";
    case v1::Rail::NO_LEAF: return "rail-without-leaf";
    case v1::Rail::RECORD_LOST: return "rail-record-lost";
    case v1::Rail::UNSEEN: return "rail-unseen";
    case v1::Rail::RULES_DIFFER: return "rail-rules-differ";
    default: return "";
  }
}

// In the order of the table, which is that of severity within what a rail shows.
std::vector<const Kind*> Sorted(std::vector<const Kind*> kinds) {
  std::ranges::sort(kinds, [](const Kind* a, const Kind* b) {
    return a->severity != b->severity ? a->severity > b->severity : a < b;
  });
  return kinds;
}

}  // namespace

void PodsOfRail::Add(const v1::Attachment& attachment) {
  ++all;
  if (attachment.state() == v1::Attachment::PENDING) ++pending;
  if (attachment.state() == v1::Attachment::NO_DEVICE) ++without_device;
  const bool is_ready = attachment.state() == v1::Attachment::STATE_READY;
  if (is_ready && attachment.rules() == v1::Attachment::RULES_MISSING) ++without_rules;
}

std::vector<const Kind*> ShownBy(const v1::Rail& rail, const PodsOfRail& pods) {
  std::vector<const Kind*> shown;
  const auto add = [&shown](bool is_so, std::string_view id) {
    if (is_so) shown.push_back(&KindOf(id));
  };
  const std::string_view state = IdOf(rail.state());
  if (!state.empty()) add(true, state);
  add(rail.stripped() > 0, "leaf-strips-communities");
  add(rail.other_owners_size() > 0, "vf-of-two-owners");
  add(pods.without_device > 0, "pods-without-device");
  add(pods.without_rules > 0, "pods-without-rules");
  add(rail.rates_known() && !rail.rates_ok(), "rates-refused");
  add(rail.lossless_known() && !rail.lossless_ok(), "lossless-differs");
  add(rail.offers_devices() && rail.devices_healthy() < rail.devices(), "devices-unhealthy");
  add(pods.pending > 0, "undo-pending");
  return Sorted(std::move(shown));
}

std::vector<const Kind*> ShownBy(const v1::NodeState& state) {
  std::vector<const Kind*> shown;
  if (state.has_node() && !state.node().bmp_up()) shown.push_back(&KindOf("bmp-down"));
  if (state.has_tenant_list()) {
    if (!state.tenant_list().known()) {
      shown.push_back(&KindOf("tenants-not-known"));
    } else if (state.tenant_list().has_stale_since()) {
      shown.push_back(&KindOf("api-server-away"));
    }
  }
  return Sorted(std::move(shown));
}

std::string SentenceOf(const v1::Rail& rail, const Kind& kind) {
  std::string text;
  if (kind.id == "rail-without-session" || kind.id == "rail-without-leaf") text = rail.bgp_problem();
  if (kind.id == "rail-unseen") text = rail.unseen();
  if (kind.id == "devices-unhealthy") text = rail.device_problem();
  if (kind.id == "lossless-differs" && rail.lossless_problems_size() > 0) text = rail.lossless_problems(0);
  if (kind.id == "rates-refused" && rail.rates_problems_size() > 0) text = rail.rates_problems(0);
  if (kind.id == "rail-foreign-flows")
    text = fmt::format("{} of the bridge's rules are not RailCNI's", rail.foreign_flows());
  if (kind.id == "rail-rules-differ")
    text = fmt::format("{} of {} rules are on the bridge", rail.rules_installed(), rail.rules_wanted());
  if (kind.id == "vf-of-two-owners")
    text = rail.other_owners(0).driver() + " publishes the rail's devices, too";
  return text.empty() ? kind.why : text;
}

}  // namespace rail::fabric
