#include "cmd/railctl/accept/neighbour.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <set>
#include <utility>

#include "cmd/railctl/accept/configuration.h"
#include "cmd/railctl/accept/echo_pair.h"
#include "cmd/railctl/accept/partners.h"
#include "cmd/railctl/accept/pauses.h"
#include "cmd/railctl/accept/verbs.h"
#include "lib/base/text.h"

namespace rail::accept {
namespace {

constexpr const char* kNeighbour = "qos.neighbour";
constexpr const char* kPauses = "qos.pauses";
constexpr const char* kProgram = "ib_write_bw";
constexpr uint32_t kBytes = 256;
constexpr uint32_t kQuietDatagrams = 500;
constexpr uint32_t kFloodDatagrams = 1000;  // one in kEchoPauseUs
constexpr uint32_t kNoiseSeconds = 5;       // by verbs
constexpr int kTries = 3;
constexpr uint32_t kVictimSeconds = 2;  // of its own verbs, within them
// A queue that drains holds less: 64 MB, a switch's whole buffer, are 5 ms at 100 Gb/s. Below ten times the quiet time it is the hosts'
// schedulers.
constexpr double kMostWaitUs = 5000;
constexpr double kMostGrowth = 10;
constexpr double kMostLostAlone = 0.01;
constexpr double kMostLost = 0.05;
constexpr double kLeastShare = 0.25;  // of the bandwidth alone: half is fair, and half of that is not
constexpr double kLeastNoise = 0.1;   // of what was sent: what is less has disturbed nobody

bool ByVerbs(const Trial& trial) {
  const auto has = [](const Port* port) { return HasVerbs(*port, kProgram); };
  return has(trial.noisy) && has(trial.noisy_mate);
}

// Each trial on a thread of its own.
template <class Do>
auto All(const std::vector<Trial>& trials, const Do& one) {
  using Answer = decltype(one(trials.front()));
  std::vector<std::future<Answer>> running;
  running.reserve(trials.size());
  for (const Trial& trial : trials)
    running.push_back(std::async(std::launch::async, [&one, &trial] { return one(trial); }));
  std::vector<Answer> answers;
  for (auto& each : running) answers.push_back(each.get());
  return answers;
}

Result<v1::EchoResponse> Alone(const Trial& trial) {
  return Echo(*trial.victim, *trial.mate, kQuietDatagrams, kBytes);
}

struct Noise {
  std::string what;
  bool arrived = false;
};

Result<Noise> MakeNoise(const Trial& trial) {
  const std::string who = trial.noisy->pod() + " to " + trial.noisy_mate->pod();
  if (ByVerbs(trial)) {
    RAIL_ASSIGN(const VerbsRun run,
                RunVerbs(*trial.noisy, *trial.noisy_mate, kProgram, kNoiseSeconds, false));
    return Noise{fmt::format("{} from {}: {:.1f} Gb/s", kProgram, who, run.client.gbps()), run.Delivered()};
  }
  RAIL_ASSIGN(const auto answer, Echo(*trial.noisy, *trial.noisy_mate, kFloodDatagrams, trial.noisy->mtu));
  return Noise{fmt::format("{} datagrams a second of {} bytes from {}, and back: {} of {} came back",
                           1'000'000 / kEchoPauseUs, trial.noisy->mtu, who, answer.received(), answer.sent()),
               answer.received() >= kLeastNoise * answer.sent() && answer.received() > 0};
}

struct Loud {
  Noise noise;
  v1::EchoResponse echo;
};

Result<Loud> BesideNoise(const Trial& trial) {
  const uint32_t seconds = ByVerbs(trial) ? kNoiseSeconds + 1 : 1;
  auto noise = std::async(std::launch::async, [&] { return MakeNoise(trial); });
  auto echo = Echo(*trial.victim, *trial.mate, seconds * (1'000'000 / kEchoPauseUs), kBytes);
  Loud loud;
  RAIL_ASSIGN(loud.noise, noise.get());
  RAIL_ASSIGN(loud.echo, std::move(echo));
  return loud;
}

// Gb/s of the victim; 0: its program has failed. Errors: kUnsupported: somebody has no verbs.
Result<double> Bandwidth(const Trial& trial) {
  RAIL_ASSIGN(const VerbsRun run, RunVerbs(*trial.victim, *trial.mate, kProgram, kVictimSeconds, false));
  return run.Delivered() ? run.client.gbps() : 0;
}

Result<double> BandwidthBesideNoise(const Trial& trial) {
  if (!ByVerbs(trial)) return Fail(Code::kUnsupported, "the noise is not by verbs");
  auto noise = std::async(std::launch::async, [&] { return MakeNoise(trial); });
  auto gbps = Bandwidth(trial);
  RAIL_ASSIGN(const Noise made, noise.get());
  if (!made.arrived) return Fail(Code::kTransient, "the noise does not arrive: " + made.what);
  return gbps;
}

// All that was measured of one trial, one thing after the other.
struct Phases {
  Result<v1::EchoResponse> before;
  Result<Loud> during;
  Result<v1::EchoResponse> after;
  Result<double> alone;
  Result<double> beside;
};

Result<Disturbed> Together(const Trial& trial, Phases phases) {
  Disturbed seen;
  seen.by_verbs = ByVerbs(trial);
  RAIL_ASSIGN(seen.before, std::move(phases.before));
  RAIL_ASSIGN(Loud loud, std::move(phases.during));
  RAIL_ASSIGN(seen.after, std::move(phases.after));
  seen.during = std::move(loud.echo);
  seen.noise = std::move(loud.noise.what);
  seen.noise_arrived = loud.noise.arrived;
  for (const auto* part : {&phases.alone, &phases.beside}) {
    if (!*part && part->error().code == Code::kUnsupported) return seen;
  }
  RAIL_ASSIGN(const double alone, phases.alone);
  RAIL_ASSIGN(const double beside, phases.beside);
  seen.bandwidth = {.alone = alone, .beside = beside};
  return seen;
}

// Nobody is loud while others are to be alone: all trials have the same phase at the same time.
std::vector<Result<Disturbed>> Measure(const std::vector<Trial>& trials) {
  auto before = All(trials, Alone);
  auto during = All(trials, BesideNoise);
  auto after = All(trials, Alone);
  auto alone = All(trials, Bandwidth);
  auto beside = All(trials, BandwidthBesideNoise);
  std::vector<Result<Disturbed>> all;
  for (size_t i = 0; i < trials.size(); ++i)
    all.push_back(Together(trials[i], {std::move(before[i]), std::move(during[i]), std::move(after[i]),
                                       std::move(alone[i]), std::move(beside[i])}));
  return all;
}

Attempt AttemptOf(const Trial& trial, const Result<Disturbed>& seen) {
  Attempt attempt = seen ? JudgeNeighbour(*seen) : NotMeasured(seen.error().message);
  attempt.set_did(
      fmt::format("UDP datagrams of {} bytes, {} us apart, and back (echo), while {} of {} is noisy", kBytes,
                  kEchoPauseUs, trial.noisy->pod(), trial.noisy->tenant));
  return Between(*trial.victim, *trial.mate, std::move(attempt));
}

using Uplink = std::pair<const Node*, std::string>;

Uplink UplinkOf(const Port& port) {
  return {port.node, port.rail};
}

// Of the same tenant and rail on another node, over an uplink that is free: below another leaf if there is one. `wanted`: the node that
// it shall be on; null: any.
const Port* MateElsewhere(const std::vector<Port>& ports, const Port& port, const std::set<Uplink>& busy,
                          const Node* wanted) {
  const Port* found = nullptr;
  for (const Port& other : ports) {
    if (other.tenant != port.tenant || other.rail != port.rail || other.node == port.node) continue;
    if (wanted == nullptr ? busy.contains(UplinkOf(other)) : other.node != wanted) continue;
    if (found == nullptr || (found->leaf == port.leaf && other.leaf != port.leaf)) found = &other;
  }
  return found;
}

// The trial of a victim over uplinks that are free; none: there is none now.
std::optional<Trial> TrialOf(const std::vector<Port>& ports, const Port& victim,
                             const std::set<Uplink>& busy) {
  if (busy.contains(UplinkOf(victim))) return {};
  const Port* const mate = MateElsewhere(ports, victim, busy, nullptr);
  if (mate == nullptr) return {};
  for (const Port& noisy : ports) {
    if (noisy.tenant == victim.tenant || UplinkOf(noisy) != UplinkOf(victim)) continue;
    const Port* noisy_mate = MateElsewhere(ports, noisy, busy, mate->node);
    if (noisy_mate == nullptr) noisy_mate = MateElsewhere(ports, noisy, busy, nullptr);
    if (noisy_mate != nullptr) return Trial{&victim, mate, &noisy, noisy_mate};
  }
  return {};
}

bool LosesMoreThan(double share, const v1::EchoResponse& echo) {
  return echo.sent() == 0 || echo.sent() - echo.received() > share * echo.sent();
}

std::string Shown(const char* when, const v1::EchoResponse& echo) {
  return fmt::format("{}: {} of {} came back, p50 {:.0f} us, p99 {:.0f} us", when, echo.received(),
                     echo.sent(), echo.p50_us(), echo.p99_us());
}

}  // namespace

std::vector<std::vector<Trial>> TrialRounds(const std::vector<Port>& ports) {
  std::vector<const Port*> left;
  for (const Port& port : ports) left.push_back(&port);
  std::vector<std::vector<Trial>> rounds;
  for (;;) {
    std::vector<Trial> round;
    std::set<Uplink> busy;
    std::erase_if(left, [&](const Port* victim) {
      const auto trial = TrialOf(ports, *victim, busy);
      if (!trial) return false;
      for (const Port* port : {trial->victim, trial->mate, trial->noisy_mate}) busy.insert(UplinkOf(*port));
      round.push_back(*trial);
      return true;
    });
    if (round.empty()) return rounds;
    rounds.push_back(std::move(round));
  }
}

Attempt JudgeNeighbour(const Disturbed& seen) {
  const double quiet = std::max(seen.before.p99_us(), seen.after.p99_us());
  const double most = std::max(kMostGrowth * quiet, kMostWaitUs);
  Attempt attempt;
  attempt.set_value(seen.during.p99_us());
  attempt.set_unit("us");
  std::string text = Shown("alone", seen.before) + "; " + Shown("beside the noise", seen.during) + "; " +
                     Shown("alone again", seen.after);
  if (seen.bandwidth)
    Append(text, "; ",
           fmt::format("{} {:.1f} Gb/s alone, {:.1f} beside the noise", kProgram, seen.bandwidth->alone,
                       seen.bandwidth->beside));
  attempt.set_control(seen.noise);
  attempt.set_seen(text);
  std::string problem;
  if (!seen.noise_arrived) {
    problem = "the noise does not arrive at its own tenant's pod, so nobody was noisy: " + seen.noise;
  } else if (LosesMoreThan(kMostLostAlone, seen.before) || LosesMoreThan(kMostLostAlone, seen.after)) {
    problem = "datagrams are lost also without noise: speed.reach says more";
  } else if (seen.bandwidth && seen.bandwidth->alone <= 0) {
    problem = fmt::format("{} does not work also without noise: speed.write-bandwidth says more", kProgram);
  }
  if (!problem.empty()) {
    attempt.set_verdict(kCouldNotMeasure);
    attempt.set_seen(problem + "; " + text);
    return attempt;
  }
  if (LosesMoreThan(kMostLost, seen.during))
    Append(problem, "; ",
           fmt::format("{} of its {} datagrams are lost beside the noise",
                       seen.during.sent() - seen.during.received(), seen.during.sent()));
  if (seen.during.p99_us() > most) Append(problem, "; ", fmt::format("its p99 grows beyond {:.0f} us", most));
  if (seen.bandwidth && seen.bandwidth->beside < kLeastShare * seen.bandwidth->alone)
    Append(problem, "; ", "less than a quarter of its bandwidth is left");
  attempt.set_verdict(problem.empty() ? kPass : kFail);
  if (!problem.empty()) attempt.set_seen(problem + "; " + text);
  return attempt;
}

std::vector<std::vector<Trial>> TrialRounds(const Stage& stage) {
  auto rounds = TrialRounds(stage.ports());
  if (std::ranges::none_of(stage.nodes(), [](const auto& node) { return IsInUserspace(*node); }))
    return rounds;
  std::vector<std::vector<Trial>> single;
  for (const auto& round : rounds)
    for (const Trial& trial : round) single.push_back({trial});
  return single;
}

namespace {

// Measured again and again before it counts: a host that is busy for a moment is no neighbour.
Attempt LastOf(const Trial& trial, Attempt first, const Book& book) {
  for (int i = 1; i < kTries && first.verdict() != kPass; ++i) {
    book.Say(fmt::format("{}, once more: {}", kNeighbour, trial.victim->pod()));
    first = AttemptOf(trial, Measure({trial}).front());
  }
  return first;
}

}  // namespace

void CheckNeighbours(const Stage& stage, Book& book) {
  if (!book.Wants(kNeighbour) && !book.Wants(kPauses)) return;
  const auto rounds = TrialRounds(stage);
  for (size_t i = 0; i < rounds.size(); ++i) {
    const auto& trials = rounds[i];
    book.Say(fmt::format("{}, round {} of {}", kNeighbour, i + 1, rounds.size()));
    const UplinkCounters before = CountUplinks(stage);
    const auto seen = Measure(trials);
    const UplinkCounters after = CountUplinks(stage);
    std::vector<Book::Found> found;
    for (size_t n = 0; n < trials.size(); ++n) {
      if (book.Wants(kNeighbour))
        found.push_back({kNeighbour, LastOf(trials[n], AttemptOf(trials[n], seen[n]), book)});
      found.push_back({kPauses, PausesBetween(*trials[n].victim, *trials[n].mate, before, after,
                                              seen[n] && seen[n]->by_verbs)});
    }
    book.AddTogether(std::move(found));
  }
  if (!rounds.empty()) return;
  for (const char* check : {kNeighbour, kPauses})
    book.Add(check, NotMeasured("no two tenants have each a pod on one node and another one elsewhere, so "
                                "nobody has a neighbour"));
}

}  // namespace rail::accept
