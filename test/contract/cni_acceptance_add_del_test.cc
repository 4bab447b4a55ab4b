// Lines A02 to A06, A08, A09 and A18 of ACCEPTANCE.md: ADD and its record, DEL, and the sweep.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lib/cni/testing/request.h"
#include "lib/netlink/testing/scratch.h"
#include "test/contract/acceptance_fixture.h"

namespace rail::testing {
namespace {

using engine::testing::Answer;
using engine::testing::Chain;
using engine::testing::Dependency;
using engine::testing::PodSpec;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

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
      {{Dependency::kIpam, "Add"}, "ipam"},         {{Dependency::kDevices, "RaiseRepresentor"}, "device"},
      {{Dependency::kDevices, "MoveIn"}, "device"}, {{Dependency::kOvsdb, "AddPort"}, "port"},
      {{Dependency::kPods, "Configure"}, "device"}, {{Dependency::kBgp, "AnnounceAll"}, "announce"}};
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

// The NetworkAttachmentDefinition was edited since, or the runtime's file of it was cut: each plugin is told what is left of it.
TEST_F(A05_Del, UndoesWhatTheRecordKnowsWhateverTheInputIs) {
  const std::vector<cni::Plugin> plugins = {ovs_provider::MakePlugin(world.deps()),
                                            tenant_isolation::MakePlugin(world.deps()),
                                            frr_provider::MakePlugin(world.deps())};
  const PodSpec other = world.MakePod("p2", "ns-a", "vf1");
  MustAdd(other);
  for (const char* input : {"", R"({"cniVersion": "1.0.0", "name": "ra)", "[]", R"({"name": "rail0"})",
                            R"({"cniVersion": "2.0.0", "name": "rail0", "rail": "rail0"})",
                            R"({"cniVersion": "1.0.0", "name": ""})"}) {
    const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
    MustAdd(pod);
    for (const size_t plugin : {kFrr, kTenant, kOvs}) {
      const auto ran = cni::testing::RunPlugin(plugins[plugin],
                                               {{"CNI_COMMAND", "DEL"},
                                                {"CNI_CONTAINERID", pod.container},
                                                {"CNI_NETNS", pod.netns},
                                                {"CNI_IFNAME", pod.ifname},
                                                {"CNI_PATH", "/usr/lib/cni"}},
                                               input);
      EXPECT_EQ(ran.status, 0) << input << ran.out;
    }
    EXPECT_EQ(world.FindAttachment(pod), std::nullopt) << input;
    EXPECT_EQ(world.devices.Where("vf0"), std::nullopt) << input;
  }
  ExpectSoleOwner(other);
}

TEST_F(A05_Del, SucceedsWhenTheNamespaceIsGoneOrItsPathLeadsElsewhere) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  MustAdd(pod);
  world.EndNamespace(pod);
  ExpectDone(chain.Del(pod));
  EXPECT_THAT(world.Leftovers(), IsEmpty());

  const PodSpec moved = world.MakePod("p2", "ns-a", "vf1");
  const PodSpec other = world.MakePod("p3", "ns-b", "vf2");
  MustAdd(moved);
  MustAdd(other);
  world.EndNamespace(moved);
  std::filesystem::create_symlink(std::filesystem::read_symlink(other.netns), moved.netns);
  ExpectDone(chain.Del(moved));
  ExpectSoleOwner(other);
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

// A8: DEL of a chained plugin is best effort; what could not be undone is pending.
class A08_BestEffort : public Acceptance {};

TEST_F(A08_BestEffort, DelSucceedsWithOvsAndBgpdDownAndKeepsTheWorkAsPending) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  MustAdd(pod);
  world.faults.down = {Dependency::kOvsdb, Dependency::kOpenFlow, Dependency::kBgp};
  for (const size_t plugin : {kFrr, kTenant, kOvs}) ExpectDone(chain.Run(plugin, "DEL", pod, ""));
  EXPECT_THAT(world.Pending(pod), ElementsAre("port", "ipam", "admit", "tenant", "announce"));
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
}  // namespace rail::testing
