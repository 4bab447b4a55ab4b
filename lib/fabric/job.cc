#include "lib/fabric/job.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

#include "lib/fabric/job_pairs.h"
#include "lib/fabric/text.h"

namespace rail::fabric {
namespace {

bool IsOfJob(const std::string& pod, const std::string& job) {
  return pod.starts_with(job) && (pod.size() == job.size() || pod[job.size()] == '-');
}

std::vector<Placed> InterfacesOf(const Fleet& fleet, const v1::GetJobRequest& request) {
  std::vector<Placed> found;
  const Fleet::Attachments& all = fleet.attachments();
  for (auto at = all.lower_bound({request.namespace_(), "", "", std::numeric_limits<int64_t>::min()});
       at != all.end() && at->first.ns == request.namespace_(); ++at) {
    const bool is_there = at->second.attachment->phase() != v1::Attachment::DELETING;
    if (is_there && IsOfJob(at->second.attachment->pod().name(), request.name())) found.push_back(at->second);
  }
  return found;
}

// What keeps an interface from its peers by itself; "": nothing is known.
std::string ProblemOf(const Placed& placed, const Cell* cell) {
  const v1::Attachment& a = *placed.attachment;
  if (cell != nullptr && !cell->HasLink())
    return placed.node->name + ": " + cell->rail->name() + ": " +
           SentenceOf(*cell->rail, *cell->shows.front());
  if (a.device_lost()) return "it has lost its device";
  if (a.phase() == v1::Attachment::ADDING) return "its ADD has not ended";
  if (a.rules() == v1::Attachment::RULES_MISSING)
    return "its OpenFlow rules are not on the bridge of " + placed.node->name;
  if (a.announced_elsewhere_size() > 0) return a.announced_elsewhere(0);
  if (!a.withdrawn().empty()) return "it is not announced: " + a.withdrawn();
  if (a.tenant().id().empty()) return "it has no tenant";
  if (!a.announced()) return "its addresses are not announced";
  return "";
}

v1::JobPod ToMessage(const JobInterface& each) {
  const v1::Attachment& a = *each.placed.attachment;
  v1::JobPod pod;
  if (const auto index = LastNumber(a.pod().name())) pod.set_index(*index);
  pod.set_pod(a.pod().name());
  pod.set_node(each.placed.node->name);
  pod.set_rail(a.rail());
  *pod.mutable_addresses() = a.addresses();
  pod.set_device(a.device());
  pod.set_leaf(each.leaf);
  pod.set_unit(each.unit);
  pod.set_tenant(a.tenant().name());
  pod.set_state(a.state());
  pod.set_problem(each.problem);
  if (each.placed.node->away_ms != 0) *pod.mutable_away_since() = Stamp(each.placed.node->away_ms);
  pod.set_ifname(a.ifname());
  pod.set_rail_index(each.rail);
  return pod;
}

JobInterface Made(const Placed& placed, const Grid& grid) {
  const Cell* cell = grid.Find(placed.node->name, placed.attachment->rail());
  JobInterface made{.placed = placed, .unit = grid.UnitOf(placed.node->name)};
  if (cell != nullptr) {
    made.rail = cell->rail->index();
    made.leaf = cell->leaf;
  }
  made.problem = placed.node->IsSeen() ? ProblemOf(placed, cell)
                                       : placed.node->name + " does not answer: " + placed.node->away_why;
  return made;
}

void AddUplinks(const std::vector<JobInterface>& all, v1::GetJobResponse& response) {
  std::map<std::pair<std::string, std::string>, std::set<std::string, NaturalLess>> pods;
  for (const JobInterface& each : all)
    pods[{each.placed.node->name, each.placed.attachment->rail()}].insert(
        each.placed.attachment->pod().name());
  std::vector<std::pair<std::string, std::string>> shared;
  for (const auto& [of, those] : pods) {
    if (those.size() > 1) shared.push_back(of);
  }
  std::ranges::sort(shared, [](const auto& a, const auto& b) {
    return a.first != b.first ? IsBefore(a.first, b.first) : IsBefore(a.second, b.second);
  });
  for (const auto& of : shared) {
    v1::JobUplink& uplink = *response.add_uplinks();
    uplink.set_node(of.first);
    uplink.set_rail(of.second);
    for (const std::string& pod : pods.at(of)) uplink.add_pods(pod);
  }
}

void CountPlaces(const std::vector<JobInterface>& all, v1::JobTotals& totals) {
  std::set<std::string_view> pods;
  std::set<std::string_view> nodes;
  std::set<std::string_view> leaves;
  std::set<std::string_view> units;
  for (const JobInterface& each : all) {
    pods.insert(each.placed.attachment->pod().name());
    nodes.insert(each.placed.node->name);
    if (!each.leaf.empty()) leaves.insert(each.leaf);
    if (!each.unit.empty()) units.insert(each.unit);
  }
  totals.set_pods(static_cast<uint32_t>(pods.size()));
  totals.set_nodes(static_cast<uint32_t>(nodes.size()));
  totals.set_leaves(static_cast<uint32_t>(leaves.size()));
  totals.set_units(static_cast<uint32_t>(units.size()));
}

}  // namespace

std::vector<JobNode> NodesOfJob(const Fleet& fleet, const v1::GetJobRequest& request) {
  std::map<std::string, std::set<std::string>, NaturalLess> tenants;
  for (const Placed& placed : InterfacesOf(fleet, request)) {
    if (placed.node->IsSeen() && !placed.attachment->tenant().id().empty())
      tenants[placed.node->name].insert(placed.attachment->tenant().id());
  }
  std::vector<JobNode> nodes;
  for (auto& [node, of] : tenants) nodes.push_back({node, std::move(of)});
  return nodes;
}

Result<v1::GetJobResponse> GetJob(const Fleet& fleet, const Grid& grid, const Learned& learned,
                                  const v1::GetJobRequest& request) {
  if (request.namespace_().empty() || request.name().empty())
    return Fail(Code::kInvalid, "get a job: it is asked for by its namespace and its name, \"ns/train\"");
  std::vector<JobInterface> all;
  for (const Placed& placed : InterfacesOf(fleet, request)) all.push_back(Made(placed, grid));
  if (all.empty())
    return Fail(Code::kNotFound, "get the job " + request.name() + ": namespace " + request.namespace_() +
                                     " has no pod \"" + request.name() + "\" and none \"" + request.name() +
                                     "-...\" with an attachment on a node that has been heard");
  std::stable_sort(all.begin(), all.end(), [](const JobInterface& a, const JobInterface& b) {
    const std::string& one = a.placed.attachment->pod().name();
    const std::string& other = b.placed.attachment->pod().name();
    return one != other ? IsBefore(one, other) : a.rail < b.rail;
  });
  v1::GetJobResponse response;
  for (const JobInterface& each : all) *response.add_pods() = ToMessage(each);
  AddPairs(all, learned, response);
  AddUplinks(all, response);
  CountPlaces(all, *response.mutable_totals());
  return response;
}

}  // namespace rail::fabric
