#include "cmd/railctl/accept/rounds.h"

namespace rail::accept {

std::vector<std::vector<Pair>> Rounds(size_t count) {
  if (count < 2) return {};
  // So many stand on a circle, an odd number. In each round one of them meets the last, who stands in the middle, or rests.
  const size_t circle = count % 2 == 0 ? count - 1 : count;
  std::vector<std::vector<Pair>> rounds(circle);
  for (size_t turn = 0; turn < circle; ++turn) {
    if (circle < count) rounds[turn].push_back(turn % 2 == 0 ? Pair{turn, count - 1} : Pair{count - 1, turn});
    for (size_t step = 1; step <= circle / 2; ++step) {
      rounds[turn].push_back({(turn + step) % circle, (turn + circle - step) % circle});
    }
  }
  return rounds;
}

}  // namespace rail::accept
