// A pod beside a noisy tenant: its round trips and its bandwidth alone, while a pod of another tenant on its node sends all it can to its own
// mate, and alone again.
//
// Use:      CheckNeighbours(stage, book);
// Threads:  one; agents are asked by as many threads as a round has trials
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cmd/railctl/accept/book.h"
#include "cmd/railctl/accept/stage.h"

namespace rail::accept {

// Who is disturbed, and by whom. The pods of `victim` and `noisy` are on one node, their mates are on others.
struct Trial {
  const Port* victim;
  const Port* mate;
  const Port* noisy;
  const Port* noisy_mate;
};
// Each interface that can be a victim once. Trials of one round have no uplink in common, so that nobody is disturbed by a third.
std::vector<std::vector<Trial>> TrialRounds(const std::vector<Port>& ports);
// As they are measured. Where a host's processor forwards, what is sent on one rail takes from what is left for the others: one trial a round.
std::vector<std::vector<Trial>> TrialRounds(const Stage& stage);

struct Disturbed {
  v1::EchoResponse before;
  v1::EchoResponse during;
  v1::EchoResponse after;
  std::string noise;           // what was sent, and how much of it arrived
  bool noise_arrived = false;  // at its own mate
  bool by_verbs = false;
  struct Bandwidth {
    double alone = 0;  // Gb/s
    double beside = 0;
  };
  std::optional<Bandwidth> bandwidth;  // none: there are no verbs
};
// Its verdict and what was seen.
Attempt JudgeNeighbour(const Disturbed& seen);

// Fills the checks "qos.neighbour" and "qos.pauses" (pauses.h): the noise is the load of both.
void CheckNeighbours(const Stage& stage, Book& book);

}  // namespace rail::accept
