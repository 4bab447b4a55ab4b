#include "lib/engine/repair/sweep.h"

#include <algorithm>

#include "lib/base/log.h"

namespace rail::engine {
namespace {

using state::Attachment;
using state::Phase;
using state::Step;

}  // namespace

Sweeper::Sweeper(const config::NodeConfig& config, const Deps& deps, state::Store& store,
                 NodeStatus& node_status, Clock::duration gone_grace, int64_t booted_ms)
    : config_(config),
      deps_(deps),
      record_(store),
      node_status_(node_status),
      gone_grace_(gone_grace),
      booted_ms_(booted_ms) {}

// The sweep is needed because Multus sends neither GC nor a second DEL.
Swept Sweeper::Run() {
  Connections connections(deps_.openers(config_), After(kRoundLimit));
  Swept swept;
  const auto read = record_.Read();
  node_status_.Note(Part::kState, read ? Status() : tl::make_unexpected(read.error()));
  if (!read) return swept;
  const RecordPtr& record = *read;
  Node node{config_, record_.store(), connections};
  WhereaboutsById where = LookFor(*record, connections, booted_ms_);
  std::map<int64_t, Deadline> gone;
  Status written;
  bool hung = false;
  for (const Attachment& attachment : record->attachments) {
    const auto& steps = record->steps.at(attachment.id);
    const bool pending =
        attachment.phase == Phase::kDeleting &&
        (steps.empty() || std::ranges::any_of(steps, [](const Step& s) { return !s.pending.empty(); }));
    bool due = pending;
    // A DEL that has taken longer than the grace has died.
    if (!pending &&
        (attachment.phase == Phase::kDeleting || where.at(attachment.id).pod == Whereabouts::Pod::kGone)) {
      const auto since = gone_since_.find(attachment.id);
      gone[attachment.id] = since == gone_since_.end() ? deps_.now() : since->second;
      due = IsOlderThanBoot(attachment, booted_ms_) || deps_.now() - gone[attachment.id] >= gone_grace_;
    }
    if (!due) continue;
    Attachment deleting = attachment;
    deleting.phase = Phase::kDeleting;
    Status marked = record_.store().SetPhase(deleting.id, deleting.phase);
    if (!marked) {
      written = marked;
      continue;
    }
    // A DEL that left work is finished here, and after a boot no pod is there any more; else a DEL has never come.
    if (attachment.phase != Phase::kDeleting && attachment.created_ms >= booted_ms_)
      node_status_.Repaired("attachment");
    // Each has a time of its own: one whose IPAM hangs must not keep the others, whose undo would have no time at all.
    const auto began = deps_.now();
    connections.GiveTime(After(hung ? kCallTime : kRoundLimit));
    const auto undone = Undo(node, deleting, "");
    deps_.step_ended();
    hung = hung || deps_.now() - began >= kCallTime;
    if (!undone) continue;
    if (undone->removed) {
      log::Info("attachment {} of pod {}/{}: {}, everything of it undone", attachment.key.ToString(),
                attachment.pod_namespace, attachment.pod_name,
                deleting.phase == attachment.phase ? "its DEL had left work" : "its namespace is gone");
      ++swept.undone;
    }
  }
  node_status_.Note(Part::kWritingRecord, written);
  gone_since_ = std::move(gone);
  connections.GiveTime(After(kRoundLimit));
  swept.devices = PutBack(node, *record, where);
  Report(*record, where);
  swept.devices = node_status_.SetWhereabouts(std::move(where)) || swept.devices;
  if (swept.undone > 0 || swept.devices) node_status_.Changed();
  return swept;
}

// True: a device is back in its pod.
bool Sweeper::PutBack(Node& node, const Record& record, WhereaboutsById& where) {
  bool back = false;
  Status first;
  for (const Attachment& attachment : record.attachments) {
    Whereabouts& its = where.at(attachment.id);
    if (attachment.phase != Phase::kReady || !its.device_lost()) continue;
    const Status put = PutDeviceBack(node, attachment);
    if (put) {
      log::Warning("pod {}: its device {} was lost and is back in the pod", attachment.Owner(),
                   attachment.device);
      node_status_.Repaired("device");
      its.device = device::Location::kElsewhere;
      back = true;
    } else if (first) {
      first = FailWrapped(put.error(), "pod " + attachment.Owner() + " has lost its device " +
                                           attachment.device + " and is not announced until it has it again");
    }
  }
  node_status_.Note(Part::kPodDevices, first);
  return back;
}

void Sweeper::Report(const Record& record, const WhereaboutsById& where) {
  int unseen = 0;
  const Attachment* example = nullptr;
  for (const Attachment& attachment : record.attachments) {
    if (where.at(attachment.id).unseen.empty()) continue;
    ++unseen;
    example = &attachment;
  }
  if (example == nullptr) return node_status_.Note(Part::kPodNamespaces, {});
  node_status_.Note(
      Part::kPodNamespaces,
      Fail(Code::kNotFound, std::to_string(unseen) + " of " + std::to_string(record.attachments.size()) +
                                " cannot be seen, and none of these is swept; " + example->netns_path + ": " +
                                where.at(example->id).unseen));
}

}  // namespace rail::engine
