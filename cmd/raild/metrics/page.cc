#include "cmd/raild/metrics/page.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "cmd/raild/metrics/exposition.h"
#include "cmd/raild/metrics/ports.h"
#include "lib/base/utf8.h"
#include "lib/engine/repair/tenant_rates.h"
#include "lib/inspect/trace/trace.h"

namespace rail::raild {
namespace {

using engine::NodeView;
using metrics::Exposition;
using state::Phase;

// bgpd's states; any other state is "other".
constexpr std::array<std::string_view, 8> kBgpStates = {"Idle",        "Connect",     "Active", "OpenSent",
                                                        "OpenConfirm", "Established", "none",   "other"};
constexpr std::array<std::string_view, 3> kPlugins = {"ovs-provider", "tenant-isolation", "frr-provider"};
constexpr std::array<std::string_view, 5> kVerbs = {"ADD", "DEL", "CHECK", "GC", "STATUS"};
constexpr std::string_view kEstablished = "Established";

std::string_view BgpState(const std::string& state) {
  if (state.empty()) return "none";
  return std::ranges::find(kBgpStates, state) != kBgpStates.end() ? std::string_view(state) : "other";
}

void AddProcess(Exposition& page, const NodeView& view) {
  page.Add(metrics::kBuildInfo, {ValidUtf8(view.raild_version)}, 1);
  page.AddSeconds(metrics::kStartTime, {}, static_cast<double>(view.started_ms) / 1000);
  for (const engine::Health& health : view.health) {
    page.Add(metrics::kUp, {ValidUtf8(health.part)}, health.ok);
    page.Add(metrics::kFailures, {ValidUtf8(health.part)}, health.failures);
  }
  // Prometheus sees no growth in a counter that begins at 1.
  for (const std::string_view cause : engine::kRepairCauses) {
    const auto counted = view.repairs_by_cause.find(std::string(cause));
    page.Add(metrics::kRepairs, {cause}, counted == view.repairs_by_cause.end() ? 0 : counted->second);
  }
}

// A rail of several NICs has each of them so: the least counts. So it does of two tenants of one name.
void AddRates(Exposition& page, const std::string& rail, const engine::RatesView& rates) {
  page.Add(metrics::kRatesOk, {rail}, rates.problems.empty());
  std::map<std::string, std::pair<uint64_t, uint64_t>> least;  // share and limit, by tenant
  for (const engine::TenantRateView& each : rates.tenants) {
    const auto [known, is_new] = least.try_emplace(each.tenant, each.share, each.max_mbit);
    auto& [share, max_mbit] = known->second;
    share = std::min(share, each.share);
    if (each.max_mbit != 0) max_mbit = max_mbit == 0 ? each.max_mbit : std::min(max_mbit, each.max_mbit);
  }
  for (const auto& [tenant, rate] : least) {
    page.Add(metrics::kTenantShare, {rail, ValidUtf8(tenant)}, rate.first);
    if (rate.second != 0)
      page.Add(metrics::kTenantMax, {rail, ValidUtf8(tenant)}, rate.second * engine::kBytesPerMbit);
  }
}

void AddRail(Exposition& page, const engine::RailView& rail) {
  const std::string& name = rail.rail.name;
  const std::string number = std::to_string(rail.rail.number());
  const std::string plane = rail.rail.place.rail ? std::to_string(rail.rail.place.plane) : "";
  page.Add(metrics::kRailInfo, {name, rail.rail.bridge, rail.rail.pf, number, plane}, 1);
  if (rail.neighbour) {
    page.Add(metrics::kRailLldpInfo,
             {name, ValidUtf8(rail.neighbour->system_name), ValidUtf8(rail.neighbour->port),
              ValidUtf8(rail.neighbour->chassis)},
             1);
  }
  if (rail.leaf) {
    const frr::Leaf& leaf = rail.leaf->leaf;
    page.Add(metrics::kRailLeafInfo,
             {name, ValidUtf8(leaf.name), std::to_string(leaf.asn), leaf.router_id.ToString(),
              rail.leaf->heard ? "1" : "0"},
             1);
  }
  page.Add(metrics::kRailCarrier, {name}, rail.uplink_carrier);
  page.Add(metrics::kRailBridge, {name}, rail.bridge_present);
  page.Add(metrics::kRailLeaf, {name}, rail.leaf_mac != MacAddress{});
  page.Add(metrics::kRulesWanted, {name}, rail.rules_wanted);
  page.Add(metrics::kRulesInstalled, {name}, rail.rules_installed);
  page.Add(metrics::kForeignFlows, {name}, rail.foreign_rules);
  if (rail.lossless) page.Add(metrics::kLossless, {name}, rail.lossless->empty());
  if (rail.rates) AddRates(page, name, *rail.rates);
  const std::string_view state = BgpState(rail.bgp_state);
  page.Add(metrics::kBgpEstablished, {name}, rail.connected());
  for (const std::string_view each : kBgpStates) page.Add(metrics::kBgpState, {name, each}, state == each);
  page.Add(metrics::kPrefixesReceived, {name}, rail.prefixes_received);
  page.Add(metrics::kPrefixesSent, {name}, rail.prefixes_sent);
}

void AddVlans(Exposition& page, const engine::RailView& rail) {
  for (const engine::VlanView& vlan : rail.vlans) {
    const std::string tenant = ValidUtf8(vlan.tenant), tag = std::to_string(vlan.vlan);
    const auto add = [&](const metrics::Family& family, uint64_t value) {
      page.Add(family, {rail.rail.name, tenant, tag}, value);
    };
    add(metrics::kVlanPort, vlan.port_works ? 1 : 0);
    add(metrics::kVlanEstablished, vlan.bgp_state == kEstablished ? 1 : 0);
    add(metrics::kVlanReceived, vlan.session ? vlan.session->prefixes_received : 0);
    add(metrics::kVlanSent, vlan.session ? vlan.session->prefixes_sent : 0);
  }
}

void AddLearned(Exposition& page, const NodeView& view) {
  page.Add(metrics::kBmpUp, {}, view.bmp_up);
  page.Add(metrics::kLearningComplete, {}, view.learning_complete);
  page.Add(metrics::kRemotes, {}, view.remote_counts.known);
  page.Add(metrics::kContested, {}, view.remote_counts.contested);
  for (const auto& [tenant, count] : view.remote_counts.of_tenant)
    page.Add(metrics::kTenantRemotes, {ValidUtf8(tenant)}, count);
  using engine::RdmaMode;
  page.Add(metrics::kRdmaNetns, {"exclusive"}, view.rdma == RdmaMode::kExclusive);
  page.Add(metrics::kRdmaNetns, {"shared"}, view.rdma == RdmaMode::kShared);
  page.Add(metrics::kRdmaNetns, {"none"}, view.rdma == RdmaMode::kNone);
}

void AddFrontend(Exposition& page, const engine::FrontendView& frontend) {
  for (const engine::FrontendLink& link : frontend.links) {
    page.Add(metrics::kFrontendEstablished, {link.name}, link.state == kEstablished);
    page.Add(metrics::kFrontendNotTold, {link.name}, link.not_told.size());
    page.Add(metrics::kFrontendLeaked, {link.name}, link.leaked.size());
    page.Add(metrics::kFrontendNoDefault, {link.name}, link.no_default.size());
  }
}

void AddTenantList(Exposition& page, const engine::TenantListView& list, Clock::time_point now) {
  if (!list.wanted) return;
  page.Add(metrics::kTenantsKnown, {}, list.known);
  page.AddSeconds(
      metrics::kTenantsStale, {},
      list.problem.empty()
          ? 0.0
          : std::chrono::duration<double>(std::max(now - list.problem_since, Clock::duration{})).count());
  page.Add(metrics::kTenantsNamespaces, {}, list.namespaces);
  page.Add(metrics::kTenantsInvalid, {}, list.invalid);
}

struct Counts {
  uint64_t adding = 0, ready = 0, deleting = 0;
  uint64_t without_rules = 0, announced = 0, elsewhere = 0, without_device = 0, unseen = 0, pending = 0,
           moving = 0;

  void Add(const engine::AttachmentView& shown) {
    const bool is_ready = shown.attachment.phase == Phase::kReady;
    ++(is_ready ? ready : shown.attachment.phase == Phase::kAdding ? adding : deleting);
    without_rules += is_ready && (!shown.rules_in_place || shown.rules_unknown_since_ms != 0) ? 1 : 0;
    announced += is_ready && shown.attachment.announced ? 1 : 0;
    elsewhere += shown.elsewhere.empty() ? 0 : 1;
    without_device += shown.device_lost ? 1 : 0;
    unseen += shown.namespace_unseen.empty() ? 0 : 1;
    moving += shown.moves_to.empty() ? 0 : 1;
    pending += shown.pending.empty() ? 0 : 1;
  }
};

void AddAttachments(Exposition& page, const NodeView& view) {
  std::map<std::string, Counts> by_rail;
  for (const engine::RailView& rail : view.rails) by_rail[rail.rail.name];  // show zeros, too
  std::map<std::pair<std::string, std::string>, uint64_t> of_tenant;
  for (const engine::AttachmentView& shown : view.attachments) {
    by_rail[shown.attachment.rail].Add(shown);
    if (!shown.attachment.tenant_id.is_none()) ++of_tenant[{shown.attachment.rail, shown.attachment.tenant}];
  }
  for (const auto& [rail, counts] : by_rail) {
    page.Add(metrics::kAttachments, {rail, "adding"}, counts.adding);
    page.Add(metrics::kAttachments, {rail, "ready"}, counts.ready);
    page.Add(metrics::kAttachments, {rail, "deleting"}, counts.deleting);
    page.Add(metrics::kAttachmentsWithoutRules, {rail}, counts.without_rules);
    page.Add(metrics::kAttachmentsAnnounced, {rail}, counts.announced);
    page.Add(metrics::kAttachmentsElsewhere, {rail}, counts.elsewhere);
    page.Add(metrics::kAttachmentsWithoutDevice, {rail}, counts.without_device);
    page.Add(metrics::kAttachmentsUnseen, {rail}, counts.unseen);
    page.Add(metrics::kPendingUndo, {rail}, counts.pending);
    page.Add(metrics::kAttachmentsMoving, {rail}, counts.moving);
  }
  for (const engine::RailView& rail : view.rails)
    page.Add(metrics::kUnrecordedPods, {rail.rail.name}, rail.unrecorded_pods);
  for (const auto& [of, count] : of_tenant)
    page.Add(metrics::kTenantAttachments, {ValidUtf8(of.first), ValidUtf8(of.second)}, count);
}

void AddCni(Exposition& page, const CniRuns& cni) {
  for (const auto& [key, runs] : cni.runs()) {
    page.Add(metrics::kCniSeconds, {key.plugin, key.verb}, runs.times);
    for (size_t i = 0; i < runs.parts.size(); ++i)
      page.AddSeconds(metrics::kCniPartSeconds, {key.plugin, key.verb, kPartNames[i]}, runs.parts[i]);
    page.Add(metrics::kCniFailures, {key.plugin, key.verb}, runs.failed);
  }
}

double Seconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

void AddMeasured(Exposition& page, const Measured* measured, Clock::time_point now) {
  const auto told = [&](std::string inspect::SwitchSample::* problem) {
    return measured != nullptr && (measured->sample.*problem).empty();
  };
  const bool rules = told(&inspect::SwitchSample::rules_problem);
  const bool datapath = told(&inspect::SwitchSample::datapath_problem);
  const bool flows = told(&inspect::SwitchSample::flows_problem);
  page.Add(metrics::kLookSuccess, {"rules"}, rules);
  page.Add(metrics::kLookSuccess, {"datapath"}, datapath);
  page.Add(metrics::kLookSuccess, {"flows"}, flows);
  if (measured == nullptr) return;
  page.AddSeconds(metrics::kLookAge, {}, Seconds(now - measured->ended));
  page.AddSeconds(metrics::kLookDuration, {}, Seconds(measured->took));
  if (rules) {
    for (const auto& [key, count] : measured->drops) {
      page.Add(metrics::kDropped, {key.rail, inspect::TableName(key.table), ValidUtf8(key.tenant)}, count);
    }
  }
  if (datapath) {
    const ovs::DatapathCounts& counts = measured->sample.datapath;
    page.Add(metrics::kAllMegaflows, {}, counts.flows);
    page.Add(metrics::kMegaflowLimit, {}, counts.limit);
    if (counts.offloaded) page.Add(metrics::kOffloadedMegaflows, {}, *counts.offloaded);
  }
  if (flows) {
    for (const auto& [of, megaflows] : measured->sample.flows) {
      const std::string tenant = ValidUtf8(of.second);
      page.Add(metrics::kMegaflows, {of.first, tenant, "hardware"}, megaflows.in_hardware);
      page.Add(metrics::kMegaflows, {of.first, tenant, "tc"}, megaflows.in_tc);
      page.Add(metrics::kMegaflows, {of.first, tenant, "software"}, megaflows.in_software);
      page.Add(metrics::kDroppingMegaflows, {of.first, tenant}, megaflows.dropping);
    }
  }
  for (const auto& [rail, counters] : measured->roce) {
    for (const inspect::RoceCounter& counter : counters)
      page.Add(metrics::kRoce, {rail, counter.name}, counter.value);
  }
}

}  // namespace

void CniRuns::Count(const event::PluginRun& ran) {
  if (std::ranges::find(kPlugins, ran.plugin) == kPlugins.end() ||
      std::ranges::find(kVerbs, ran.verb) == kVerbs.end())
    return;
  Runs& runs = runs_[{ran.plugin, ran.verb}];
  runs.times.Observe(Seconds(ran.took));
  runs.failed += ran.failed ? 1 : 0;
  for (size_t i = 0; i < ran.parts.size(); ++i)
    runs.parts[i] += std::chrono::duration<double>(ran.parts[i]).count();
}

http::Page MetricsPage(const NodeView& view, const Measured* measured, Clock::time_point now,
                       const CniRuns& cni, const PortsPart& ports) {
  Exposition page;
  AddProcess(page, view);
  for (const engine::RailView& rail : view.rails) {
    AddRail(page, rail);
    AddVlans(page, rail);
  }
  if (!view.unit.empty()) page.Add(metrics::kUnitInfo, {ValidUtf8(view.unit)}, 1);
  AddLearned(page, view);
  AddFrontend(page, view.frontend);
  AddTenantList(page, view.tenant_list, now);
  AddAttachments(page, view);
  AddCni(page, cni);
  AddMeasured(page, measured, now);
  AddPorts(page, ports);
  return {.body = page.Text(), .type = metrics::kContentType};
}

// Whoever reaches the port reads it: the names of parts, which are metrics' labels, too, and no reason, which may name pods and addresses.
http::Page HealthPage(const NodeView& view) {
  if (view.version == 0) return {.status = 503, .body = "raild has not looked at the node yet\n"};
  http::Page page;
  for (const engine::Health& health : view.health) {
    if (!health.ok) page.body += health.part + " is not right\n";
  }
  if (page.body.empty()) return {.body = "ok\n"};
  page.body += "`railctl get node` on the node says why\n";
  page.status = 503;
  return page;
}

}  // namespace rail::raild
