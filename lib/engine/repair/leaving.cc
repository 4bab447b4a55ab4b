#include "lib/engine/repair/leaving.h"

#include <algorithm>

#include "lib/engine/attach/tenant_move.h"

namespace rail::engine {

void Leaving::See(const Record& record, Deadline now, int64_t unix_ms) {
  std::map<int64_t, Move> moves;
  for (const state::Attachment& attachment : record.attachments) {
    if (attachment.leaving.is_none()) continue;
    const auto known = moves_.find(attachment.id);
    if (known != moves_.end() && known->second.since_ms == attachment.leaving_ms) {
      moves.insert(*known);
      continue;
    }
    const std::chrono::milliseconds whole = kTwoIds;
    const int64_t left =
        std::clamp<int64_t>(attachment.leaving_ms + whole.count() - unix_ms, 0, whole.count());
    moves.emplace(attachment.id, Move{attachment.leaving_ms, now + std::chrono::milliseconds(left)});
  }
  moves_ = std::move(moves);
}

std::vector<int64_t> Leaving::TakeDue(Deadline now) {
  std::vector<int64_t> due;
  for (auto& [id, move] : moves_) {
    if (now < move.due) continue;
    due.push_back(id);
    move.due = now + kAgain;
  }
  return due;
}

std::optional<Deadline> Leaving::next() const {
  std::optional<Deadline> next;
  for (const auto& [id, move] : moves_) next = Earlier(next, move.due);
  return next;
}

}  // namespace rail::engine
