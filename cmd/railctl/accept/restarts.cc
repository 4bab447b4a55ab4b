#include "cmd/railctl/accept/restarts.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <map>
#include <utility>

#include "cmd/railctl/accept/echo_pair.h"
#include "cmd/railctl/accept/partners.h"
#include "cmd/railctl/accept/rounds.h"
#include "cmd/railctl/accept/verbs.h"
#include "cmd/railctl/accept/window.h"
#include "lib/base/text.h"

namespace rail::accept {
namespace {

constexpr double kMostSilenceMs = 1000;
constexpr uint32_t kBytes = 256;
constexpr const char* kSilence = "restart.silence";
constexpr const char* kQueuePairs = "restart.queue-pairs";

using Ports = std::vector<std::pair<const Port*, const Port*>>;

// How a node's raild was, by what a restart changes.
struct Before {
  int64_t started_ns = 0;
  std::map<std::string, uint64_t> failures;  // by part
};

Before Look(const v1::NodeInfo& info) {
  Before before;
  before.started_ns = info.started().seconds() * 1'000'000'000 + info.started().nanos();
  for (const v1::HealthPart& part : info.health()) before.failures[part.part()] = part.failures();
  return before;
}

Result<v1::GetNodeResponse> AskNode(const Node& node) {
  return Ask(*node.raild, &v1::Node::Stub::GetNode, {}, node.Whom());
}

// What has happened on the node since then, in words; "": nothing that its raild has seen.
std::string Since(const Before& before, const Node& node) {
  const auto now = AskNode(node);
  if (!now) return node.Whom() + " does not answer: " + now.error().message;
  const Before after = Look(now->node());
  if (after.started_ns != before.started_ns) return "raild of " + node.name + " was started";
  std::string parts;
  for (const auto& [part, failures] : after.failures) {
    const auto then = before.failures.find(part);
    if (failures > (then == before.failures.end() ? 0 : then->second)) Append(parts, ", ", part);
  }
  return parts.empty() ? "" : node.name + ": failed for a while: " + parts;
}

// Those of the first rounds of every tenant and rail: one round has an interface once, two leave none out. So a pod of a large fabric has no
// more to do than one of a small one.
Ports PairsOf(const Stage& stage, size_t most_rounds) {
  Ports pairs;
  for (const auto& circle : Circles(stage.ports())) {
    const auto rounds = Rounds(circle.size());
    for (size_t i = 0; i < std::min(most_rounds, rounds.size()); ++i)
      for (const Pair& pair : rounds[i]) pairs.emplace_back(circle[pair.a], circle[pair.b]);
  }
  return pairs;
}

Attempt Silence(const Port& from, const Port& to, uint32_t seconds) {
  const uint32_t datagrams = seconds * (1'000'000 / kEchoPauseUs);
  const auto answer = Echo(from, to, datagrams, kBytes);
  if (!answer) return NotMeasured(answer.error().message);
  if (answer->received() == 0)
    return NotMeasured("nothing came back from the first datagram on: speed.reach says more");
  Attempt attempt;
  attempt.set_did(fmt::format("{} UDP datagrams, {} us apart, and back (echo)", datagrams, kEchoPauseUs));
  attempt.set_seen(fmt::format("longest silence {:.0f} ms; {} of {} came back", answer->longest_silence_ms(),
                               answer->received(), datagrams));
  attempt.set_value(answer->longest_silence_ms());
  attempt.set_unit("ms");
  attempt.set_verdict(answer->longest_silence_ms() > kMostSilenceMs ? kFail : kPass);
  return attempt;
}

Attempt QueuePair(const Port& from, const Port& to, uint32_t seconds) {
  const auto run = RunVerbs(from, to, "ib_send_bw", seconds, false);
  if (!run) return NotMeasured(run.error().message);
  if (!run->client.met()) return NotMeasured("the two ends could not tell each other their queue pairs");
  Attempt attempt;
  attempt.set_did(run->client.command());
  attempt.set_seen(run->Delivered() ? "the queue pair lived"
                                    : "the queue pair was lost: " + run->client.output());
  attempt.set_verdict(run->Delivered() ? kPass : kFail);
  return attempt;
}

struct Running {
  const char* check;
  const Port* from;
  const Port* to;
  std::future<Attempt> attempt;
};

std::vector<Running> Begin(const Stage& stage, uint32_t seconds, const Book& book) {
  std::vector<Running> running;
  const auto add = [&](const char* check, const Ports& pairs, auto measure) {
    if (!book.Wants(check)) return;
    for (const auto& [from, to] : pairs)
      running.push_back({check, from, to, std::async(std::launch::async, [=, from = from, to = to] {
                           return measure(*from, *to, seconds);
                         })});
  };
  add(kSilence, PairsOf(stage, 2), &Silence);
  add(kQueuePairs, PairsOf(stage, 1), &QueuePair);  // a program is alone on its interface
  return running;
}

}  // namespace

void CheckRestarts(const Stage& stage, uint32_t seconds, std::ostream& err, Book& book) {
  std::vector<Before> before;
  for (const auto& node : stage.nodes()) {
    const auto now = AskNode(*node);
    if (!now) return book.AddToAll("restart", NotMeasured(now.error().message));
    before.push_back(Look(now->node()));
  }
  auto running = Begin(stage, seconds, book);
  std::vector<Attempt> attempts;
  {
    const Window window(err, "restarts", "restart now, on any of the nodes, what you want to know about",
                        seconds);
    for (Running& each : running) attempts.push_back(each.attempt.get());
  }
  std::string happened;
  for (size_t i = 0; i < before.size(); ++i) {
    if (const std::string since = Since(before[i], *stage.nodes()[i]); !since.empty())
      Append(happened, "; ", since);
  }
  std::vector<Book::Found> found;
  for (size_t i = 0; i < attempts.size(); ++i) {
    Attempt& attempt = attempts[i];
    if (happened.empty() && attempt.verdict() == kPass)
      attempt = NotMeasured("no raild has seen anything restart; " + attempt.seen());
    attempt.set_control(happened);
    found.push_back({running[i].check, Between(*running[i].from, *running[i].to, std::move(attempt))});
  }
  book.AddTogether(std::move(found));
}

}  // namespace rail::accept
