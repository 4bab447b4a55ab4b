#include "cmd/raild/api/state_messages.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "cmd/raild/api/messages.h"
#include "lib/base/utf8.h"

namespace rail::raild {
namespace {

using state::Phase;

// No message here has a map, so equal messages have equal bytes.
size_t HashOf(const google::protobuf::Message& message) {
  return std::hash<std::string>()(message.SerializeAsString());
}

void SetLearned(v1::LearnedCounts& learned, const engine::NodeView& view) {
  learned.set_complete(view.learning_complete);
  learned.set_remotes(view.remote_counts.known);
  learned.set_contested(view.remote_counts.contested);
  for (const auto& [tenant, count] : view.remote_counts.of_tenant) {
    v1::LearnedCounts::OfTenant& of_tenant = *learned.add_of_tenants();
    of_tenant.set_tenant(ValidUtf8(tenant));
    of_tenant.set_remotes(count);
  }
}

void SetTenantList(v1::TenantList& message, const engine::TenantListView& list, Clock::time_point now,
                   int64_t now_ms) {
  message.set_known(list.known);
  message.set_namespaces(list.namespaces);
  message.set_invalid(list.invalid);
  if (list.problem.empty()) return;
  const auto stale = std::chrono::duration_cast<std::chrono::milliseconds>(now - list.problem_since);
  SetTime(*message.mutable_stale_since(), now_ms - std::max<int64_t>(0, stale.count()));
}

void Count(const engine::AttachmentView& shown, v1::AttachmentCounts& counts) {
  const bool is_ready = shown.attachment.phase == Phase::kReady;
  const auto one = [](bool counts_in) -> uint64_t { return counts_in ? 1 : 0; };
  counts.set_adding(counts.adding() + one(shown.attachment.phase == Phase::kAdding));
  counts.set_ready(counts.ready() + one(is_ready));
  counts.set_deleting(counts.deleting() + one(shown.attachment.phase == Phase::kDeleting));
  counts.set_without_rules(counts.without_rules() +
                           one(is_ready && (!shown.rules_in_place || shown.rules_unknown_since_ms != 0)));
  counts.set_announced(counts.announced() + one(is_ready && shown.attachment.announced));
  counts.set_elsewhere(counts.elsewhere() + one(!shown.elsewhere.empty()));
  counts.set_without_device(counts.without_device() + one(shown.device_lost));
  counts.set_unseen(counts.unseen() + one(!shown.namespace_unseen.empty()));
  counts.set_pending(counts.pending() + one(!shown.pending.empty()));
  counts.set_moving(counts.moving() + one(!shown.moves_to.empty()));
}

void CountAttachments(v1::NodeState& state, const engine::NodeView& view) {
  std::map<std::string, v1::AttachmentCounts> by_rail;
  for (const engine::RailView& rail : view.rails) by_rail[rail.rail.name];  // zeros, too
  std::map<std::pair<std::string, std::string>, uint64_t> by_tenant;
  for (const engine::AttachmentView& shown : view.attachments) {
    Count(shown, by_rail[shown.attachment.rail]);
    if (!shown.attachment.tenant_id.is_none()) ++by_tenant[{shown.attachment.rail, shown.attachment.tenant}];
  }
  for (auto& [rail, counts] : by_rail) {
    counts.set_rail(ValidUtf8(rail));
    *state.add_attachment_counts() = std::move(counts);
  }
  for (const auto& [of, attachments] : by_tenant) {
    v1::TenantCount& count = *state.add_tenant_counts();
    count.set_rail(ValidUtf8(of.first));
    count.set_tenant(ValidUtf8(of.second));
    count.set_attachments(attachments);
  }
}

}  // namespace

v1::NodeState StateOf(const engine::NodeView& view, Clock::time_point now, int64_t now_ms,
                      const Health& raild) {
  v1::NodeState state;
  *state.mutable_node() = std::move(*GetNode(view, raild).mutable_node());
  for (const std::string_view cause : engine::kRepairCauses) {
    const auto counted = view.repairs_by_cause.find(std::string(cause));
    v1::Repair& repair = *state.add_repairs();
    repair.set_cause(std::string(cause));
    repair.set_count(counted == view.repairs_by_cause.end() ? 0 : counted->second);
  }
  *state.mutable_rails() = std::move(*ListRails(view).mutable_rails());
  SetLearned(*state.mutable_learned(), view);
  if (view.tenant_list.wanted) SetTenantList(*state.mutable_tenant_list(), view.tenant_list, now, now_ms);
  CountAttachments(state, view);
  return state;
}

StateSnapshot SnapshotOf(const engine::NodeView& view, const Health& raild, int64_t unix_ms) {
  v1::NodeState state = StateOf(view, Clock::now(), unix_ms, raild);
  // It is worked out anew of two clocks, which differ by a millisecond from one view to the next: that is no change.
  if (state.tenant_list().has_stale_since()) state.mutable_tenant_list()->mutable_stale_since()->set_nanos(0);
  StateSnapshot made;
  const google::protobuf::Descriptor& fields = *v1::NodeState::descriptor();
  for (int i = 0; i < fields.field_count(); ++i) {
    const google::protobuf::FieldDescriptor* field = fields.field(i);
    StateSnapshot::Section& section = made.sections[field->number()];
    state.GetReflection()->SwapFields(&state, &section.state, {field});
    section.hash = HashOf(section.state);
  }
  *made.attachments.mutable_attachments() = std::move(*ListAttachments(view, {}).mutable_attachments());
  for (const v1::Attachment& each : made.attachments.attachments()) made.hashes.push_back(HashOf(each));
  return made;
}

std::shared_ptr<const StateSnapshot> StateSnapshots::Of(const engine::NodeView& view, const Health& raild) {
  if (view.version == 0) return nullptr;
  const std::lock_guard lock(mutex_);
  if (last_ == nullptr || view.version != version_ || raild != raild_) {
    last_ = std::make_shared<const StateSnapshot>(SnapshotOf(view, raild, unix_ms_()));
    version_ = view.version;
    raild_ = raild;
  }
  return last_;
}

v1::WatchStateResponse& StateChanges::Add(std::vector<v1::WatchStateResponse>& responses,
                                          v1::WatchStateResponse::Section section) {
  v1::WatchStateResponse& response = responses.emplace_back();
  response.set_number(++number_);
  response.set_section(section);
  return response;
}

std::vector<v1::WatchStateResponse> StateChanges::Next(const StateSnapshot& now) {
  std::vector<v1::WatchStateResponse> responses;
  const bool first = number_ == 0;
  v1::NodeState* all = first ? Add(responses, v1::WatchStateResponse::ALL).mutable_state() : nullptr;
  for (const auto& [number, section] : now.sections) {
    const size_t was = std::exchange(sections_[number], section.hash);
    if (first) {
      all->MergeFrom(section.state);
    } else if (was != section.hash) {
      *Add(responses, static_cast<v1::WatchStateResponse::Section>(number)).mutable_state() = section.state;
    }
  }

  const std::map<int64_t, size_t> before = std::exchange(attachments_, {});
  v1::WatchStateResponse changed;
  for (int i = 0; i < now.attachments.attachments_size(); ++i) {
    const v1::Attachment& each = now.attachments.attachments(i);
    const size_t hash = now.hashes[static_cast<size_t>(i)];
    attachments_.emplace(each.id(), hash);
    const auto was = before.find(each.id());
    if (was == before.end() || was->second != hash) *changed.mutable_state()->add_attachments() = each;
  }
  for (const auto& [id, hash] : before) {
    if (!attachments_.contains(id)) changed.add_gone(id);
  }
  if (first) all->MergeFrom(changed.state());
  if (first || (!changed.has_state() && changed.gone().empty())) return responses;
  v1::WatchStateResponse& attachments = Add(responses, v1::WatchStateResponse::ATTACHMENTS);
  attachments.mutable_state()->Swap(changed.mutable_state());
  attachments.mutable_gone()->Swap(changed.mutable_gone());
  return responses;
}

}  // namespace rail::raild
