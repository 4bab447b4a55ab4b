#include "cmd/raild/api/messages.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "lib/base/parse.h"
#include "lib/base/text.h"
#include "lib/base/utf8.h"
#include "lib/inspect/select.h"

namespace rail::raild {
namespace {

using engine::AttachmentView;
using engine::NodeView;
using engine::RemoteView;
using engine::SetTenant;

v1::NodeInfo::RdmaMode RdmaOf(engine::RdmaMode mode) {
  switch (mode) {
    case engine::RdmaMode::kUnknown: break;
    case engine::RdmaMode::kNone: return v1::NodeInfo::NO_RDMA;
    case engine::RdmaMode::kShared: return v1::NodeInfo::SHARED;
    case engine::RdmaMode::kExclusive: return v1::NodeInfo::EXCLUSIVE;
  }
  return v1::NodeInfo::RDMA_MODE_UNSPECIFIED;
}

v1::Rail::State StateOf(const v1::Rail& rail) {
  if (rail.foreign_flows() != 0) return v1::Rail::FOREIGN_FLOWS;
  if (!rail.bridge_present()) return v1::Rail::NO_BRIDGE;
  if (!rail.carrier()) return v1::Rail::NO_CARRIER;
  const bool needs_leaf = !rail.by_vlan() || rail.vlans_size() != 0;
  if (needs_leaf && rail.bgp_state() != frr::kEstablished) return v1::Rail::NO_SESSION;
  if (needs_leaf && rail.leaf_mac().empty()) return v1::Rail::NO_LEAF;
  if (rail.unrecorded_pods() != 0) return v1::Rail::RECORD_LOST;
  if (!rail.unseen().empty()) return v1::Rail::UNSEEN;
  if (rail.rules_installed() != rail.rules_wanted()) return v1::Rail::RULES_DIFFER;
  return v1::Rail::READY;
}

void SetRates(v1::Rail& rail, const engine::RatesView& rates) {
  for (const engine::TenantRateView& each : rates.tenants) {
    v1::TenantRate& rate = *rail.add_tenant_rates();
    SetTenant(*rate.mutable_tenant(), each.tenant, each.tenant_id);
    rate.set_nic(each.nic);
    rate.set_share(each.share);
    rate.set_max_mbit(each.max_mbit);
    rate.set_attachments(each.pods);
  }
  rail.set_rates_ok(rates.problems.empty());
  for (const qos::Difference& each : rates.problems) rail.add_rates_problems(ValidUtf8(each.what));
}

// The attachments that match, by id.
std::vector<const AttachmentView*> Select(const NodeView& view, const v1::AttachmentFilter& filter) {
  return inspect::Select(view, {.pod_namespace = filter.namespace_(),
                                .pod = filter.pod(),
                                .rail = filter.rail(),
                                .ifname = filter.ifname(),
                                .tenant = filter.tenant()});
}

// This node's name of the rail that a remote is on; "" when the node has no such rail, or the remote says none.
std::string RailOf(const RemoteView& remote, const NodeView& node) {
  if (!remote.remote.rail_index) return "";
  const auto rail = std::ranges::find(node.rails, *remote.remote.rail_index,
                                      [](const engine::RailView& r) { return r.rail.index; });
  return rail == node.rails.end() ? "" : rail->rail.name;
}

bool Matches(const v1::ListRemotesRequest& request, const RemoteView& remote, const NodeView& node) {
  return inspect::IsTenant(request.tenant(), remote.tenant, remote.remote.tenant) &&
         (request.rail().empty() || request.rail() == RailOf(remote, node));
}

// "address,tenant id,rail index or -,session"
std::string TokenOf(const frr::Remote& remote) {
  return remote.address.ToString() + "," + remote.tenant.ToString() + "," +
         (remote.rail_index ? std::to_string(*remote.rail_index) : "-") + "," + remote.interface;
}

Result<frr::Remote> ParseToken(std::string_view token) {
  const auto refused = Fail(Code::kInvalid, "page_token: not one that ListRemotes has given");
  std::string_view parts[4];
  for (std::string_view& part : parts) {
    const size_t comma = &part == &parts[3] ? std::string_view::npos : token.find(',');
    if (&part != &parts[3] && comma == std::string_view::npos) return refused;
    part = token.substr(0, comma);
    token.remove_prefix(comma == std::string_view::npos ? token.size() : comma + 1);
  }
  frr::Remote remote;
  auto address = IpAddress::Parse(parts[0]);
  const auto tenant = tenancy::TenantId::Parse(parts[1]);
  if (!address || !tenant) return refused;
  remote.address = *address;
  remote.tenant = *tenant;
  if (parts[2] != "-") {
    remote.rail_index = Number<uint32_t>(parts[2]);
    if (!remote.rail_index) return refused;
  }
  remote.interface = parts[3];
  return remote;
}

v1::Remote ToMessage(const RemoteView& view, const NodeView& node, const inspect::Fabric& fabric) {
  v1::Remote message;
  message.set_address(view.remote.address.ToString());
  SetTenant(*message.mutable_tenant(), view.tenant, view.remote.tenant);
  if (view.remote.rail_index) {
    message.set_rail_index(*view.remote.rail_index);
    SetPlane(message, fabric.PlaneOf(*view.remote.rail_index));
  }
  message.set_rail(RailOf(view, node));
  message.set_reach(view.contested   ? v1::Remote::REACH_CONTESTED
                    : view.installed ? v1::Remote::REACH_INSTALLED
                                     : v1::Remote::REACH_UNSPECIFIED);
  message.set_installed(view.installed);
  message.set_contested(view.contested);
  message.set_vlan(view.vlan);
  for (const uint32_t as : node.as_paths.Numbers(view.as_path)) message.add_as_path(as);
  message.set_distance(fabric.DistanceOf(view.as_path, view.remote.rail_index));
  return message;
}

v1::Rail ToMessage(const engine::RailView& view) {
  v1::Rail rail = view.seen;
  rail.set_name(view.rail.name);
  rail.set_index(view.rail.index);
  rail.set_number(view.rail.number());
  if (view.rail.place.rail) rail.set_plane(view.rail.place.plane);
  rail.set_nic_planes(view.rail.place.nic_planes);
  rail.set_pf(view.rail.pf);
  rail.set_bridge(view.rail.bridge);
  rail.set_mtu(view.rail.mtu);
  rail.set_rates_known(view.rates.has_value());
  if (view.rates) SetRates(rail, *view.rates);
  if (view.leaf) SetLeaf(*rail.mutable_leaf(), *view.leaf);
  for (v1::RailVlan& vlan : *rail.mutable_vlans()) vlan.set_connected(vlan.bgp_state() == frr::kEstablished);
  rail.set_connected(view.connected());
  rail.set_state(StateOf(rail));
  return rail;
}

}  // namespace

v1::GetNodeResponse GetNode(const NodeView& view, const Health& raild) {
  v1::GetNodeResponse response;
  v1::NodeInfo& node = *response.mutable_node();
  node = view.frontend;
  node.set_hostname(ValidUtf8(view.hostname));
  node.set_version(view.raild_version);
  SetTime(*node.mutable_started(), view.started_ms);
  node.set_bmp_up(view.bmp_up);
  for (const engine::Health& health : view.health) {
    v1::HealthPart& part = *node.add_health();
    part.set_part(engine::ToText(health.part));
    part.set_rail(health.part.rail);
    part.set_failures(health.failures);
    part.set_ok(health.ok);
    part.set_problem(ValidUtf8(health.problem));
  }
  const auto add = [&](const char* name, const std::string& problem) {
    v1::HealthPart& part = *node.add_health();
    part.set_part(name);
    part.set_problem(problem);
  };
  if (!raild.hung.empty()) add("raild", raild.hung);
  if (raild.started && !raild.waits_for.empty()) add("readiness", ValidUtf8(raild.waits_for));
  node.set_repairs(view.repairs);
  node.set_rdma(RdmaOf(view.rdma));
  node.set_unit(view.unit);
  return response;
}

v1::ListRailsResponse ListRails(const NodeView& view) {
  v1::ListRailsResponse response;
  for (const engine::RailView& rail : view.rails) *response.add_rails() = ToMessage(rail);
  std::ranges::sort(*response.mutable_rails(), {}, [](const v1::Rail& rail) { return rail.index(); });
  return response;
}

v1::ListAttachmentsResponse ListAttachments(const NodeView& view, const v1::AttachmentFilter& filter) {
  v1::ListAttachmentsResponse response;
  for (const AttachmentView* a : Select(view, filter)) *response.add_attachments() = ToMessage(*a);
  return response;
}

Result<v1::ListRemotesResponse> ListRemotes(const NodeView& view, const v1::ListRemotesRequest& request) {
  std::optional<frr::Remote> last;
  if (!request.page_token().empty()) {
    RAIL_ASSIGN(last, ParseToken(request.page_token()));
  }
  std::vector<const RemoteView*> page;
  page.reserve(view.remotes.size());
  uint32_t total = 0;
  for (const RemoteView& r : view.remotes) {
    if (!Matches(request, r, view)) continue;
    ++total;
    if (!last || *last < r.remote) page.push_back(&r);
  }
  const size_t size = request.page_size() == 0 ? kDefaultPage : std::min(request.page_size(), kLargestPage);
  const auto by_remote = [](const RemoteView* r) -> const frr::Remote& { return r->remote; };

  v1::ListRemotesResponse response;
  response.set_total(total);
  const bool more = page.size() > size;
  if (more) {
    // Linear in all remotes, where a full sort for each page would not be.
    std::ranges::nth_element(page, page.begin() + static_cast<std::ptrdiff_t>(size), {}, by_remote);
    page.resize(size);
  }
  std::ranges::sort(page, {}, by_remote);
  const inspect::Fabric fabric(view);
  for (const RemoteView* r : page) *response.add_remotes() = ToMessage(*r, view, fabric);
  if (more) response.set_next_page_token(TokenOf(page.back()->remote));
  return response;
}

std::vector<v1::WatchAttachmentsResponse> Changes::Next(const NodeView& view) {
  std::vector<v1::WatchAttachmentsResponse> events;
  const auto add = [&](v1::WatchAttachmentsResponse::Type type) -> v1::WatchAttachmentsResponse& {
    events.emplace_back().set_type(type);
    return events.back();
  };

  const std::vector<const AttachmentView*> selected = Select(view, filter_);
  std::map<int64_t, std::string> before = std::exchange(told_, {});
  for (const auto& [id, bytes] : before) {
    const auto same_id = [](const AttachmentView* a) { return a->attachment.id; };
    if (!std::ranges::binary_search(selected, id, {}, same_id)) {
      add(v1::WatchAttachmentsResponse::DELETED).mutable_attachment()->ParseFromString(bytes);
    }
  }
  for (const AttachmentView* a : selected) {
    v1::Attachment now = ToMessage(*a);
    std::string bytes = now.SerializeAsString();
    const auto old = before.find(now.id());
    if (old == before.end()) {
      *add(v1::WatchAttachmentsResponse::ADDED).mutable_attachment() = now;
    } else if (old->second != bytes) {
      *add(v1::WatchAttachmentsResponse::MODIFIED).mutable_attachment() = now;
    }
    told_.emplace(now.id(), std::move(bytes));
  }
  if (std::exchange(stage_, Stage::kSynced) == Stage::kFirst) add(v1::WatchAttachmentsResponse::SYNCED);
  return events;
}

}  // namespace rail::raild
