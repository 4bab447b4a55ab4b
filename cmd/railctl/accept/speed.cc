#include "cmd/railctl/accept/speed.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>

#include "cmd/railctl/accept/echo_pair.h"
#include "cmd/railctl/accept/mesh.h"
#include "cmd/railctl/accept/partners.h"

namespace rail::accept {
namespace {

constexpr uint32_t kDatagrams = 200;
constexpr uint32_t kDatagramBytes = 1024;
constexpr uint32_t kTestSeconds = 5;  // of a program of perftest

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
  for (const Port& port : stage.ports()) {
    const Port* const mate = Mate(stage, port);
    if (mate == nullptr) continue;
    Attempt attempt = EchoAttempt(port, *mate, 20, port.mtu);
    attempt.set_rail(port.rail);
    attempt.set_from(port.pod());
    attempt.set_to(mate->pod());
    book.Add("speed.mtu", std::move(attempt));
  }
}

struct Verbs {
  std::string device;
  uint32_t gid_index;
};

// The RDMA device of an interface. Errors: kUnsupported: what is missing.
Result<Verbs> VerbsOf(const Port& port, const std::string& program) {
  const auto& has = port.agent->has;
  if (std::ranges::find(has.programs(), program) == has.programs().end())
    return Fail(Code::kUnsupported,
                "pod " + port.pod() + " has no program " + program + " (Debian's package perftest)");
  const auto device =
      std::ranges::find(has.rdma_devices(), port.ifname, &v1::DescribeAgentResponse::RdmaDevice::interface);
  if (device == has.rdma_devices().end())
    return Fail(Code::kUnsupported, "pod " + port.pod() + " has no RDMA device for " + port.ifname);
  if (device->gid_index() < 0)
    return Fail(Code::kUnsupported, device->name() + " of pod " + port.pod() +
                                        " has no GID of RoCE v2 for an address of " + port.ifname);
  return Verbs{device->name(), static_cast<uint32_t>(device->gid_index())};
}

Result<v1::RunPerftestResponse> RunEnd(const Port& port, v1::RunPerftestRequest request) {
  RAIL_ASSIGN(const Verbs verbs, VerbsOf(port, request.program()));
  request.set_rdma_device(verbs.device);
  request.set_gid_index(verbs.gid_index);
  return Ask(*port.agent->stub, &v1::AcceptAgent::Stub::RunPerftest, request, port.agent->Whom(),
             Milliseconds{1000 * (kTestSeconds + 60)});
}

// The client's end finds nobody until the server's listens: it is run again, at most so often.
Result<v1::RunPerftestResponse> RunBothEnds(const Port& from, const Port& to,
                                            const v1::RunPerftestRequest& request) {
  constexpr int kTries = 50;
  auto server = std::async(std::launch::async, [&] { return RunEnd(to, request); });
  v1::RunPerftestRequest client = request;
  client.set_server(to.ipv4.ToString());
  Result<v1::RunPerftestResponse> answer = RunEnd(from, client);
  for (int i = 0; i < kTries && answer && answer->exit_status() != 0 &&
                  server.wait_for(Milliseconds(100)) != std::future_status::ready;
       ++i)
    answer = RunEnd(from, client);
  const auto at_server = server.get();
  if (answer && !at_server) return tl::make_unexpected(at_server.error());
  return answer;
}

Attempt PerftestAttempt(const Port& from, const Port& to, const std::string& program) {
  v1::RunPerftestRequest request;
  request.set_program(program);
  request.set_port(18515);
  request.set_seconds(kTestSeconds);
  for (const Port* port : {&from, &to}) {
    if (const auto verbs = VerbsOf(*port, program); !verbs) return NotMeasured(verbs.error().message);
  }
  const auto answer = RunBothEnds(from, to, request);
  if (!answer) return NotMeasured(answer.error().message);
  const bool bandwidth = program.ends_with("_bw");
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
      stage, quick,
      {"speed.reach",
       [](const Port& from, const Port& to) { return EchoAttempt(from, to, kDatagrams, kDatagramBytes); },
       [](double value, double median) { return value < 3 * median + 500; }},
      book);
  CheckMtu(stage, book);
  MeasureMesh(stage, quick,
              {"speed.write-bandwidth",
               [](const Port& from, const Port& to) { return PerftestAttempt(from, to, "ib_write_bw"); },
               [](double value, double median) { return value > 0.9 * median; }},
              book);
  MeasureMesh(stage, quick,
              {"speed.write-latency",
               [](const Port& from, const Port& to) { return PerftestAttempt(from, to, "ib_write_lat"); },
               [](double value, double median) { return value < 1.5 * median + 2; }},
              book);
}

}  // namespace rail::accept
