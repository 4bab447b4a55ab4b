// AS paths, each kept once. A path is an index: its last AS, and the path before that one. So all nodes behind a leaf share the way
// to the leaf, and a remote that carries the index costs four bytes.
//
// Use:      const uint32_t path = paths.Keep({4200010001, 4200020001, 4200010002, 4200000007});   // the nearest AS first
//           const AsPaths seen = paths.snapshot();   seen.Origin(path);  seen.Leaf(path);  seen.Numbers(path);
// Threads:  AsPathsKeeper one; a snapshot any thread
// Cost:     a path O(its length); a snapshot one pointer for each 4,096 paths
// Source:   RFC 4271 section 5.1.2; RFC 7938 section 5.2.1: every leaf has an AS of its own
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace rail::engine {

// The paths that there were when it was taken. The path 0 is not known: it has no numbers.
class AsPaths {
 public:
  std::vector<uint32_t> Numbers(uint32_t path) const;  // the nearest AS first
  uint32_t Origin(uint32_t path) const;                // where it begins: a node. 0: not known
  // The AS behind which the origin is: its leaf, as a node has no other neighbor. 0: not known, or the path has no second AS.
  uint32_t Leaf(uint32_t path) const;
  // AS numbers on the way, each once though it may be prepended: 2 for a node behind our own leaf. 0: not known.
  uint32_t Hops(uint32_t path) const;

 private:
  friend class AsPathsKeeper;
  struct Step {
    uint32_t before = 0;  // the path without its last AS
    uint32_t as = 0;
  };
  static constexpr size_t kChunk = 4096;
  using Chunk = std::array<Step, kChunk>;
  const Step& At(uint32_t path) const { return (*chunks_[path / kChunk])[path % kChunk]; }

  std::vector<std::shared_ptr<Chunk>> chunks_;
  uint32_t size_ = 1;  // the path 0 included; a snapshot reads no step beyond
};

class AsPathsKeeper {
 public:
  // Steps that are kept, 8 bytes each and their index. 2,000 nodes with 8 rails, heard over 8 sessions, take 130,000 for each spine with an
  // AS of its own that their paths have gone over.
  static constexpr uint32_t kMost = 1U << 21;

  AsPathsKeeper();
  // 0: the path is empty, or there are kMost already.
  uint32_t Keep(const std::vector<uint32_t>& path);
  const AsPaths& snapshot() const { return paths_; }  // copy it

 private:
  AsPaths paths_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> index_;  // the path before, and its next AS
};

}  // namespace rail::engine
