#include "lib/engine/learned/as_paths.h"

#include <algorithm>

namespace rail::engine {

std::vector<uint32_t> AsPaths::Numbers(uint32_t path) const {
  std::vector<uint32_t> numbers;
  for (; path != 0 && path < size_; path = At(path).before) numbers.push_back(At(path).as);
  std::ranges::reverse(numbers);
  return numbers;
}

uint32_t AsPaths::Origin(uint32_t path) const {
  return path == 0 || path >= size_ ? 0 : At(path).as;
}

uint32_t AsPaths::Leaf(uint32_t path) const {
  const uint32_t origin = Origin(path);
  while (path != 0 && path < size_ && At(path).as == origin) path = At(path).before;
  return Origin(path);
}

uint32_t AsPaths::Hops(uint32_t path) const {
  uint32_t hops = 0;
  for (uint32_t last = 0; path != 0 && path < size_; path = At(path).before) {
    hops += At(path).as != last ? 1 : 0;
    last = At(path).as;
  }
  return hops;
}

AsPathsKeeper::AsPathsKeeper() {
  paths_.chunks_.push_back(std::make_shared<AsPaths::Chunk>());
}

// A step is written before any snapshot knows its index, and never again.
uint32_t AsPathsKeeper::Keep(const std::vector<uint32_t>& path) {
  uint32_t at = 0;
  for (const uint32_t as : path) {
    const auto [known, is_new] = index_.try_emplace({at, as}, paths_.size_);
    if (is_new) {
      if (paths_.size_ >= kMost) {
        index_.erase(known);
        return 0;
      }
      if (paths_.size_ % AsPaths::kChunk == 0) paths_.chunks_.push_back(std::make_shared<AsPaths::Chunk>());
      (*paths_.chunks_.back())[paths_.size_ % AsPaths::kChunk] = {at, as};
      ++paths_.size_;
    }
    at = known->second;
  }
  return at;
}

}  // namespace rail::engine
