// The addresses of one tenant elsewhere, sorted, in pieces that copies share. A copy copies no address, and a change copies one
// piece. Difference skips the pieces that two sets share.
//
// Use:      RemoteSet now = before;  now.Set({.address = a, .rail = 3});  now.Erase(b);
//           RemoteSet::Difference(before, now, [](const IpAddress& changed) { ... });
// Threads:  as a value; sets that share pieces may be on different threads, since a piece that is shared never changes
// Cost:     n addresses: Set, Erase, Find O(log n); a copy and Difference O(n / 256 + what differs)
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "lib/base/address.h"

namespace rail::engine {

struct RemoteEntry {
  IpAddress address;
  uint32_t rail = 0;       // the index of the rail that it is announced for
  bool contested = false;  // another tenant announces it too: it reaches nobody
  uint32_t as_path = 0;    // of AsPaths: how it has come here
  // Whether it has the same rules: the way to it makes none.
  bool operator==(const RemoteEntry& other) const {
    return address == other.address && rail == other.rail && contested == other.contested;
  }
};

class RemoteSet {
 public:
  RemoteSet() = default;
  // The copies share all pieces, so neither may change one in place any more.
  RemoteSet(const RemoteSet& other);
  RemoteSet& operator=(const RemoteSet& other) = delete;
  RemoteSet(RemoteSet&&) = default;
  RemoteSet& operator=(RemoteSet&&) = default;
  ~RemoteSet() = default;

  // Adds `entry`, or replaces the entry of its address.
  void Set(const RemoteEntry& entry);
  void Erase(const IpAddress& address);  // does nothing if it is not there
  const RemoteEntry* Find(const IpAddress& address) const;
  void ForEach(const std::function<void(const RemoteEntry&)>& each) const;

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // Calls `changed`, in ascending order, for every address that only one set has, or whose entries differ.
  static void Difference(const RemoteSet& before, const RemoteSet& after,
                         const std::function<void(const IpAddress&)>& changed);
  // How many entries of `after` are in pieces that it does not share with `before`. Difference reads these entries, and the two
  // sets need memory for these entries beyond that of one set.
  static size_t Unshared(const RemoteSet& before, const RemoteSet& after);

 private:
  static constexpr size_t kMost = 512;  // entries of a piece; a piece with more is split in two
  struct Piece {
    std::shared_ptr<std::vector<RemoteEntry>> entries;  // never empty
    mutable bool shared = false;  // another set may have it, too: copy it before it changes
  };
  struct Cursor;

  std::vector<Piece>::iterator PieceOf(const IpAddress& address);
  static std::vector<RemoteEntry>& Own(Piece& piece);

  std::vector<Piece> pieces_;
  size_t size_ = 0;
};

}  // namespace rail::engine
