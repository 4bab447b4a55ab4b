// The acceptance list of the CNI contract (ACCEPTANCE.md), one suite for each line, on a node of fakes. What needs the built
// binaries alone is in cni_golden_test.cc, what needs Open vSwitch, FRR and a kernel in test/lab/test_contract*.py.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "lib/cni/testing/request.h"
#include "lib/cni/version.h"
#include "lib/netns/testing/scratch.h"
#include "plugins/testing/rail_chain.h"
#include "test/contract/real_plugin.h"

namespace rail {
namespace {

using engine::testing::Answer;
using engine::testing::Chain;
using engine::testing::Dependency;
using engine::testing::PodSpec;
using engine::testing::World;
using nlohmann::json;
using state::ClaimKind;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr size_t kOvs = 0;
constexpr size_t kTenant = 1;
constexpr size_t kFrr = 2;

class Acceptance : public ::testing::Test {
 protected:
  Acceptance() {
    char name[] = "/tmp/railcni-acceptance-XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  ~Acceptance() override { std::filesystem::remove_all(folder_); }

  void MustAdd(const PodSpec& pod) {
    const Answer answer = chain.Add(pod);
    ASSERT_TRUE(answer) << answer.plugin << ": " << answer.code << " " << answer.text;
  }
  void ExpectDone(const Answer& answer) {
    EXPECT_TRUE(answer) << answer.plugin << ": " << answer.code << " " << answer.text;
  }
  std::string Read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder_ + "/" + name).rdbuf();
    return text.str();
  }
  // An IPAM plugin in a folder of its own; it logs its verbs in "calls" and keeps its input in "in.VERB".
  void Install(const std::string& name, const std::string& body) const {
    const std::string file = folder_ + "/" + name;
    std::ofstream(file) << "#!/bin/sh\necho \"$CNI_COMMAND\" >> " << folder_ << "/calls\ncat > " << folder_
                        << "/in.$CNI_COMMAND\n"
                        << body << "\n";
    ::chmod(file.c_str(), 0755);
  }
  engine::Deps DepsWithRealIpam() {
    engine::Deps deps = world.deps();
    deps.ipam = &exec_;
    deps.openers = [inner = deps.openers](const config::NodeConfig& config) {
      engine::Openers openers = inner(config);
      openers.release_addresses = cni::Release;
      return openers;
    };
    return deps;
  }
  // One verb of ovs-provider with a real delegation: IPAM plugin "x" of this folder.
  cni::testing::Ran WithRealIpam(const std::string& verb, const json& more) {
    json config = {{"cniVersion", "1.1.0"}, {"name", "rail0"}, {"rail", "rail0"}, {"ipam", {{"type", "x"}}}};
    config.update(more);
    return cni::testing::RunPlugin(
        ovs_provider::MakePlugin(DepsWithRealIpam()),
        {{"CNI_COMMAND", verb}, {"CNI_CONTAINERID", ""}, {"CNI_IFNAME", ""}, {"CNI_PATH", folder_}},
        config.dump());
  }

  std::string folder_;
  cni::ExecIpam exec_;
  World world;
  Chain chain = testing::RailChain(world);
};

// A2: the descriptor of the namespace is opened once; the process never is in it.
class A02_Netns : public Acceptance {};

TEST_F(A02_Netns, OnlyAThreadOfItsOwnIsEverInThePod) {
  const netns::Netns pod = netns::testing::MakeScratch();
  const auto here = [] {
    struct stat info{};
    ::stat("/proc/thread-self/ns/net", &info);
    return info.st_ino;
  };
  const auto before = here();
  const auto caller = std::this_thread::get_id();
  ASSERT_TRUE(pod.Run([&]() -> Status {
    EXPECT_NE(here(), before);
    EXPECT_NE(std::this_thread::get_id(), caller);
    return {};
  }));
  EXPECT_EQ(here(), before);
  ASSERT_FALSE(pod.Run([]() -> Status { return Fail(Code::kInternal, "fails inside"); }));
  EXPECT_EQ(here(), before);
}

// A3: ADD refuses a name that is taken, a device that was not given, and one that a living pod has.
class A03_Add : public Acceptance {};

TEST_F(A03_Add, RefusesANameThatIsTakenInThePod) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  world.pods.AddLink(pod.identity, "net1");
  EXPECT_THAT(chain.Add(pod).text, HasSubstr("net1 exists already"));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

TEST_F(A03_Add, SaysWhereTheDeviceShouldHaveComeFromWhenMultusGaveNone) {
  const Answer answer = chain.Add(world.MakePod("p1", "ns-a", ""));
  EXPECT_EQ(answer.code, 7U);
  EXPECT_THAT(answer.text, HasSubstr("deviceID: no device was allocated to the pod for network rail0"));
  EXPECT_THAT(answer.text, HasSubstr("k8s.v1.cni.cncf.io/resourceName"));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

TEST_F(A03_Add, RefusesADeviceThatDiffersFromTheOneInRuntimeConfig) {
  chain.more_config = R"("runtimeConfig": {"deviceID": "vf1"})";
  EXPECT_EQ(chain.Add(world.MakePod("p1", "ns-a", "vf0")).code, 7U);
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

TEST_F(A03_Add, RefusesADeviceOfALivingPodByItsName) {
  const PodSpec owner = world.MakePod("p1", "ns-a", "vf0");
  MustAdd(owner);
  const Answer answer = chain.Add(world.MakePod("p2", "ns-b", "vf0"));
  EXPECT_EQ(answer.code, 11U);
  EXPECT_THAT(answer.text, HasSubstr("rail0/c-p1/net1"));
  ExpectDone(chain.Check(owner));
}

// A4: every effect is in the record, with what its undo needs, before it is made.
class A04_Record : public Acceptance {};

TEST_F(A04_Record, HoldsEachStepBeforeTheFirstCallThatChangesAnything) {
  const std::map<std::pair<Dependency, std::string>, std::string> steps = {
      {{Dependency::kIpam, "Add"}, "ipam"},
      {{Dependency::kDevices, "MoveIn"}, "device"},
      {{Dependency::kOvsdb, "AddPort"}, "port"},
      {{Dependency::kPods, "Configure"}, "device"},
      {{Dependency::kBgp, "AnnounceAll"}, "announce"}};
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  std::map<std::string, int> seen;
  int commits = 0;
  world.faults.before = [&](Dependency dependency, std::string_view call) {
    auto found = steps.find({dependency, std::string(call)});
    std::string wanted = found == steps.end() ? "" : found->second;
    if (dependency == Dependency::kOpenFlow && call == "Commit") wanted = ++commits == 1 ? "admit" : "tenant";
    if (wanted.empty()) return;
    ++seen[wanted];
    std::vector<std::string> kinds;
    for (const state::Step& step : world.Steps(pod)) kinds.push_back(step.kind);
    EXPECT_THAT(kinds, Contains(wanted)) << call << " came before its record";
  };
  MustAdd(pod);
  world.faults.before = nullptr;
  for (const char* kind : {"ipam", "device", "port", "admit", "tenant", "announce"})
    EXPECT_GT(seen[kind], 0) << kind;
}

TEST_F(A04_Record, HoldsTheDeviceAsItWasAndAllThatUndoNeeds) {
  const std::string before = world.devices.State("vf0")->ToJson();
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  MustAdd(pod);
  const state::Attachment attachment = world.Attachment(pod);
  EXPECT_EQ(attachment.representor, "rep0");
  EXPECT_EQ(attachment.device, "vf0");
  EXPECT_EQ(attachment.tenant, "ns-a");
  EXPECT_EQ(attachment.netns_path, pod.netns);
  std::map<std::string, std::string> details;
  for (const state::Step& step : world.Steps(pod)) details[step.kind] = step.detail;
  EXPECT_EQ(details["device"], before);
  EXPECT_THAT(details["ipam"], HasSubstr("CNI_CONTAINERID"));
  for (const char* kind : {"port", "admit", "tenant"}) EXPECT_THAT(details[kind], HasSubstr("br-rail0"));
}

TEST_F(A04_Record, TakesNamesOfAnyLengthAndTellsThemApart) {
  PodSpec first = world.MakePod("p1", "ns-a", "vf0");
  PodSpec second = world.MakePod("p2", "ns-a", "vf1");
  first.container = std::string(5000, 'c') + "1";
  second.container = std::string(5000, 'c') + "2";
  MustAdd(first);
  MustAdd(second);
  ExpectDone(chain.Del(first));
  ExpectDone(chain.Check(second));
  ExpectDone(chain.Del(second));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

// A5: DEL works from the record, from the result, from the configuration, or from nothing.
class A05_Del : public Acceptance {};

TEST_F(A05_Del, WorksFromTheRecordAlone) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  MustAdd(pod);
  chain.results().clear();  // no prevResult
  PodSpec forgotten = pod;
  forgotten.device = "";
  forgotten.netns = "";
  ExpectDone(chain.Del(forgotten));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

TEST_F(A05_Del, SucceedsFromNothingAndTwice) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  ExpectDone(chain.Del(pod));
  MustAdd(pod);
  ExpectDone(chain.Del(pod));
  ExpectDone(chain.Del(pod));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

TEST_F(A05_Del, TellsIpamEvenWithoutARecord) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  ASSERT_TRUE(world.ipam.Add(cni::testing::MakeRequest("ADD", R"({"cniVersion": "1.0.0", "name": "rail0"})",
                                                       {{"CNI_CONTAINERID", pod.container}}),
                             {}));
  ExpectDone(chain.Del(pod));
  EXPECT_THAT(world.ipam.held(), IsEmpty());
}

TEST_F(A05_Del, TakesAResultOfAnyVersionOrNone) {
  for (const char* previous : {"", "{}", R"({"cniVersion": "0.2.0", "ip4": {"ip": "10.0.3.1/24"}})",
                               R"({"cniVersion": "9.9.9"})", R"({"ips": [{"address": 7}]})"}) {
    const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
    MustAdd(pod);
    for (const size_t plugin : {kFrr, kTenant, kOvs}) ExpectDone(chain.Run(plugin, "DEL", pod, previous));
    EXPECT_THAT(world.Leftovers(), IsEmpty()) << previous;
  }
}

TEST_F(A05_Del, SucceedsWhenTheNamespaceIsGoneOrItsPathLeadsElsewhere) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  MustAdd(pod);
  world.EndNamespace(pod);
  ExpectDone(chain.Del(pod));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

// A6: DEL never touches what another has by now.
class A06_Owner : public Acceptance {};

TEST_F(A06_Owner, ALateDelOfTheOldPodLeavesTheDeviceToTheNewOne) {
  const PodSpec old = world.MakePod("p1", "ns-a", "vf0");
  const PodSpec fresh = world.MakePod("p2", "ns-b", "vf0");
  MustAdd(old);
  world.faults.down = {Dependency::kBgp, Dependency::kOpenFlow};
  ExpectDone(chain.Del(old));
  world.faults.down.clear();
  MustAdd(fresh);
  ExpectDone(chain.Del(old));
  EXPECT_EQ(world.devices.Where("vf0"), fresh.identity);
  ExpectDone(chain.Check(fresh));
}

// A7: what a plugin was given it passes on whole.
class A07_PrevResult : public Acceptance {
 protected:
  static json Newest() {
    return json::parse(R"({"cniVersion": "1.1.0", "com.example/future": {"deep": [1, {"x": null}]},
      "interfaces": [{"name": "rep0", "mac": "02:00:00:00:00:10", "mtu": 9000, "future": 1},
                     {"name": "net1", "mac": "02:de:f1:00:00:01", "sandbox": "/run/netns/x", "mtu": 4200,
                      "pciID": "0000:03:00.2", "socketPath": "/run/s", "future": "y"}],
      "ips": [{"address": "10.0.3.1/32", "gateway": "169.254.1.1", "interface": 1, "future": true}],
      "routes": [{"dst": "10.0.0.0/8", "gw": "169.254.1.1", "mtu": 4200, "advmss": 1400, "priority": 5, "table": 100,
                  "scope": 0, "future": []}],
      "dns": {"nameservers": ["10.0.0.1"], "search": ["x"], "options": ["y"], "domain": "z", "future": {}}})");
  }
};

TEST_F(A07_PrevResult, IsPassedOnWholeByTheChainedPluginsInTheVersionOfTheConfig) {
  for (const std::string& version : cni::SupportedVersions()) {
    const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
    MustAdd(pod);
    chain.more_config = R"("cniVersion": ")" + version + "\"";
    json wanted = Newest();
    wanted["cniVersion"] = version;
    if (version.starts_with("0.")) wanted["ips"][0]["version"] = "4";
    for (const size_t plugin : {kTenant, kFrr}) {
      const Answer answer = chain.Run(plugin, "ADD", pod, Newest().dump());
      ASSERT_TRUE(answer) << answer.text;
      EXPECT_EQ(json::parse(answer.result), wanted) << chain.NameOf(plugin) << " " << version;
    }
    chain.more_config.clear();
    ExpectDone(chain.Del(pod));
  }
}

TEST_F(A07_PrevResult, IsReadByItsOwnVersion) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  MustAdd(pod);
  for (const std::string& theirs : cni::SupportedVersions()) {
    json previous = {{"cniVersion", theirs}, {"ips", {{{"address", "10.0.3.1/32"}}}}};
    if (theirs.starts_with("0.")) previous["ips"][0]["version"] = "4";
    const Answer answer = chain.Run(kTenant, "ADD", pod, previous.dump());
    ASSERT_TRUE(answer) << theirs << " " << answer.text;
    EXPECT_EQ(json::parse(answer.result)["cniVersion"], "1.0.0");
    EXPECT_FALSE(json::parse(answer.result)["ips"][0].contains("version"));
  }
  const Answer answer = chain.Run(kTenant, "ADD", pod, R"({"cniVersion": "2.0.0"})");
  EXPECT_EQ(answer.code, 7U);
  EXPECT_THAT(answer.text, HasSubstr("prevResult: cniVersion: a result of version \"2.0.0\""));
}

TEST_F(A07_PrevResult, IsRequiredByCheckOfEveryPluginAndByAddOfTheChainedOnes) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  MustAdd(pod);
  for (const size_t plugin : {kOvs, kTenant, kFrr})
    EXPECT_THAT(chain.Run(plugin, "CHECK", pod, "").text, HasSubstr("Required prevResult missing"));
  for (const size_t plugin : {kTenant, kFrr})
    EXPECT_THAT(chain.Run(plugin, "ADD", pod, "").text, HasSubstr("Required prevResult missing"));
}

// A8: DEL of a chained plugin is best effort; what could not be undone is pending.
class A08_BestEffort : public Acceptance {};

TEST_F(A08_BestEffort, DelSucceedsWithOvsAndBgpdDownAndKeepsTheWorkAsPending) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  MustAdd(pod);
  world.faults.down = {Dependency::kOvsdb, Dependency::kOpenFlow, Dependency::kBgp};
  for (const size_t plugin : {kFrr, kTenant, kOvs}) ExpectDone(chain.Run(plugin, "DEL", pod, ""));
  EXPECT_THAT(world.Pending(pod), ElementsAre("port", "admit", "tenant", "announce"));
  EXPECT_EQ(world.devices.Where("vf0"), std::nullopt) << "the device waits for nobody";
}

// A9: what no DEL ever comes for is swept.
class A09_Sweep : public Acceptance {};

TEST_F(A09_Sweep, UndoesAnAttachmentWhoseNamespaceIsGone) {
  const PodSpec gone = world.MakePod("p1", "ns-a", "vf0");
  const PodSpec alive = world.MakePod("p2", "ns-a", "vf1");
  MustAdd(gone);
  MustAdd(alive);
  world.EndNamespace(gone);
  world.StartRaild()->Audit();
  EXPECT_FALSE(world.FindAttachment(gone));
  ExpectDone(chain.Check(alive));
  ExpectDone(chain.Del(alive));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

// A10: STATUS.
class A10_Status : public Acceptance {
 protected:
  A10_Status() { chain.more_config = R"("cniVersion": "1.1.0")"; }
  Answer Status(size_t plugin) { return chain.Run(plugin, "STATUS", pod, ""); }
  PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
};

TEST_F(A10_Status, IsQuietWhenAllIsReady) {
  for (const size_t plugin : {kOvs, kTenant, kFrr}) {
    const Answer answer = Status(plugin);
    EXPECT_TRUE(answer) << answer.text;
    EXPECT_EQ(answer.result, "");
  }
}

TEST_F(A10_Status, Is50WithoutAttachmentsAnd51WithSome) {
  const std::vector<std::pair<size_t, std::set<Dependency>>> cases = {
      {kOvs, {Dependency::kOvsdb}}, {kOvs, {Dependency::kOpenFlow}}, {kFrr, {Dependency::kBgp}}};
  for (const auto& [plugin, down] : cases) {
    world.faults.down = down;
    EXPECT_EQ(Status(plugin).code, 50U);
    EXPECT_THAT(Status(plugin).text, HasSubstr(" is down"));
    world.faults.down.clear();
    MustAdd(pod);
    world.faults.down = down;
    EXPECT_EQ(Status(plugin).code, 51U);
    EXPECT_THAT(Status(plugin).text, HasSubstr("1 attachment of network rail0 may be hit too"));
    world.faults.down.clear();
    ExpectDone(chain.Del(pod));
  }
}

TEST_F(A10_Status, Is50WhenTheRecordCannotBeRead) {
  world.faults.down = {Dependency::kState};
  for (const size_t plugin : {kOvs, kTenant, kFrr}) EXPECT_EQ(Status(plugin).code, 50U);
}

TEST_F(A10_Status, Is50WhenTheNicHasNoRepresentors) {
  engine::Deps deps = world.deps();
  sriov::NicState nic{.address = "0000:3b:00.0", .vfs = 8, .mode = netlink::EswitchMode::kLegacy};
  deps.openers = [&nic, openers = deps.openers](const config::NodeConfig& config) {
    engine::Openers all = openers(config);
    all.look_at_nic = [&nic](const config::Rail&) { return std::vector{nic}; };
    return all;
  };
  deps.load_config = [config = world.config]() mutable -> Result<config::NodeConfig> {
    for (config::Rail& rail : config.rails)
      rail.devices.clear();  // who names representors needs none of the NIC
    return config;
  };
  Chain on_it({ovs_provider::MakePlugin(deps)});
  on_it.more_config = chain.more_config;
  EXPECT_EQ(on_it.Run(0, "STATUS", pod, "").code, 50U);
  EXPECT_THAT(on_it.Run(0, "STATUS", pod, "").text,
              HasSubstr("0000:3b:00.0) has 8 VFs without representors"));
  nic.mode = netlink::EswitchMode::kSwitchdev;
  EXPECT_TRUE(on_it.Run(0, "STATUS", pod, ""));
}

TEST_F(A10_Status, Is50WhenNoLeafAnswers) {
  for (const config::Rail& rail : world.config.rails) world.bgp.SetSession(rail.bridge, "Active");
  EXPECT_EQ(Status(kFrr).code, 50U);
  chain.more_config += R"(, "wait_ms": 0)";
  EXPECT_TRUE(Status(kFrr)) << "an ADD that does not wait succeeds";
}

TEST_F(A10_Status, IsForwardedToAnIpamThatSpeaks110AndItsAnswerIsOurs) {
  Install("x", R"(case $CNI_COMMAND in
    VERSION) echo '{"cniVersion": "1.1.0", "supportedVersions": ["1.0.0", "1.1.0"]}';;
    *) echo '{"code": 50, "msg": "the daemon is away", "details": "soon"}'; exit 1;; esac)");
  const auto ran = WithRealIpam("STATUS", json::object());
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(
      json::parse(ran.out),
      json::parse(
          R"({"cniVersion": "1.1.0", "code": 50, "msg": "ipam x: the daemon is away", "details": "soon"})"));
  EXPECT_EQ(Read("calls"), "VERSION\nSTATUS\n");
}

TEST_F(A10_Status, IsNotForwardedToAnIpamThatDoesNot) {
  Install(
      "x",
      R"([ $CNI_COMMAND = VERSION ] && echo '{"cniVersion": "1.0.0", "supportedVersions": ["0.4.0", "1.0.0"]}')");
  EXPECT_EQ(WithRealIpam("STATUS", json::object()).status, 0);
  EXPECT_EQ(Read("calls"), "VERSION\n");
}

// A11: GC.
class A11_Gc : public Acceptance {
 protected:
  A11_Gc() { chain.more_config = R"("wait_ms": 0)"; }
  void AddBoth() {
    MustAdd(kept);
    MustAdd(dropped);
  }
  void CollectAll(const std::string& key_and_list) {
    chain.more_config = R"("cniVersion": "1.1.0")" + (key_and_list.empty() ? "" : ", " + key_and_list);
    for (const size_t plugin : {kOvs, kTenant, kFrr}) {
      const Answer answer = chain.Run(plugin, "GC", kept, "");
      EXPECT_TRUE(answer) << answer.text;
      EXPECT_EQ(answer.result, "");
    }
    chain.more_config.clear();
  }
  PodSpec kept = world.MakePod("p1", "ns-a", "vf0");
  PodSpec dropped = world.MakePod("p2", "ns-b", "vf1");
};

constexpr const char* kOne = R"([{"containerID": "c-p1", "ifname": "net1"}])";

TEST_F(A11_Gc, TakesTheListUnderEitherKey) {
  for (const char* key : {"cni.dev/valid-attachments", "cni.dev/attachments"}) {
    AddBoth();
    CollectAll("\"" + std::string(key) + "\": " + kOne);
    ExpectDone(chain.Check(kept));
    EXPECT_FALSE(world.FindAttachment(dropped)) << key;
    ExpectDone(chain.Del(kept));
    EXPECT_THAT(world.Leftovers(), IsEmpty());
  }
}

TEST_F(A11_Gc, PrefersTheKeyOfTheSpecificationsText) {
  AddBoth();
  CollectAll(R"("cni.dev/attachments": [], "cni.dev/valid-attachments": )" + std::string(kOne));
  ExpectDone(chain.Check(kept));
}

TEST_F(A11_Gc, AnEmptyListCleansAllOfTheNetworkAndNothingOfAnother) {
  const PodSpec other = world.MakePod("p3", "ns-a", "vf10", "rail1");
  AddBoth();
  MustAdd(other);
  CollectAll(R"("cni.dev/valid-attachments": [])");
  EXPECT_FALSE(world.FindAttachment(kept));
  EXPECT_FALSE(world.FindAttachment(dropped));
  ExpectDone(chain.Check(other));
}

TEST_F(A11_Gc, AnAbsentListCleansOnlyWhatIsProvablyDead) {
  AddBoth();
  CollectAll("");
  ExpectDone(chain.Check(kept));
  ExpectDone(chain.Check(dropped));
  world.EndNamespace(dropped);
  CollectAll("");
  ExpectDone(chain.Check(kept));
  EXPECT_FALSE(world.FindAttachment(dropped));
}

TEST_F(A11_Gc, SaysWhatItHadToLeaveAndGoesOnAllTheSame) {
  AddBoth();
  chain.more_config = R"("cniVersion": "1.1.0", "cni.dev/valid-attachments": [])";
  world.faults.down = {Dependency::kOvsdb};
  const Answer answer = chain.Run(kOvs, "GC", kept, "");
  EXPECT_EQ(answer.code, 11U);
  EXPECT_THAT(answer.text,
              AllOf(HasSubstr("left to raild"), HasSubstr("c-p1"), HasSubstr("c-p2"), HasSubstr("is down")));
  EXPECT_EQ(world.devices.Where("vf0"), std::nullopt);
  EXPECT_EQ(world.devices.Where("vf1"), std::nullopt);
  EXPECT_THAT(world.Pending(kept), ElementsAre("port"));
  EXPECT_THAT(world.Pending(dropped), ElementsAre("port"));
  world.faults.down.clear();
  EXPECT_TRUE(chain.Run(kOvs, "GC", kept, ""));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

TEST_F(A11_Gc, AListOfTheWrongShapeCleansNothing) {
  for (const char* bad :
       {"{}", "[1]", R"([{"containerID": 1, "ifname": "net1"}])", R"([{"containerID": "c"}])", "\"x\""}) {
    AddBoth();
    chain.more_config = R"("cniVersion": "1.1.0", "cni.dev/valid-attachments": )" + std::string(bad);
    const Answer answer = chain.Run(kOvs, "GC", kept, "");
    EXPECT_EQ(answer.code, 7U) << bad;
    EXPECT_THAT(answer.text, HasSubstr("cni.dev/valid-attachments"));
    chain.more_config.clear();
    ExpectDone(chain.Check(kept));
    ExpectDone(chain.Check(dropped));
    ExpectDone(chain.Del(kept));
    ExpectDone(chain.Del(dropped));
  }
}

TEST_F(A11_Gc, IsForwardedToIpamEvenWhenOursFails) {
  Install(
      "x",
      R"([ $CNI_COMMAND = VERSION ] && echo '{"cniVersion": "1.1.0", "supportedVersions": ["1.1.0"]}'; true)");
  const json list = {{"cni.dev/valid-attachments", json::parse(kOne)}};
  EXPECT_EQ(WithRealIpam("GC", list).status, 0);
  EXPECT_EQ(json::parse(Read("in.GC"))["cni.dev/valid-attachments"], json::parse(kOne));
  world.faults.down = {Dependency::kState};
  const auto failed = WithRealIpam("GC", list);
  EXPECT_EQ(failed.status, 1);
  EXPECT_EQ(json::parse(failed.out)["code"], 11);
  EXPECT_EQ(Read("calls"), "VERSION\nGC\nVERSION\nGC\n");
}

// A12: the shape of the result that network-status is made of.
class A12_Result : public Acceptance {
 protected:
  void AddPciDevice() {
    world.devices.Add("rail0", "0000:03:00.2", "rep3");
    world.config.rails[0].devices.push_back({"0000:03:00.2", "rep3"});
  }
};

TEST_F(A12_Result, HoldsRepresentorAndDeviceWithTheSandboxOnTheDeviceAlone) {
  AddPciDevice();
  for (const std::string& version : cni::SupportedVersions()) {
    const PodSpec pod = world.MakePod("p1", "ns-a", "0000:03:00.2");
    chain.more_config = R"("cniVersion": ")" + version + "\"";
    const Answer answer = chain.Add(pod);
    ASSERT_TRUE(answer) << answer.text;
    const json result = json::parse(answer.result);
    ASSERT_EQ(result["interfaces"].size(), 2U);
    EXPECT_EQ(result["interfaces"][0]["name"], "rep3");
    EXPECT_FALSE(result["interfaces"][0].contains("sandbox"));
    EXPECT_TRUE(result["interfaces"][0].contains("mac"));
    EXPECT_EQ(result["interfaces"][1]["name"], "net1");
    EXPECT_EQ(result["interfaces"][1]["sandbox"], pod.netns);
    EXPECT_EQ(result["interfaces"][1]["mac"], world.devices.State("0000:03:00.2")->mac.ToString());
    EXPECT_EQ(result["ips"][0]["interface"], 1);
    const bool newest = version == "1.1.0";
    EXPECT_EQ(result["interfaces"][1].value("pciID", ""), newest ? "0000:03:00.2" : "");
    EXPECT_EQ(result["interfaces"][1].value("mtu", 0), newest ? 4200 : 0);
    chain.more_config.clear();
    ExpectDone(chain.Del(pod));
  }
}

TEST_F(A12_Result, GivesEveryDefaultRouteAGateway) {
  Install(
      "x",
      R"([ $CNI_COMMAND = ADD ] && echo '{"cniVersion": "1.0.0", "ips": [{"address": "10.0.3.9/24"}], "routes": [{"dst": "0.0.0.0/0"}]}'; true)");
  engine::Deps deps = DepsWithRealIpam();
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  const auto ran = cni::testing::RunPlugin(
      ovs_provider::MakePlugin(deps),
      {{"CNI_COMMAND", "ADD"},
       {"CNI_CONTAINERID", pod.container},
       {"CNI_NETNS", pod.netns},
       {"CNI_IFNAME", "net1"},
       {"CNI_PATH", folder_}},
      R"({"cniVersion": "1.0.0", "name": "rail0", "rail": "rail0", "deviceID": "vf0", "ipam": {"type": "x"}})");
  ASSERT_EQ(ran.status, 0) << ran.out;
  EXPECT_EQ(json::parse(ran.out)["routes"], json::parse(R"([{"dst": "0.0.0.0/0", "gw": "169.254.1.1"}])"));
  EXPECT_EQ(json::parse(ran.out)["ips"],
            json::parse(R"([{"address": "10.0.3.9/32", "gateway": "169.254.1.1", "interface": 1}])"));
}

// A13: DeviceInfo.
class A13_DeviceInfo : public A12_Result {};

TEST_F(A13_DeviceInfo, TheFileIsReplacedWhole) {
  AddPciDevice();
  const std::string folder = folder_ + "/k8s.cni.cncf.io/devinfo/cni";
  std::filesystem::create_directories(folder);
  const std::string file = folder + "/default-rail0-c-p1_net1";
  std::ofstream(file)
      << R"({"type": "pci", "version": "1.0.0", "pci": {"pci-address": "0000:03:00.2", "rdma-device": "mlx5_2"}})";
  ::chmod(file.c_str(), 0444);
  chain.more_config = R"("runtimeConfig": {"CNIDeviceInfoFile": ")" + file + "\"}";
  MustAdd(world.MakePod("p1", "ns-a", "0000:03:00.2"));
  EXPECT_EQ(
      json::parse(Read("k8s.cni.cncf.io/devinfo/cni/default-rail0-c-p1_net1")),
      json::parse(
          R"({"type": "pci", "version": "1.1.0", "pci": {"pci-address": "0000:03:00.2", "rdma-device": "mlx5_2",
                            "representor-device": "rep3"}})"));
}

TEST_F(A13_DeviceInfo, IsWrittenNowhereElseAndNoAddFailsForAFullDisk) {
  AddPciDevice();
  const PodSpec pod = world.MakePod("p1", "ns-a", "0000:03:00.2");
  chain.more_config = R"("runtimeConfig": {"CNIDeviceInfoFile": "/etc/railcni-escape"})";
  const Answer refused = chain.Add(pod);
  EXPECT_EQ(refused.code, 7U);
  EXPECT_THAT(refused.text, HasSubstr("runtimeConfig.CNIDeviceInfoFile"));
  EXPECT_FALSE(std::filesystem::exists("/etc/railcni-escape"));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
  chain.more_config =
      R"("runtimeConfig": {"CNIDeviceInfoFile": "/nonexistent/k8s.cni.cncf.io/devinfo/cni/x"})";
  MustAdd(pod);
}

// A14: what others look for in Open vSwitch.
class A14_ExternalIds : public Acceptance {};

TEST_F(A14_ExternalIds, NameThePodTheNamespaceTheInterfaceAndUs) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  MustAdd(pod);
  EXPECT_EQ((*world.ovsdb.FindPort("rep0", {}))->external_ids,
            (ovs::ExternalIds{{"contPodUid", "uid-p1"},
                              {"contNetns", pod.netns},
                              {"contIface", "net1"},
                              {"railcni", std::to_string(world.Attachment(pod).id)}}));
}

// A15: nothing that a pod writes decides anything.
class A15_Hostile : public Acceptance {
 protected:
  void ExpectItsOwn(const PodSpec& pod) {
    const state::Attachment attachment = world.Attachment(pod);
    EXPECT_EQ(attachment.device, "vf0");
    EXPECT_EQ(attachment.rail, "rail0");
    EXPECT_EQ(attachment.tenant, "ns-a");
    EXPECT_EQ(attachment.mac, world.devices.State("vf0")->mac);
    EXPECT_THAT(attachment.addresses, ElementsAre(*IpAddress::Parse("10.0.3.1")));
  }
  // ADD of ovs-provider alone, with the IPAM plugins of this folder. `more`: members of the configuration.
  cni::testing::Ran AddWith(const PodSpec& pod, const json& more) {
    json config = {{"cniVersion", "1.0.0"}, {"name", "rail0"}, {"rail", "rail0"}, {"deviceID", "vf0"}};
    config.update(more);
    return cni::testing::RunPlugin(ovs_provider::MakePlugin(DepsWithRealIpam()),
                                   {{"CNI_COMMAND", "ADD"},
                                    {"CNI_CONTAINERID", pod.container},
                                    {"CNI_NETNS", pod.netns},
                                    {"CNI_IFNAME", "net1"},
                                    {"CNI_PATH", folder_}},
                                   config.dump());
  }
};

TEST_F(A15_Hostile, ArgsCniAndRuntimeConfigAndCniArgsChangeNothing) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  chain.more_config =
      R"("args": {"cni": {"rail": "rail1", "bridge": "br-rail1", "deviceID": "vf1", "tenant": "ns-b", "mac": "02:00:00:00:00:99",
                          "ips": ["10.9.9.9/32"], "ipam": {"type": "evil"}, "K8S_POD_NAMESPACE": "ns-b"}},
         "runtimeConfig": {"mac": "02:00:00:00:00:99", "ips": ["10.9.9.9/32"], "rail": "rail1", "bridge": "br-rail1"})";
  chain.more_args =
      "IgnoreUnknown=true;IgnoreUnknown=1;rail=rail1;bridge=br-rail1;deviceID=vf1;MAC=02:00:00:00:00:99;IP="
      "10.9.9.9,10.9.9.8";
  MustAdd(pod);
  ExpectItsOwn(pod);
}

TEST_F(A15_Hostile, RepeatedCniArgsCountOnceAndContradictionsAreRefused) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  // As thin Multus sends them: its own, and the runtime's again.
  chain.more_args =
      "IgnoreUnknown=true;K8S_POD_NAMESPACE=ns-a;K8S_POD_NAME=p1;K8S_POD_UID=uid-p1;;IgnoreUnknown=1";
  MustAdd(pod);
  ExpectItsOwn(pod);
  ExpectDone(chain.Del(pod));
  for (const char* injected :
       {"K8S_POD_NAMESPACE=ns-b", "K8S_POD_NAME=p9", "K8S_POD_UID=another", "MAC=x;K8S_POD_NAMESPACE="}) {
    chain.more_args = injected;
    const Answer answer = chain.Add(pod);
    EXPECT_EQ(answer.code, 4U) << injected;
    EXPECT_THAT(answer.text, HasSubstr("K8S_POD_"));
    EXPECT_THAT(world.Leftovers(), IsEmpty());
  }
}

TEST_F(A15_Hostile, ADeviceInRuntimeConfigAloneIsRefusedOnAddAndCheckAndHarmlessOnDel) {
  PodSpec pod = world.MakePod("p1", "ns-a", "");
  chain.more_config = R"("runtimeConfig": {"deviceID": "vf1"})";
  EXPECT_EQ(chain.Add(pod).code, 7U);
  ExpectDone(chain.Del(pod));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

TEST_F(A15_Hostile, StaticIpamGivesAPodNoAddressThatTheNetworkDoesNotList) {
  // As the real one: what the pod asks for wins over the configuration.
  Install(
      "static",
      R"([ $CNI_COMMAND = ADD ] && echo '{"cniVersion": "1.0.0", "ips": [{"address": "10.9.9.9/32"}]}'; true)");
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  const auto add = [&](const json& ipam, const json& runtime) {
    return AddWith(
        pod, {{"ipam", ipam}, {"runtimeConfig", runtime}, {"args", {{"cni", {{"ips", {"10.9.9.9/32"}}}}}}});
  };
  const json chosen = {{"ips", {"10.9.9.9/32"}}};
  const json listed = {{"type", "static"}, {"addresses", {{{"address", "10.0.3.1/24"}}}}};
  for (const auto& [ipam, runtime] : std::vector<std::pair<json, json>>{
           {listed, json::object()}, {listed, chosen}, {{{"type", "static"}}, json::object()}}) {
    const auto ran = add(ipam, runtime);
    EXPECT_EQ(ran.status, 1);
    EXPECT_THAT(ran.out, HasSubstr("IPAM static gave 10.9.9.9, which the pod asked for"));
    EXPECT_EQ(world.devices.Where("vf0"), std::nullopt);
  }
  EXPECT_EQ(Read("calls"), "ADD\nDEL\nADD\nDEL\nADD\nDEL\n") << "and gets it back";
  EXPECT_EQ(add({{"type", "static"}}, chosen).status, 0)
      << "the network's author lets pods choose: the capability \"ips\"";
}

TEST_F(A15_Hostile, APodChoosesNoPoolOfNvIpam) {
  Install("nv-ipam", R"(echo '{"cniVersion": "1.0.0", "ips": [{"address": "10.9.9.9/32"}]}')");
  for (const char* key : {"poolNames", "poolType", "allocateDefaultGateway", "allocateIPWithIndex"}) {
    const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
    const auto ran = AddWith(
        pod, {{"ipam", {{"type", "nv-ipam"}, {"poolName", "rail0"}}}, {"args", {{"cni", {{key, true}}}}}});
    EXPECT_EQ(ran.status, 1);
    EXPECT_THAT(ran.out, AllOf(HasSubstr("\"code\":7"), HasSubstr(std::string("args.cni.") + key)));
    EXPECT_THAT(world.Leftovers(), IsEmpty());
  }
  EXPECT_EQ(Read("calls"), "") << "IPAM is not asked";
}

// A16: a verb has an end, and a plugin is small.
class A16_Limits : public Acceptance {
 protected:
  // A node whose OVSDB takes connections and never answers.
  testing::Ran AddOnASilentNode() {
    std::filesystem::create_directories(folder_ + "/etc/railcni");
    std::filesystem::create_directories(folder_ + "/var/lib/railcni");
    const std::string socket_path = folder_ + "/db.sock";
    const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    socket_path.copy(address.sun_path, sizeof address.sun_path - 1);
    if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listener, 8) != 0)
      std::abort();
    std::ofstream(folder_ + "/etc/railcni/node.json")
        << json{{"rails",
                 {{{"name", "rail0"},
                   {"index", 0},
                   {"pf", "p0"},
                   {"bridge", "br-rail0"},
                   {"devices", {{{"device", "lo"}, {"representor", "r0"}}}}}}},
                {"bgp", {{"asn", 65001}, {"router_id", "10.0.0.1"}, {"community_asn", 65000}}},
                {"ovs", {{"db", "unix:" + socket_path}, {"run_dir", folder_}}},
                {"frr", {{"run_dir", folder_}}}};
    const netns::Netns pod = netns::testing::MakeScratch();
    const std::string netns = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(pod.fd());
    testing::Ran ran =
        testing::RunBinary("ovs-provider",
                           {{"CNI_COMMAND", "ADD"},
                            {"CNI_CONTAINERID", "c1"},
                            {"CNI_NETNS", netns},
                            {"CNI_IFNAME", "net1"},
                            {"CNI_PATH", "/usr/lib/cni"},
                            {"RAILCNI_ROOT", folder_}},
                           R"({"cniVersion": "1.0.0", "name": "rail0", "rail": "rail0", "prevResult": {}})");
    ::close(listener);
    return ran;
  }
};

TEST_F(A16_Limits, AnOvsdbThatNeverAnswersEndsAddWithCode11AndItsName) {
  const auto began = Clock::now();
  const testing::Ran ran = AddOnASilentNode();
  EXPECT_LT(Clock::now() - began, std::chrono::seconds(40)) << "its own deadline is 30 s";
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(json::parse(ran.out)["code"], 11);
  EXPECT_THAT(ran.out, HasSubstr("db.sock"));
}

TEST_F(A16_Limits, APluginNeedsLessThan20MiB) {
  if (RAIL_IS_SANITIZED) GTEST_SKIP() << "a sanitizer's own memory is not the plugin's";
  for (const std::string& plugin : testing::AllPlugins()) {
    const testing::Ran ran = testing::RunBinary(
        plugin,
        {{"CNI_COMMAND", "DEL"},
         {"CNI_CONTAINERID", "c1"},
         {"CNI_IFNAME", "net1"},
         {"CNI_PATH", "/x"},
         {"RAILCNI_ROOT", "/nonexistent"}},
        R"({"cniVersion": "1.0.0", "name": "rail0", "x": ")" + std::string(1000000, 'x') + "\"}");
    EXPECT_LT(ran.peak_kib, 20 * 1024) << plugin << ", with a configuration of 1 MB";
  }
}

// A17: versions.
class A17_Versions : public Acceptance {};

TEST_F(A17_Versions, AConfigOfEachGetsAResultOfIt) {
  EXPECT_THAT(cni::SupportedVersions(), ElementsAre("0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"));
  for (const std::string& version : cni::SupportedVersions()) {
    const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
    chain.more_config = R"("cniVersion": ")" + version + "\"";
    const Answer answer = chain.Add(pod);
    ASSERT_TRUE(answer) << answer.text;
    const json result = json::parse(answer.result);
    EXPECT_EQ(result["cniVersion"], version);
    const bool old = version.starts_with("0.");
    EXPECT_EQ(result["ips"][0].value("version", ""), old ? "4" : "");
    EXPECT_EQ(result.contains("dns"), old);
    if (cni::AtLeast(version, "0.4.0")) ExpectDone(chain.Check(pod));
    ExpectDone(chain.Del(pod));
  }
}

// A18: the words of a DEL that is to be repeated.
class A18_Words : public Acceptance {};

TEST_F(A18_Words, NoErrorOfDelSaysNotFoundOrNoSuchFile) {
  for (const char* said : {"open x: No such file or directory", "container not found",
                           "Not Found: no such file or directory, not found"}) {
    // DEL of ours goes on whatever is broken; what a plugin may still answer passes here.
    cni::Plugin plugin{.name = "p", .about = "p"};
    plugin.del = [&](const cni::Request&) -> cni::Outcome<void> { return cni::CniFail(11, said, said); };
    Chain broken({plugin, plugin, plugin});
    Answer answer = broken.Run(kOvs, "DEL", world.MakePod("p1", "ns-a", "vf0"), "");
    EXPECT_EQ(answer.code, 11U);
    std::ranges::transform(answer.text, answer.text.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    EXPECT_THAT(answer.text, Not(HasSubstr("not found")));
    EXPECT_THAT(answer.text, Not(HasSubstr("no such file or directory")));
  }
}

}  // namespace
}  // namespace rail
