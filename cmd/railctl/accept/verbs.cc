#include "cmd/railctl/accept/verbs.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "cmd/railctl/accept/partners.h"

namespace rail::accept {
namespace {

constexpr uint32_t kPort = 18515;  // and one more for each rail
constexpr uint32_t kSeconds = 1;
constexpr uint32_t kMoreAgainstStrangers = 5;  // what is delivered takes less, as the controls have shown
constexpr Milliseconds kAnswer{20'000};        // of an agent, once the program has ended

struct Device {
  std::string name;
  uint32_t gid_index;
};

// The RDMA device of an interface. Errors: kUnsupported: what is missing.
Result<Device> DeviceOf(const Port& port, const std::string& program) {
  const auto& has = port.agent->has;
  if (std::ranges::find(has.programs(), program) == has.programs().end())
    return Fail(Code::kUnsupported,
                "pod " + port.pod() + " has no program " + program + " (Debian's package perftest)");
  // Where devices are shared, those of other pods have an interface of that name, too, and no GID of ours.
  const auto device = std::ranges::find_if(has.rdma_devices(), [&](const auto& each) {
    return each.interface() == port.ifname && each.gid_index() >= 0;
  });
  if (device == has.rdma_devices().end())
    return Fail(Code::kUnsupported, "pod " + port.pod() +
                                        " has no RDMA device with a GID of RoCE v2 for the IPv4 address of " +
                                        port.ifname);
  return Device{device->name(), static_cast<uint32_t>(device->gid_index())};
}

Result<v1::RunPerftestResponse> RunEnd(const Port& port, v1::RunPerftestRequest request) {
  RAIL_ASSIGN(const Device device, DeviceOf(port, request.program()));
  request.set_rdma_device(device.name);
  request.set_gid_index(device.gid_index);
  return Ask(*port.agent->stub, &v1::AcceptAgent::Stub::RunPerftest, request, port.agent->Whom(),
             std::chrono::seconds(request.seconds() + request.more_seconds()) + kAnswer);
}

// All rails of a pod may be tried at the same time, and all their programs listen in one network namespace.
uint32_t TcpPortOf(const Port& port) {
  const auto rail = std::ranges::find(port.node->rails, port.rail, &v1::Rail::name);
  return kPort + (rail == port.node->rails.end() ? 0 : rail->index());
}

std::string Place(const Port& port) {
  return port.agent->beside.empty() ? port.ipv4.ToString() : port.agent->beside;
}

// What the own tenant's pod has received; each pair once.
class Controls {
 public:
  Status Try(const Port& from, const Port& to, bool datagrams) {
    const auto [at, added] = done_.try_emplace({&from, &to, datagrams});
    if (added) at->second = Run(from, to, datagrams);
    return at->second;
  }

 private:
  static Status Run(const Port& from, const Port& to, bool datagrams) {
    RAIL_ASSIGN(const VerbsRun run, RunVerbs(from, to, "ib_send_bw", kSeconds, datagrams));
    if (run.Delivered()) return {};
    return Fail(Code::kTransient,
                fmt::format("{} from {} to {} of its own tenant does not work: {}", run.client.command(),
                            from.pod(), to.pod(), run.client.output()));
  }

  std::map<std::tuple<const Port*, const Port*, bool>, Status> done_;
};

Attempt TryStranger(const Port& me, const Port& stranger, bool datagrams,
                    const std::vector<Status>& controls) {
  for (const Status& control : controls) {
    if (!control) return NotMeasured(control.error().message);
  }
  const auto run = RunVerbs(me, stranger, "ib_send_bw", kSeconds, datagrams, kMoreAgainstStrangers);
  if (!run) return NotMeasured(run.error().message);
  Attempt attempt;
  attempt.set_control(
      "the same program has just delivered to the own tenant's pod, and the other pod has received its "
      "tenant's");
  attempt.set_verdict(run->Delivered() ? kFail : kPass);
  attempt.set_seen(
      fmt::format("the sender's end ends with {}, the receiver's {}", run->client.exit_status(),
                  run->server ? fmt::format("with {}", run->server->exit_status()) : "has waited in vain"));
  if (!run->client.met()) {
    return NotMeasured(
        "the two ends could not tell each other their queue pairs: that needs a network beside the rails, on "
        "which both pods are");
  }
  attempt.set_did(run->client.command());
  return attempt;
}

}  // namespace

bool HasVerbs(const Port& port, const std::string& program) {
  return DeviceOf(port, program).has_value();
}

Result<VerbsRun> RunVerbs(const Port& from, const Port& to, const std::string& program, uint32_t seconds,
                          bool datagrams, uint32_t more_seconds) {
  constexpr int kTries = 50;
  v1::RunPerftestRequest request;
  request.set_program(program);
  request.set_port(TcpPortOf(to));
  request.set_seconds(seconds);
  request.set_datagrams(datagrams);
  request.set_more_seconds(more_seconds);
  for (const Port* port : {&from, &to}) RAIL_TRY(DeviceOf(*port, program));
  auto server = std::async(std::launch::async, [&] { return RunEnd(to, request); });
  v1::RunPerftestRequest client = request;
  client.set_server(Place(to));
  auto answer = RunEnd(from, client);
  // perftest's client asks once, and the server does not say when it listens.
  for (int i = 0; i < kTries && answer && !answer->met() &&
                  server.wait_for(Milliseconds(100)) != std::future_status::ready;
       ++i)
    answer = RunEnd(from, client);
  auto at_server = server.get();
  if (!answer) return tl::make_unexpected(answer.error());
  return VerbsRun{std::move(*answer), std::move(at_server)};
}

void CheckVerbs(const Stage& stage, Book& book) {
  if (!book.Wants("isolation.verbs")) return;
  Controls controls;
  std::set<std::tuple<std::string, std::string, std::string, bool>>
      tried;  // rail, tenants, whether on one node
  for (const auto& [me, stranger] : Opponents(stage)) {
    const Port* const mate = Mate(stage, *me);
    const Port* const their_mate = Mate(stage, *stranger);
    if (mate == nullptr || their_mate == nullptr) continue;
    if (!tried.insert({me->rail, me->tenant, stranger->tenant, me->node == stranger->node}).second) continue;
    for (const bool datagrams : {false, true}) {
      book.Say(fmt::format("isolation.verbs, {} against {} on {}", me->pod(), stranger->pod(), me->rail));
      Attempt attempt =
          TryStranger(*me, *stranger, datagrams,
                      {controls.Try(*me, *mate, datagrams), controls.Try(*their_mate, *stranger, datagrams)});
      book.Add("isolation.verbs", Between(*me, *stranger, std::move(attempt)));
    }
  }
}

}  // namespace rail::accept
