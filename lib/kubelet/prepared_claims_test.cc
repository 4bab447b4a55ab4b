#include "lib/kubelet/prepared_claims.h"

#include <gmock/gmock.h>

#include <barrier>
#include <iostream>
#include <thread>

#include "lib/kubelet/testing/claims.h"
#include "lib/kubelet/testing/test_folder.h"

namespace rail::kubelet {
namespace {

namespace fs = std::filesystem;
using testing::Claim;
using testing::Edits;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kLong;
using testing::ReadText;
using testing::RefusalOf;
using ::testing::SizeIs;
using testing::Tree;
using testing::Vf;

using Devices = std::vector<AllocatedDevice>;

const Allocation kOther{.envs = {{"PCIDEVICE_RAIL", "other"}}};

Result<Allocation> Never(const std::string& request, const Devices&) {
  ADD_FAILURE() << "the edits of " << request << " are asked for";
  return Fail(Code::kInternal, "never");
}

class Prepared : public ::testing::Test {
 protected:
  PreparedClaims Opened(const std::string& boot = "boot1") const {
    auto claims = PreparedClaims::Open({.folder = Folder(), .cdi_folder = Cdi(), .boot = boot}, After(kLong));
    if (!claims) {
      ADD_FAILURE() << claims.error().message;
      std::abort();
    }
    return *claims;
  }
  std::string Folder() const { return folder_.path() + "/claims"; }
  std::string Cdi() const { return folder_.path() + "/cdi"; }
  std::string CdiFile(const std::string& name) const {
    return Cdi() + "/railcni.io_rail_uid-" + name + ".json";
  }
  std::string Record(const std::string& name) const { return Folder() + "/uid-" + name + ".json"; }
  static auto Prepare(PreparedClaims& claims, const std::string& name, const Devices& devices,
                      const PreparedClaims::Edits& edits = Edits) {
    return claims.Prepare(Claim(name), devices, edits, After(kLong));
  }
  static Error Refused(PreparedClaims& claims, const std::string& name, const Devices& devices) {
    const auto prepared = Prepare(claims, name, devices);
    EXPECT_FALSE(prepared) << name;
    return prepared ? Error{} : prepared.error();
  }
  // "a: vf1 vf2"
  static std::vector<std::string> Held(const PreparedClaims& claims) {
    std::vector<std::string> held;
    const auto all = claims.Held();
    EXPECT_TRUE(all);
    for (const auto& [claim, devices, problem] : *all)
      held.push_back(claim.uid.substr(4) + ": " +
                     Join(devices, " ", [](const auto& each) { return each.device.device; }));
    return held;
  }
  void Damage(const std::string& name, const std::string& from, const std::string& to) const {
    std::string text = ReadText(Record(name));
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << text;
    std::ofstream(Record(name)) << text.replace(at, from.size(), to);
  }
  const testing::TestFolder folder_;
};

TEST_F(Prepared, TheFirstDeviceOfARequestHasItsCdiName) {
  auto claims = Opened();
  std::vector<std::string> asked;
  const auto edits = [&](const std::string& request, const Devices& devices) {
    asked.push_back(request + ": " + Join(devices, " ", &AllocatedDevice::device));
    return Edits(request, devices);
  };
  const auto prepared = Prepare(claims, "a", {Vf(1), Vf(9, "rail1/big"), Vf(2)}, edits);
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_THAT(asked, ElementsAre("rail0: vf1 vf2", "rail1/big: vf9"));
  EXPECT_THAT(*prepared, ElementsAre(PreparedDevice{Vf(1), {"railcni.io/rail=uid-a-rail0"}},
                                     PreparedDevice{Vf(9, "rail1/big"), {"railcni.io/rail=uid-a-rail1.big"}},
                                     PreparedDevice{Vf(2), {}}));
  EXPECT_EQ(RefusalOf(ReadText(CdiFile("a"))), "");
  EXPECT_THAT(ReadText(CdiFile("a")), HasSubstr("PCIDEVICE_RAIL=vf1,vf2"));
}

TEST_F(Prepared, TheSameDevicesGiveTheSameAnswerFromDisk) {
  auto claims = Opened();
  const auto first = Prepare(claims, "a", {Vf(1), Vf(2), Vf(3, "rail1")});
  ASSERT_TRUE(first) << first.error().message;
  const auto tree = Tree(folder_.path());
  auto reopened = Opened();
  for (PreparedClaims* each : {&claims, &reopened}) {
    for (const Devices& devices :
         {Devices{Vf(1), Vf(2), Vf(3, "rail1")}, Devices{Vf(3, "rail1"), Vf(2), Vf(1)}}) {
      const auto again = Prepare(*each, "a", devices, Never);
      ASSERT_TRUE(again) << again.error().message;
      EXPECT_EQ(*again, *first);
    }
  }
  EXPECT_EQ(Tree(folder_.path()), tree);
}

TEST_F(Prepared, ADeviceHasOneHolderAndTheOtherClaimIsToldWho) {
  auto claims = Opened();
  auto other_raild = Opened();
  ASSERT_TRUE(Prepare(claims, "a", {Vf(1), Vf(2)}));
  const auto tree = Tree(folder_.path());
  for (PreparedClaims* each : {&claims, &other_raild}) {
    const Error refused = Refused(*each, "b", {Vf(3), Vf(2, "rail7")});
    EXPECT_EQ(refused.code, Code::kBusy);
    EXPECT_THAT(refused.message,
                HasSubstr("claim team-b/claim-b (uid-b): device node1/vf2 is held by claim team-a/claim-a"));
  }
  EXPECT_EQ(Tree(folder_.path()), tree);
  AllocatedDevice elsewhere = Vf(2);
  elsewhere.pool = "node1/other";
  EXPECT_TRUE(Prepare(claims, "c", {elsewhere})) << "a device of that name in another pool";
}

TEST_F(Prepared, AClaimDoesNotChangeItsDevices) {
  auto claims = Opened();
  ASSERT_TRUE(Prepare(claims, "a", {Vf(1), Vf(2)}));
  const auto tree = Tree(folder_.path());
  for (const Devices& other :
       {Devices{Vf(1)}, Devices{Vf(1), Vf(2), Vf(3)}, Devices{Vf(1), Vf(3)}, Devices{Vf(1), Vf(2, "rail1")}})
    EXPECT_EQ(Refused(claims, "a", other).code, Code::kExists);
  EXPECT_EQ(Tree(folder_.path()), tree);
}

TEST_F(Prepared, UnprepareLeavesNothingAndMayBeRepeated) {
  auto claims = Opened();
  const auto empty = Tree(folder_.path());
  ASSERT_TRUE(Prepare(claims, "a", {Vf(1)}));
  EXPECT_TRUE(fs::is_directory(claims.FolderOf("uid-a")));
  std::ofstream(claims.FolderOf("uid-a") + "/file") << "x";
  for (int i = 0; i < 2; ++i) {
    const Status done = claims.Unprepare("uid-a", After(kLong));
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(Tree(folder_.path()), empty);
  }
  EXPECT_TRUE(claims.Unprepare("never-seen", After(kLong)));
  EXPECT_TRUE(Prepare(claims, "b", {Vf(1)})) << "the device is free";
}

TEST_F(Prepared, HostileNamesAreRefusedAndWriteNothing) {
  auto claims = Opened();
  ASSERT_TRUE(Prepare(claims, "a", {Vf(1)}));
  const auto tree = Tree(folder_.path());
  const auto refused = [&](const ClaimName& claim, const AllocatedDevice& device) {
    const auto prepared = claims.Prepare(claim, {device}, Never, After(kLong));
    return !prepared && prepared.error().code == Code::kInvalid;
  };
  for (const std::string bad :
       {"", ".", "..", "../claims/uid-a", "/tmp/x", "a/../b", "uid-a/x", ".lock", "a\nb", "-", "a=b"}) {
    EXPECT_TRUE(refused({.pod_namespace = "n", .name = "c", .uid = bad}, Vf(2))) << bad;
    EXPECT_TRUE(refused({.pod_namespace = bad, .name = "c", .uid = "u"}, Vf(2))) << bad;
    EXPECT_TRUE(refused({.pod_namespace = "n", .name = bad, .uid = "u"}, Vf(2))) << bad;
    const Status done = claims.Unprepare(bad, After(kLong));
    EXPECT_TRUE(!done && done.error().code == Code::kInvalid) << bad;
  }
  for (const std::string bad : {"", "..", "../x", "/x", "x/", ".x", "a=b", "a.b"})
    EXPECT_TRUE(refused(Claim("b"), Vf(2, bad))) << bad;
  for (const std::string bad : {"", "..", "a b", "a/"}) {
    EXPECT_TRUE(refused(Claim("b"), {.request = "r", .pool = "node1", .device = bad})) << bad;
    EXPECT_TRUE(refused(Claim("b"), {.request = "r", .pool = bad, .device = "vf2"})) << bad;
  }
  EXPECT_FALSE(claims.Prepare(Claim("b"), {}, Never, After(kLong))) << "no device";
  EXPECT_FALSE(claims.Prepare(Claim("b"), {Vf(2), Vf(2, "rail1")}, Never, After(kLong)))
      << "one device twice";
  EXPECT_EQ(Tree(folder_.path()), tree);
}

TEST_F(Prepared, WhatCannotBeGivenToContainersIsNotHeld) {
  auto claims = Opened();
  const auto tree = Tree(folder_.path());
  const auto no_device = [](const auto&, const auto&) { return Fail(Code::kNotFound, "vf1 has no driver"); };
  const auto failed = claims.Prepare(Claim("a"), {Vf(1)}, no_device, After(kLong));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::kNotFound);
  EXPECT_EQ(failed.error().message, "prepare claim team-a/claim-a (uid-a): vf1 has no driver");
  const auto annotated = [](const auto&, const auto&) { return Allocation{.annotations = {{"a", "b"}}}; };
  EXPECT_EQ(claims.Prepare(Claim("a"), {Vf(1)}, annotated, After(kLong)).error().code, Code::kInvalid);
  EXPECT_EQ(Tree(folder_.path()), tree);
}

TEST_F(Prepared, AClaimWithoutEditsHasNoCdiFile) {
  auto claims = Opened();
  const auto prepared = Prepare(claims, "a", {Vf(1)}, [](const auto&, const auto&) { return Allocation{}; });
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_THAT(*prepared, ElementsAre(PreparedDevice{Vf(1), {}}));
  EXPECT_THAT(Tree(Cdi()), IsEmpty());
  EXPECT_THAT(Held(Opened()), ElementsAre("a: vf1"));
}

TEST_F(Prepared, HeldListsClaimsWithTheirDevicesAndHolders) {
  auto claims = Opened();
  ASSERT_TRUE(Prepare(claims, "b", {Vf(3)}));
  ASSERT_TRUE(Prepare(claims, "a", {Vf(1), Vf(2)}));
  EXPECT_THAT(Held(claims), ElementsAre("a: vf1 vf2", "b: vf3"));
  const auto held = claims.Held();
  EXPECT_EQ(held->at(0).devices.at(0).cdi_names, std::vector<std::string>{"railcni.io/rail=uid-a-rail0"});
  EXPECT_EQ(held->at(0).problem, "");
  const auto holder = claims.HolderOf("node1", "vf3");
  ASSERT_TRUE(holder && *holder);
  EXPECT_EQ((*holder)->pod_namespace + "/" + (*holder)->name + "/" + (*holder)->uid, "team-b/claim-b/uid-b");
  EXPECT_EQ(*claims.HolderOf("node1", "vf4"), std::nullopt);
  EXPECT_EQ(*claims.HolderOf("node2", "vf3"), std::nullopt);
}

TEST_F(Prepared, OfTwoRaildThatGiveADeviceOneDoes) {
  for (int round = 0; round < 25; ++round) {
    auto first = Opened(), second = Opened();
    std::barrier begin(2);
    std::atomic<int> given{0};
    const auto give = [&](PreparedClaims& claims, const std::string& name) {
      begin.arrive_and_wait();
      given += Prepare(claims, name, {Vf(1)}) ? 1 : 0;
    };
    std::thread beside([&] { give(first, "a"); });
    give(second, "b");
    beside.join();
    ASSERT_EQ(given, 1);
    ASSERT_THAT(Held(first), SizeIs(1));
    for (const std::string name : {"uid-a", "uid-b"}) ASSERT_TRUE(first.Unprepare(name, After(kLong)));
  }
}

TEST_F(Prepared, WhoeverHasTheLockIsWaitedForUntilTheDeadline) {
  auto claims = Opened();
  ASSERT_TRUE(Prepare(claims, "a", {Vf(1)}));
  const auto tree = Tree(folder_.path());
  const auto lock = FileLock::Get(Folder() + "/.lock", FileLock::Kind::kAlone);
  ASSERT_TRUE(lock);
  EXPECT_EQ(claims.Prepare(Claim("b"), {Vf(2)}, Never, Clock::now()).error().code, Code::kBusy);
  EXPECT_EQ(claims.Unprepare("uid-a", Clock::now()).error().code, Code::kBusy);
  EXPECT_EQ(PreparedClaims::Open({.folder = Folder(), .cdi_folder = Cdi()}, Clock::now()).error().code,
            Code::kBusy);
  EXPECT_EQ(Tree(folder_.path()), tree);
  EXPECT_THAT(Held(claims), ElementsAre("a: vf1")) << "who only looks does not wait";
}

TEST_F(Prepared, ARecordThatCannotBeReadKeepsAllDevicesUntilItGoes) {
  auto claims = Opened();
  for (const std::string name : {"a", "b"}) ASSERT_TRUE(Prepare(claims, name, {Vf(name == "a" ? 1 : 2)}));
  std::ofstream(Record("a")) << ReadText(Record("a")).substr(0, 40);
  auto reopened = Opened();
  for (PreparedClaims* each : {&claims, &reopened}) {
    for (const std::string name : {"a", "c"}) {
      const Error refused = Refused(*each, name, {Vf(name == "a" ? 1 : 3)});
      EXPECT_EQ(refused.code, Code::kDamaged) << name;
      EXPECT_THAT(refused.message, HasSubstr(Record("a"))) << name;
    }
    EXPECT_EQ(each->HolderOf("node1", "vf1").error().code, Code::kDamaged);
    EXPECT_TRUE(*each->HolderOf("node1", "vf2")) << "whatever the damaged one has";
    EXPECT_TRUE(Prepare(*each, "b", {Vf(2)}, Never)) << "it is prepared already";
    EXPECT_THAT(each->Held()->at(0).problem, HasSubstr(Record("a")));
  }
  EXPECT_TRUE(fs::exists(CdiFile("a"))) << "its containers may start again";
  EXPECT_TRUE(claims.Unprepare("uid-b", After(kLong)));
  EXPECT_TRUE(claims.Unprepare("uid-a", After(kLong)));
  EXPECT_FALSE(fs::exists(CdiFile("a")));
  EXPECT_TRUE(Prepare(claims, "c", {Vf(1)}));
}

TEST_F(Prepared, TheDevicesOfADamagedRecordStayHeldAndOthersCanBeGiven) {
  auto claims = Opened();
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"\"format\":1", "\"format\":2"},
                                 {"\"uid\":\"uid-a\"", "\"uid\":\"uid-x\""},
                                 {"\"name\":\"claim-a\"", "\"name\":7"}}) {
    ASSERT_TRUE(Prepare(claims, "a", {Vf(1)})) << to;
    Damage("a", from, to);
    auto reopened = Opened();
    EXPECT_THAT(reopened.Held()->at(0).problem, HasSubstr(Record("a"))) << to;
    EXPECT_EQ(Refused(reopened, "a", {Vf(1)}).code, Code::kDamaged) << to;
    EXPECT_EQ(Refused(reopened, "b", {Vf(1)}).code, Code::kBusy) << to;
    EXPECT_TRUE(Prepare(reopened, "b", {Vf(2)})) << to;
    for (const std::string name : {"uid-a", "uid-b"}) ASSERT_TRUE(claims.Unprepare(name, After(kLong)));
  }
}

TEST_F(Prepared, ARecordWhoseDevicesAreDamagedIsNotTakenForOneWithout) {
  auto claims = Opened();
  for (const auto& [from, to] :
       {std::pair<std::string, std::string>{"\"devices\":[{\"cdi_names\"", "\"sold\":[{\"cdi_names\""},
        {"\"device\":\"vf1\"", "\"device\":1"},
        {"\"pool\":", "\"pond\":"}}) {
    ASSERT_TRUE(Prepare(claims, "a", {Vf(1)})) << to;
    Damage("a", from, to);
    EXPECT_EQ(Refused(claims, "b", {Vf(2)}).code, Code::kDamaged) << to;
    ASSERT_TRUE(claims.Unprepare("uid-a", After(kLong)));
  }
}

TEST_F(Prepared, AMissingOrChangedCdiFileIsWrittenAgain) {
  auto claims = Opened();
  const auto first = Prepare(claims, "a", {Vf(1)});
  ASSERT_TRUE(first);
  const auto tree = Tree(folder_.path());
  for (const bool is_missing : {true, false}) {
    for (const bool by_open : {true, false}) {
      if (is_missing) fs::remove(CdiFile("a"));
      if (!is_missing) std::ofstream(CdiFile("a")) << "{}";
      if (by_open) (void)Opened();
      if (!by_open) {
        EXPECT_EQ(*Prepare(claims, "a", {Vf(1)}, Never), *first);
      }
      EXPECT_EQ(Tree(folder_.path()), tree) << is_missing << by_open;
    }
  }
}

TEST_F(Prepared, OpenRemovesWhatHasNoRecordAndLeavesWhatIsNotOurs) {
  auto claims = Opened();
  ASSERT_TRUE(Prepare(claims, "a", {Vf(1)}));
  std::ofstream(Cdi() + "/nvidia.com_gpu.json") << "{}";
  const auto tree = Tree(folder_.path());
  fs::create_directories(Folder() + "/uid-gone/rail0");
  std::ofstream(Folder() + "/uid-gone/rail0/file") << "x";
  std::ofstream(Folder() + "/.uid-gone.json.railcni-AbCdEf") << "{";
  std::ofstream(CdiFile("gone")) << "{}";
  std::ofstream(Cdi() + "/.railcni.io_rail_uid-gone.json.railcni-AbCdEf") << "{";
  (void)Opened();
  EXPECT_EQ(Tree(folder_.path()), tree);
}

TEST_F(Prepared, AfterARebootTheEditsAreAskedForAnewAndTheDevicesStayHeld) {
  auto before = Opened("boot1");
  const auto first = Prepare(before, "a", {Vf(1)});
  ASSERT_TRUE(first);
  auto after = Opened("boot2");
  EXPECT_FALSE(fs::exists(CdiFile("a"))) << "its device files may be another's now";
  EXPECT_EQ(Refused(after, "b", {Vf(1)}).code, Code::kBusy);
  const auto failed = after.Prepare(
      Claim("a"), {Vf(1)}, [](const auto&, const auto&) { return Fail(Code::kNotFound, "vf1"); },
      After(kLong));
  EXPECT_FALSE(failed);
  EXPECT_THAT(Held(after), ElementsAre("a: vf1"));
  const auto again = Prepare(after, "a", {Vf(1)}, [](const auto&, const auto&) { return kOther; });
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *first);
  EXPECT_THAT(ReadText(CdiFile("a")), HasSubstr("PCIDEVICE_RAIL=other"));
  EXPECT_EQ(*Prepare(after, "a", {Vf(1)}, Never), *first);
  (void)Opened("boot2");
  EXPECT_THAT(ReadText(CdiFile("a")), HasSubstr("PCIDEVICE_RAIL=other"));
}

TEST_F(Prepared, ACdiFolderThatCannotBeWrittenIsNamedAndTheNextCallFinishes) {
  auto claims = Opened();
  fs::remove(Cdi());
  const Error refused = Refused(claims, "a", {Vf(1)});
  EXPECT_THAT(refused.message, HasSubstr(Cdi()));
  EXPECT_EQ(Refused(claims, "b", {Vf(1)}).code, Code::kBusy) << "the record is there: the claim has it";
  fs::create_directory(Cdi());
  EXPECT_TRUE(Prepare(claims, "a", {Vf(1)}, Never));
  EXPECT_EQ(RefusalOf(ReadText(CdiFile("a"))), "");
}

TEST_F(Prepared, AFolderThatCannotBeMadeIsNamed) {
  std::ofstream(folder_.path() + "/file") << "x";
  const auto claims =
      PreparedClaims::Open({.folder = folder_.path() + "/file", .cdi_folder = Cdi()}, After(kLong));
  ASSERT_FALSE(claims);
  EXPECT_THAT(claims.error().message, HasSubstr(folder_.path() + "/file"));
}

// Prints a number for people; what is asserted is that all are prepared.
TEST_F(Prepared, OneHundredAndTwentyEightClaimsBesideEachOther) {
  auto claims = Opened();
  std::vector<double> ms;
  for (int i = 0; i < 128; ++i) {
    const auto begin = Clock::now();
    const auto prepared = Prepare(claims, "c" + std::to_string(i), {Vf(i)});
    ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
    ASSERT_TRUE(prepared) << prepared.error().message;
  }
  EXPECT_THAT(Held(claims), SizeIs(128));
  const auto half = ms.begin() + 64;
  std::nth_element(ms.begin(), half, ms.end());
  std::cout << "Prepare, median of 128: " << *half << " ms\n";
}

}  // namespace
}  // namespace rail::kubelet
