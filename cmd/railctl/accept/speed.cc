#include "cmd/railctl/accept/speed.h"

#include <fmt/format.h>

#include "cmd/railctl/accept/echo_pair.h"
#include "cmd/railctl/accept/mesh.h"
#include "cmd/railctl/accept/partners.h"
#include "cmd/railctl/accept/verbs.h"

namespace rail::accept {
namespace {

constexpr uint32_t kDatagrams = 200;
constexpr uint32_t kDatagramBytes = 1024;
constexpr uint32_t kBandwidthSeconds = 5;
constexpr uint32_t kLatencySeconds = 1;  // 1,000 exchanges

Attempt EchoAttempt(const Port& from, const Port& to, uint32_t datagrams, uint32_t bytes) {
  const auto answer = Echo(from, to, datagrams, bytes);
  if (!answer) return NotMeasured(answer.error().message);
  Attempt attempt;
  attempt.set_did(std::to_string(datagrams) + " UDP datagrams of " + std::to_string(bytes) + " bytes, " +
                  std::to_string(kEchoPauseUs) + " us apart, and back (echo, DF)");
  std::string seen = std::to_string(answer->received()) + " of " + std::to_string(datagrams) + " came back";
  if (!answer->refused().empty()) seen += "; the kernel refused to send: " + answer->refused();
  if (answer->received() > 0)
    seen += fmt::format("; p50 {:.0f} us, p99 {:.0f} us, longest silence {:.0f} ms", answer->p50_us(),
                        answer->p99_us(), answer->longest_silence_ms());
  attempt.set_seen(seen);
  attempt.set_value(answer->p50_us());
  attempt.set_unit("us");
  attempt.set_verdict(answer->received() == datagrams ? kPass : kFail);
  return attempt;
}

// Packets as large as the rail lets them be, between each interface and its mate.
void CheckMtu(const Stage& stage, Book& book) {
  if (!book.Wants("speed.mtu")) return;
  for (const Port& port : stage.ports()) {
    const Port* const mate = Mate(stage, port);
    if (mate == nullptr) continue;
    book.Add("speed.mtu", Between(port, *mate, EchoAttempt(port, *mate, 20, port.mtu)));
  }
}

Attempt PerftestAttempt(const Port& from, const Port& to, const std::string& program) {
  const bool bandwidth = program.ends_with("_bw");
  const auto run = RunVerbs(from, to, program, bandwidth ? kBandwidthSeconds : kLatencySeconds, false);
  if (!run) return NotMeasured(run.error().message);
  const v1::RunPerftestResponse* const answer = &run->client;
  Attempt attempt;
  attempt.set_did(answer->command());
  attempt.set_value(bandwidth ? answer->gbps() : answer->typical_us());
  attempt.set_unit(bandwidth ? "Gb/s" : "us");
  attempt.set_seen(answer->exit_status() == 0
                       ? answer->output()
                       : "exit status " + std::to_string(answer->exit_status()) + ": " + answer->output());
  attempt.set_verdict(answer->exit_status() == 0 && attempt.value() > 0 ? kPass : kFail);
  return attempt;
}

}  // namespace

void CheckSpeed(const Stage& stage, bool quick, Book& book) {
  // A round trip is slow beyond thrice the median and half a millisecond: less is the schedulers' of the two hosts.
  MeasureMesh(
      stage.ports(), quick,
      {"speed.reach",
       [](const Port& from, const Port& to) { return EchoAttempt(from, to, kDatagrams, kDatagramBytes); },
       false, [](double value, double median) { return value < 3 * median + 500; }},
      book);
  CheckMtu(stage, book);
  MeasureMesh(stage.ports(), quick,
              {"speed.write-bandwidth",
               [](const Port& from, const Port& to) { return PerftestAttempt(from, to, "ib_write_bw"); },
               true, [](double value, double median) { return value > 0.9 * median; }},
              book);
  MeasureMesh(stage.ports(), quick,
              {"speed.write-latency",
               [](const Port& from, const Port& to) { return PerftestAttempt(from, to, "ib_write_lat"); },
               false, [](double value, double median) { return value < 1.5 * median + 2; }},
              book);
}

}  // namespace rail::accept
