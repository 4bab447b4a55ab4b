#include "lib/engine/learned/remote_set.h"

#include <algorithm>
#include <set>

namespace rail::engine {
namespace {

std::vector<RemoteEntry>::const_iterator PlaceIn(const std::vector<RemoteEntry>& entries,
                                                 const IpAddress& address) {
  return std::ranges::lower_bound(entries, address, {}, &RemoteEntry::address);
}

}  // namespace

RemoteSet::RemoteSet(const RemoteSet& other) : size_(other.size_) {
  // Writes the flag only where it is not set yet: several threads may read and copy a set that was copied once.
  for (const Piece& piece : other.pieces_) {
    if (!piece.shared) piece.shared = true;
  }
  pieces_ = other.pieces_;
}

// The last piece that begins at or before the address; the first piece if none does; end() if the set is empty.
std::vector<RemoteSet::Piece>::iterator RemoteSet::PieceOf(const IpAddress& address) {
  const auto after = std::ranges::upper_bound(
      pieces_, address, {}, [](const Piece& piece) { return piece.entries->front().address; });
  return after == pieces_.begin() ? after : after - 1;
}

std::vector<RemoteEntry>& RemoteSet::Own(Piece& piece) {
  if (piece.shared) piece = {std::make_shared<std::vector<RemoteEntry>>(*piece.entries), false};
  return *piece.entries;
}

void RemoteSet::Set(const RemoteEntry& entry) {
  auto piece = PieceOf(entry.address);
  if (piece == pieces_.end()) {
    pieces_.push_back({std::make_shared<std::vector<RemoteEntry>>(1, entry), false});
    size_ = 1;
    return;
  }
  const auto known = PlaceIn(*piece->entries, entry.address);
  const auto at = known - piece->entries->cbegin();
  if (known != piece->entries->cend() && known->address == entry.address) {
    if (*known != entry || known->as_path != entry.as_path) Own(*piece)[static_cast<size_t>(at)] = entry;
    return;
  }
  std::vector<RemoteEntry>& entries = Own(*piece);
  entries.insert(entries.begin() + at, entry);
  ++size_;
  if (entries.size() <= kMost) return;
  const auto middle = entries.begin() + kMost / 2;
  auto second = std::make_shared<std::vector<RemoteEntry>>(middle, entries.end());
  entries.erase(middle, entries.end());
  entries.shrink_to_fit();
  pieces_.insert(piece + 1, {std::move(second), false});
}

void RemoteSet::Erase(const IpAddress& address) {
  const auto piece = PieceOf(address);
  if (piece == pieces_.end()) return;
  const auto known = PlaceIn(*piece->entries, address);
  if (known == piece->entries->cend() || known->address != address) return;
  const auto at = known - piece->entries->cbegin();
  --size_;
  if (piece->entries->size() == 1) {
    pieces_.erase(piece);
    return;
  }
  std::vector<RemoteEntry>& entries = Own(*piece);
  entries.erase(entries.begin() + at);
  // A piece that has become small is merged with the next one, so that a set that shrinks has few pieces again.
  const auto next = piece + 1;
  if (next == pieces_.end() || entries.size() + next->entries->size() > kMost / 2) return;
  entries.insert(entries.end(), next->entries->begin(), next->entries->end());
  pieces_.erase(next);
}

const RemoteEntry* RemoteSet::Find(const IpAddress& address) const {
  const auto after = std::ranges::upper_bound(
      pieces_, address, {}, [](const Piece& piece) { return piece.entries->front().address; });
  if (after == pieces_.begin()) return nullptr;
  const std::vector<RemoteEntry>& entries = *(after - 1)->entries;
  const auto known = PlaceIn(entries, address);
  return known != entries.end() && known->address == address ? &*known : nullptr;
}

void RemoteSet::ForEach(const std::function<void(const RemoteEntry&)>& each) const {
  for (const Piece& piece : pieces_) {
    for (const RemoteEntry& entry : *piece.entries) each(entry);
  }
}

size_t RemoteSet::Unshared(const RemoteSet& before, const RemoteSet& after) {
  std::set<const void*> shared;
  for (const Piece& piece : before.pieces_) shared.insert(piece.entries.get());
  size_t count = 0;
  for (const Piece& piece : after.pieces_)
    count += shared.contains(piece.entries.get()) ? 0 : piece.entries->size();
  return count;
}

// A position in a walk through a set.
struct RemoteSet::Cursor {
  const std::vector<Piece>& pieces;
  size_t piece = 0;
  size_t entry = 0;

  bool at_end() const { return piece == pieces.size(); }
  const RemoteEntry& operator*() const { return (*pieces[piece].entries)[entry]; }
  void Next() {
    if (++entry == pieces[piece].entries->size()) NextPiece();
  }
  void NextPiece() {
    ++piece;
    entry = 0;
  }
  // Whether both are at the beginning of the same piece.
  bool Shares(const Cursor& other) const {
    return entry == 0 && other.entry == 0 && pieces[piece].entries == other.pieces[other.piece].entries;
  }
};

void RemoteSet::Difference(const RemoteSet& before, const RemoteSet& after,
                           const std::function<void(const IpAddress&)>& changed) {
  Cursor a{before.pieces_};
  Cursor b{after.pieces_};
  while (!a.at_end() && !b.at_end()) {
    if (a.Shares(b)) {
      a.NextPiece();
      b.NextPiece();
      continue;
    }
    const auto order = (*a).address <=> (*b).address;
    if (order < 0 || (order == 0 && *a != *b)) changed((*a).address);
    if (order > 0) changed((*b).address);
    if (order <= 0) a.Next();
    if (order >= 0) b.Next();
  }
  for (; !a.at_end(); a.Next()) changed((*a).address);
  for (; !b.at_end(); b.Next()) changed((*b).address);
}

}  // namespace rail::engine
