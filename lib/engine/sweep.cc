#include "lib/engine/sweep.h"

#include <algorithm>
#include <fstream>

#include "lib/base/log.h"

namespace rail::engine {
namespace {

using state::Attachment;
using state::Phase;
using state::Step;

}  // namespace

int64_t BootedMs(const std::string& proc_stat) {
  std::ifstream file(proc_stat);
  for (std::string word; file >> word;) {
    int64_t seconds = 0;
    if (word == "btime" && file >> seconds) return seconds * 1000;
  }
  return 0;
}

Sweeper::Sweeper(const config::NodeConfig& config, const Deps& deps, state::Store& store,
                 NodeStatus& node_status, Clock::duration gone_grace, int64_t booted_ms)
    : config_(config),
      deps_(deps),
      record_(store),
      node_status_(node_status),
      gone_grace_(gone_grace),
      booted_ms_(booted_ms) {}

// The sweep is needed because Multus sends neither GC nor a second DEL.
int Sweeper::Run() {
  Connections connections(deps_.openers(config_), After(kRoundLimit));
  int swept = 0;
  const auto read = record_.Read();
  node_status_.Note("state", read ? Status() : tl::make_unexpected(read.error()));
  if (!read) return 0;
  const RecordPtr& record = *read;
  Node node{config_, record_.store(), connections};
  std::map<int64_t, Deadline> gone;
  for (const Attachment& attachment : record->attachments) {
    const auto& steps = record->steps.at(attachment.id);
    const bool pending =
        attachment.phase == Phase::kDeleting &&
        (steps.empty() || std::ranges::any_of(steps, [](const Step& s) { return !s.pending.empty(); }));
    bool due = pending;
    // A DEL that has taken longer than the grace has died.
    if (!pending && (attachment.phase == Phase::kDeleting || NamespaceIsGone(attachment))) {
      const auto since = gone_since_.find(attachment.id);
      gone[attachment.id] = since == gone_since_.end() ? Clock::now() : since->second;
      due = attachment.created_ms < booted_ms_ || Clock::now() - gone[attachment.id] >= gone_grace_;
    }
    if (!due) continue;
    Attachment deleting = attachment;
    deleting.phase = Phase::kDeleting;
    Status marked = record_.store().SetPhase(deleting.id, deleting.phase);
    if (!marked) {
      node_status_.Note("state", marked);
      continue;
    }
    const auto undone = Undo(node, deleting, "");
    if (!undone) continue;
    if (undone->removed) {
      log::Info("attachment {} of pod {}/{}: {}, everything of it undone", attachment.key.ToString(),
                attachment.pod_namespace, attachment.pod_name,
                deleting.phase == attachment.phase ? "its DEL had left work" : "its namespace is gone");
      node_status_.Repaired("attachment");
      ++swept;
    }
  }
  gone_since_ = std::move(gone);
  if (swept > 0) node_status_.Publish(record_);
  return swept;
}

}  // namespace rail::engine
