#include "lib/fabric/testing/small_fleet.h"

#include <fmt/core.h>

#include <cstdlib>
#include <utility>

namespace rail::fabric::testing {
namespace {

std::string NameOf(int node) {
  return fmt::format("n{}", node + 1);
}

void AddPod(v1::NodeState& state, const Size& size, int node, int pod, int rail) {
  const int number = node * size.pods + pod;
  const int tenant = pod % size.tenants;
  v1::Attachment& a = *state.add_attachments();
  a.set_id(1 + pod * size.rails + rail);
  a.mutable_pod()->set_namespace_(fmt::format("team-{}", tenant));
  a.mutable_pod()->set_name(fmt::format("train-{}", number));
  a.mutable_pod()->set_uid(fmt::format("00000000-0000-4000-8000-{:012}", number));
  a.mutable_tenant()->set_name(fmt::format("team-{}", tenant));
  a.mutable_tenant()->set_id(fmt::format("{:028x}", 1 + tenant));
  a.set_ifname(fmt::format("net{}", rail + 1));
  a.set_rail(fmt::format("rail{}", rail));
  a.add_addresses(fmt::format("10.{}.{}.{}", rail, number / 256, number % 256));
  a.set_device(fmt::format("0000:{:02x}:00.{}", rail, pod + 1));
  a.set_representor(fmt::format("rail{}vf{}", rail, pod));
  a.set_phase(v1::Attachment::READY);
  a.set_state(v1::Attachment::STATE_READY);
  a.set_rules(v1::Attachment::RULES_OK);
  a.set_rules_in_place(true);
  a.set_announcement(v1::Attachment::ANNOUNCED);
  a.set_announced(true);
}

}  // namespace

v1::WatchStateResponse SectionOf(v1::WatchStateResponse::Section section, v1::NodeState state) {
  v1::WatchStateResponse response;
  response.set_section(section);
  *response.mutable_state() = std::move(state);
  return response;
}

v1::WatchStateResponse Whole(v1::NodeState state) {
  return SectionOf(v1::WatchStateResponse::ALL, std::move(state));
}

SmallFleet::SmallFleet(Size size) : size_(size) {
  for (int node = 0; node < size.units * size.nodes; ++node) states_[NameOf(node)] = Healthy(node);
  CountAnew();
}

v1::NodeState SmallFleet::Healthy(int node) const {
  const int unit = node / size_.nodes;
  v1::NodeState state;
  state.mutable_node()->set_hostname(NameOf(node));
  state.mutable_node()->set_version("0.1.0");
  state.mutable_node()->set_bmp_up(true);
  state.mutable_node()->set_unit(fmt::format("su-{}", unit + 1));
  for (const char* part : {"state", "bgp"}) {
    v1::HealthPart& health = *state.mutable_node()->add_health();
    health.set_part(part);
    health.set_ok(true);
  }
  state.mutable_learned()->set_complete(true);
  for (int rail = 0; rail < size_.rails; ++rail) {
    const int leaf = unit * size_.rails + rail;
    v1::Rail& made = *state.add_rails();
    made.set_name(fmt::format("rail{}", rail));
    made.set_index(static_cast<uint32_t>(rail));
    made.set_number(static_cast<uint32_t>(rail));
    made.set_bridge("br-" + made.name());
    made.set_pf(fmt::format("ens{}f0np0", rail + 1));
    made.set_state(v1::Rail::READY);
    made.set_bridge_present(true);
    made.set_carrier(true);
    made.set_bgp_state("Established");
    made.set_connected(true);
    made.mutable_leaf()->set_name(fmt::format("leaf{}", leaf));
    made.mutable_leaf()->set_router_id(fmt::format("10.255.{}.{}", leaf / 256, leaf % 256));
    made.mutable_leaf()->set_asn(4200010000U + static_cast<uint32_t>(leaf));
    made.mutable_leaf()->set_heard(true);
  }
  for (int pod = 0; pod < size_.pods; ++pod) {
    for (int rail = 0; rail < size_.rails; ++rail) AddPod(state, size_, node, pod, rail);
  }
  return state;
}

std::vector<std::string> SmallFleet::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, state] : states_) names.push_back(name);
  return names;
}

void SmallFleet::Tell(int64_t now_ms) {
  for (const auto& [name, state] : states_) {
    if (!fleet_.Apply(name, Whole(state), now_ms)) std::abort();
  }
}

void SmallFleet::Cut(const std::string& node, int rail) {
  v1::Rail& cut = RailOf(node, rail);
  cut.set_state(v1::Rail::NO_SESSION);
  cut.set_bgp_state("Active");
  cut.set_connected(false);
  cut.set_prefixes_received(0);
  cut.set_bgp_problem("bgpd says: waiting for peer OPEN");
  cut.mutable_leaf()->set_heard(false);
}

void SmallFleet::CountAnew() {
  std::map<std::string, uint64_t> of_tenant;
  std::map<std::string, uint32_t> of_rail;
  for (const auto& [name, state] : states_) {
    for (const v1::Attachment& a : state.attachments()) {
      if (!a.announced()) continue;
      of_tenant[a.tenant().name()] += static_cast<uint64_t>(a.addresses_size());
      of_rail[a.rail()] += static_cast<uint32_t>(a.addresses_size());
    }
  }
  for (auto& [name, state] : states_) {
    std::map<std::string, uint64_t> own;
    for (const v1::Attachment& a : state.attachments()) {
      if (a.announced()) own[a.tenant().name()] += static_cast<uint64_t>(a.addresses_size());
    }
    v1::LearnedCounts& learned = *state.mutable_learned();
    learned.clear_of_tenants();
    uint64_t all = 0;
    for (const auto& [tenant, count] : own) {
      v1::LearnedCounts::OfTenant& of = *learned.add_of_tenants();
      of.set_tenant(tenant);
      of.set_remotes(of_tenant.at(tenant) - count);
      all += of.remotes();
    }
    learned.set_remotes(all);
    for (v1::Rail& rail : *state.mutable_rails())
      rail.set_prefixes_received(rail.connected() ? of_rail[rail.name()] : 0);
  }
}

const std::vector<Cause>& SmallFleet::Found() {
  const Grid grid(fleet_);
  causes_.Update(fleet_, grid, kNoon + 600'000);
  causes_.Update(fleet_, grid, kNoon + 700'000);
  return causes_.list();
}

std::vector<std::string> SmallFleet::Told() {
  std::vector<std::string> told;
  for (const Cause& cause : Found()) told.push_back(std::string(cause.kind->id) + " " + cause.subject);
  return told;
}

}  // namespace rail::fabric::testing
