#include "cmd/raild/workers/node_labels.h"

#include <utility>

#include "lib/base/log.h"

namespace rail::raild {
namespace {

using kubernetes::Labels;
using kubernetes::OurLabels;

constexpr std::chrono::minutes kAgainLeast{4};
constexpr std::chrono::minutes kAgainMost{6};

Result<kubernetes::Answer> Must(kubernetes::Client& client, const kubernetes::Request& request) {
  RAIL_ASSIGN(kubernetes::Answer answer, client.Ask(request));
  if (!answer.ok()) {
    Error error = kubernetes::ErrorOf(answer);
    if (error.code == Code::kPermission)
      error.message += " (raild's role needs \"" + std::string(request.method == "GET" ? "get" : "patch") +
                       "\" on nodes: manifests/components/api-server)";
    return FailWrapped(error, "labels of the node: " + request.method + " " + request.path);
  }
  return answer;
}

// What may be ours is in the file before the API server has it.
Status Write(kubernetes::Client& client, const std::string& file, const std::string& node, OurLabels& ours,
             const Labels& wanted, const std::string& tier) {
  RAIL_ASSIGN(const kubernetes::Answer answer, Must(client, kubernetes::NodeRequest(node)));
  RAIL_ASSIGN(const Labels there, kubernetes::ReadLabels(answer.body));
  kubernetes::LabelChange change = kubernetes::ChangeLabels(node, ours, wanted, there, tier);
  if (change.request) {
    if (change.before != ours) RAIL_TRY(kubernetes::WriteOurLabels(file, change.before));
    ours = change.before;
    RAIL_TRY(Must(client, *change.request));
    log::Info("labels of the node: {}", change.request->body);
  }
  if (change.ours != ours || change.request) RAIL_TRY(kubernetes::WriteOurLabels(file, change.ours));
  ours = std::move(change.ours);
  return {};
}

}  // namespace

kubernetes::Place PlaceOf(const engine::NodeView& view) {
  kubernetes::Place place{.unit = view.unit, .leaves = {}};
  for (const engine::RailView& rail : view.rails) {
    if (rail.leaf) place.leaves[rail.rail.name] = rail.leaf->leaf.router_id.ToString();
  }
  return place;
}

NodeLabels::NodeLabels(const std::optional<config::TopologyLabels>& keys, std::string file,
                       const kubernetes::Backoff& backoff)
    : keys_(keys), file_(std::move(file)), backoff_(backoff), ours_(kubernetes::ReadOurLabels(file_)) {}

std::optional<Status> NodeLabels::Look(kubernetes::Client& client, const std::string& node,
                                       const kubernetes::Place& place, Deadline now) {
  const bool lasting = std::exchange(seen_, place) == place;
  const bool known = !keys_ || !place.unit.empty();
  if (!wanted() || !lasting || !known || now < next_ || (told_ == place && now < again_)) return std::nullopt;
  Status changed = Change(client, node, place);
  if (!changed) {
    next_ = now + backoff_.Failed();
    return changed;
  }
  backoff_.Right();
  told_ = place;
  again_ = now + backoff_.Between(kAgainLeast, kAgainMost);
  return Status();
}

Status NodeLabels::Change(kubernetes::Client& client, const std::string& node,
                          const kubernetes::Place& place) {
  return Write(client, file_, node, ours_, keys_ ? kubernetes::LabelsOf(*keys_, place) : Labels(),
               keys_ ? keys_->tier : "");
}

Status RemoveLabels(kubernetes::Client& client, const std::string& node, const std::string& file) {
  OurLabels ours = kubernetes::ReadOurLabels(file);
  return ours.empty() ? Status() : Write(client, file, node, ours, {}, "");
}

}  // namespace rail::raild
