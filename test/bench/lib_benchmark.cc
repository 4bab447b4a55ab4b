// What the library's own steps cost: rules as text, their difference, the record, node.json, and 20,000 rules into a
// real switch. Google Benchmark; test/bench/run.sh reads its JSON.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "lib/config/node_config.h"
#include "lib/engine/attach/pipeline.h"
#include "lib/ovs/mgmt_connection.h"
#include "lib/state/sqlite.h"
#include "test/contract/ovs_fixture.h"

namespace rail {
namespace {

constexpr size_t kManyRules = 20000;

pipeline::BridgeFacts Bridge() {
  return {.uplink_port = 1,
          .bridge_mac = *MacAddress::Parse("02:00:00:00:00:01"),
          .gateway_mac = *MacAddress::Parse("02:52:41:49:4c:00")};
}

// The rules of `count` remotes.
std::vector<ovs::Rule> RemoteRules(size_t count) {
  std::vector<ovs::Rule> rules;
  for (size_t i = 0; rules.size() < count; ++i) {
    const auto address = IpAddress::Parse("10." + std::to_string(1 + i / 65536) + "." +
                                          std::to_string(i / 256 % 256) + "." + std::to_string(i % 256));
    rules.push_back(*pipeline::RemoteRule(Bridge(), *address, {tenancy::TenantId{1 + i % 500}}));
  }
  return rules;
}

Result<std::vector<ovs::Rule>> CanonicalRules(size_t count) {
  std::vector<ovs::Rule> rules = RemoteRules(count);
  for (ovs::Rule& rule : rules) {
    RAIL_ASSIGN(rule, ovs::Canonical(rule));
  }
  return rules;
}

void CanonicalForm(benchmark::State& state) {
  const std::vector<ovs::Rule> rules = RemoteRules(1000);
  size_t next = 0;
  for (auto _ : state) {
    const auto canonical = ovs::Canonical(rules[next++ % rules.size()]);
    if (!canonical) return state.SkipWithError(canonical.error().message.c_str());
    benchmark::DoNotOptimize(canonical);
  }
}
BENCHMARK(CanonicalForm)->Unit(benchmark::kMicrosecond);

// Nothing to do, which is what raild's audit finds; and `range` rules of which each needs a change.
void DifferenceOfManyRules(benchmark::State& state) {
  const auto want = CanonicalRules(kManyRules);
  if (!want) return state.SkipWithError(want.error().message.c_str());
  std::vector<ovs::Rule> have = *want;
  const auto wrong = static_cast<size_t>(state.range(0));
  for (size_t i = 0; i < wrong; ++i) have[i].actions = "drop";
  for (auto _ : state) {
    const ovs::Change change = ovs::Difference(have, *want);
    if (change.add.size() != wrong) return state.SkipWithError("the difference is wrong");
  }
}
BENCHMARK(DifferenceOfManyRules)->Arg(0)->Arg(kManyRules)->Unit(benchmark::kMillisecond);

state::Attachment Draft() {
  state::Attachment draft;
  draft.key = {"rail0", std::string(64, 'c'), "net1"};
  draft.rail = "rail0";
  draft.netns_path = "/run/netns/pod";
  draft.device = "vf0";
  draft.representor = "rep0";
  return draft;
}

// What one attachment writes: made, four steps recorded and undone, removed.
Status Cycle(state::Store& store) {
  RAIL_ASSIGN(const state::Attachment attachment, store.Create(Draft()));
  for (const char* kind : {"ipam", "port", "device", "admit"}) {
    RAIL_TRY(store.RecordStep(attachment.id, "ovs-provider", kind, R"({"bridge":"br-rail0"})"));
  }
  RAIL_TRY(store.SetPhase(attachment.id, state::Phase::kReady));
  RAIL_ASSIGN(const auto steps, store.Steps(attachment.id));
  for (const state::Step& step : steps) RAIL_TRY(store.ForgetStep(step.id));
  return store.Remove(attachment.id);
}

class Folder {
 public:
  Folder()
      : path_((std::filesystem::temp_directory_path() / ("rail-bench-" + std::to_string(::getpid())))
                  .string()) {}
  ~Folder() {
    std::error_code ignored;  // nothing can be done about a folder that does not go
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file() const { return path_ + "/state.db"; }

 private:
  std::string path_;
};

void StateOfOneAttachment(benchmark::State& state) {
  const Folder folder;
  const auto store = state::Sqlite::Open(folder.file());
  if (!store) return state.SkipWithError(store.error().message.c_str());
  for (auto _ : state) {
    if (const Status status = Cycle(**store); !status)
      return state.SkipWithError(status.error().message.c_str());
  }
}
BENCHMARK(StateOfOneAttachment)->Unit(benchmark::kMicrosecond)->UseRealTime();

// As each plugin does it, beside a daemon that has the record open all the time.
void OpenState(benchmark::State& state) {
  const Folder folder;
  const auto daemon = state::Sqlite::Open(folder.file());
  if (!daemon) return state.SkipWithError(daemon.error().message.c_str());
  for (auto _ : state) {
    const auto store = state::Sqlite::Open(folder.file());
    if (!store || !(*store)->Find(Draft().key)) return state.SkipWithError("the record cannot be read");
  }
}
BENCHMARK(OpenState)->Unit(benchmark::kMicrosecond)->UseRealTime();

// node.json of eight rails with 16 devices each.
std::string NodeJson() {
  std::string rails;
  for (int rail = 0; rail < 8; ++rail) {
    const std::string r = std::to_string(rail);
    std::string devices;
    for (int i = 0; i < 16; ++i) {
      const std::string name = r + "x" + std::to_string(i);
      devices += (i == 0 ? "" : ",") + (R"({"device":"vf)" + name) + R"(","representor":"rep)" + name + "\"}";
    }
    rails += (rail == 0 ? "" : ",") + (R"({"name":"rail)" + r) + R"(","index":)" + r + R"(,"pf":"rail)" + r +
             R"(p","bridge":"br-rail)" + r + R"(","mtu":4200,"devices":[)" + devices + "]}";
  }
  return R"({"rails":[)" + rails +
         R"(],"cluster": "c", "bgp":{"asn":4200000001,"router_id":"10.255.0.1","community_asn":4200000000}})";
}

void ParseNodeJson(benchmark::State& state) {
  const std::string text = NodeJson();
  for (auto _ : state) {
    const auto config = config::Parse(text);
    if (!config) return state.SkipWithError(config.error().message.c_str());
    benchmark::DoNotOptimize(config);
  }
}
BENCHMARK(ParseNodeJson)->Unit(benchmark::kMicrosecond);

// A private Open vSwitch with an empty bridge, for as long as the benchmark runs.
struct Switch {
  std::unique_ptr<ovs::testing::PrivateOvs> ovs;
  std::unique_ptr<ovs::OpenFlow> bridge;

  static Result<Switch> Start() {
    Switch made;
    RAIL_ASSIGN(made.ovs, ovs::testing::PrivateOvs::Start());
    RAIL_TRY(made.ovs->Run({"ovs-vsctl", "--db=unix:" + made.ovs->db(), "--timeout=20", "add-br", "br0", "--",
                            "set", "bridge", "br0", "datapath_type=netdev", "fail_mode=secure"}));
    RAIL_ASSIGN(made.bridge, ovs::MgmtConnection::Open(made.ovs->mgmt("br0"), Soon()));
    return made;
  }
  static Deadline Soon() { return After(std::chrono::seconds(30)); }
};

// ovs-vswitchd has lost all of them: they are read (none), compared and written, in one bundle.
void RestoreManyRules(benchmark::State& state) {
  const auto want = CanonicalRules(kManyRules);
  if (!want) return state.SkipWithError(want.error().message.c_str());
  auto started = Switch::Start();
  if (!started) return state.SkipWithError(started.error().message.c_str());
  ovs::OpenFlow& bridge = *started->bridge;
  for (auto _ : state) {
    const auto have = bridge.Dump(ovs::CookieMatch::Ours(), Switch::Soon());
    if (!have || !have->empty()) return state.SkipWithError("the bridge is not empty");
    const Status status = bridge.Commit(ovs::Difference({}, *want), Switch::Soon());
    if (!status) return state.SkipWithError(status.error().message.c_str());
    state.PauseTiming();
    (void)bridge.Commit({.remove_by_cookie = {ovs::CookieMatch::Ours()}}, Switch::Soon());
    state.ResumeTiming();
  }
}
BENCHMARK(RestoreManyRules)->Unit(benchmark::kMillisecond)->UseRealTime()->Iterations(3);

// All are right: what an audit costs.
void AuditManyRules(benchmark::State& state) {
  const auto want = CanonicalRules(kManyRules);
  if (!want) return state.SkipWithError(want.error().message.c_str());
  auto started = Switch::Start();
  if (!started) return state.SkipWithError(started.error().message.c_str());
  ovs::OpenFlow& bridge = *started->bridge;
  if (const Status status = bridge.Commit({.add = *want}, Switch::Soon()); !status)
    return state.SkipWithError(status.error().message.c_str());
  for (auto _ : state) {
    const auto stats = bridge.Dump(ovs::CookieMatch::Ours(), Switch::Soon());
    if (!stats) return state.SkipWithError(stats.error().message.c_str());
    std::vector<ovs::Rule> have;
    for (const ovs::RuleStats& each : *stats) have.push_back(each.rule);
    if (!ovs::Difference(have, *want).empty())
      return state.SkipWithError("the switch gives them back altered");
  }
}
BENCHMARK(AuditManyRules)->Unit(benchmark::kMillisecond)->UseRealTime()->Iterations(3);

}  // namespace
}  // namespace rail
