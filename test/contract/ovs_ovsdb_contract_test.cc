// What every Ovsdb does: the fake and a real Open vSwitch.
#include <gmock/gmock.h>

#include <chrono>
#include <set>
#include <thread>

#include "lib/ovs/db_connection.h"
#include "lib/ovs/testing/fake_ovsdb.h"
#include "test/contract/ovs_fixture.h"

namespace rail::ovs {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::FakeOvsdb;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using testing::PrivateOvs;

constexpr auto kCommitted = Ovsdb::Wait::kCommitted;
constexpr auto kClosed = Ovsdb::Wait::kClosed;

enum class Kind { kFake, kReal };

class OvsdbContract : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    if (GetParam() == Kind::kReal) {
      auto ovs = PrivateOvs::Start();
      ASSERT_TRUE(ovs) << ovs.error().message;
      ovs_ = std::move(*ovs);
    }
    AddDevice("up0");
    db_ = Connect();
    ASSERT_NE(db_, nullptr);
  }

  std::unique_ptr<Ovsdb> Connect() {
    if (GetParam() == Kind::kFake) return fake_.Connect();
    auto db = DbConnection::Open("unix:" + ovs_->db(), After(seconds(10)));
    EXPECT_TRUE(db) << db.error().message;
    return db ? std::move(*db) : nullptr;
  }

  void AddDevice(const std::string& name) {
    if (GetParam() == Kind::kFake) return fake_.AddDevice(name);
    const auto added = ovs_->AddVeth(name, name + "p");
    ASSERT_TRUE(added) << added.error().message;
  }

  void SetOtherConfig(const std::string& key, const std::string& value) {
    if (GetParam() == Kind::kFake) return fake_.SetOtherConfig(key, value);
    const auto set = ovs_->Run({"ovs-vsctl", "--no-wait", "--db=unix:" + ovs_->db(), "set", "Open_vSwitch",
                                ".", "other_config:" + key + "=" + value});
    ASSERT_TRUE(set) << set.error().message;
  }

  void AddForeignBridge(const std::string& name) {
    if (GetParam() == Kind::kFake) return fake_.AddForeignBridge(name);
    const auto made = ovs_->Run({"ovs-vsctl", "--db=unix:" + ovs_->db(), "add-br", name, "--", "set",
                                 "bridge", name, "datapath_type=netdev"});
    ASSERT_TRUE(made) << made.error().message;
  }

  static BridgeSpec Spec(const std::string& name = "br-rail0", const std::string& uplink = "up0") {
    BridgeSpec spec;
    spec.name = name;
    spec.datapath = "netdev";
    spec.uplink = uplink;
    spec.hwaddr = "02:00:00:00:00:10";
    spec.external_ids = {{"railcni", "rail0"}};
    return spec;
  }

  static PortSpec PortOf(const std::string& name, const std::string& bridge = "br-rail0") {
    PortSpec spec;
    spec.bridge = bridge;
    spec.name = name;
    spec.external_ids = {{"railcni", "owner"}};
    return spec;
  }

  void MustEnsure(const BridgeSpec& spec) {
    const auto bridge = db_->EnsureBridge(spec, Soon());
    ASSERT_TRUE(bridge) << bridge.error().message;
  }
  Port MustAdd(const PortSpec& spec) {
    const auto port = db_->AddPort(spec, Soon());
    EXPECT_TRUE(port) << port.error().message;
    return port.value_or(Port{});
  }
  std::optional<Port> Find(const std::string& name) {
    auto port = db_->FindPort(name, Soon());
    EXPECT_TRUE(port) << port.error().message;
    return port ? *port : std::nullopt;
  }
  static Deadline Soon() { return After(seconds(20)); }

  FakeOvsdb fake_;
  std::unique_ptr<PrivateOvs> ovs_;
  std::unique_ptr<Ovsdb> db_;
};

INSTANTIATE_TEST_SUITE_P(Ovsdb, OvsdbContract, ::testing::Values(Kind::kFake, Kind::kReal),
                         [](const auto& p) { return p.param == Kind::kFake ? "Fake" : "Real"; });

std::vector<std::string> NamesOf(const Bridge& bridge) {
  std::vector<std::string> names;
  for (const Port& port : bridge.ports) names.push_back(port.name);
  return names;
}

TEST_P(OvsdbContract, MakesASecureBridgeWithItsUplink) {
  const auto bridge = db_->EnsureBridge(Spec(), Soon());
  ASSERT_TRUE(bridge) << bridge.error().message;
  EXPECT_EQ(bridge->name, "br-rail0");
  EXPECT_EQ(bridge->datapath, "netdev");
  EXPECT_EQ(bridge->fail_mode, "secure");
  EXPECT_EQ(bridge->hwaddr, "02:00:00:00:00:10");
  EXPECT_EQ(bridge->disable_in_band, kNoInBand);
  EXPECT_THAT(bridge->external_ids, ElementsAre(Pair("railcni", "rail0")));
  ASSERT_THAT(NamesOf(*bridge), ElementsAre("br-rail0", "up0"));
  EXPECT_EQ(bridge->ports[0].ofport, 65534);
  EXPECT_EQ(bridge->ports[1].ofport, 1);
  EXPECT_EQ(bridge->ports[1].bridge, "br-rail0");
}

TEST_P(OvsdbContract, FindsTheSameBridgeWhenItIsEnsuredAgain) {
  MustEnsure(Spec());
  MustEnsure(Spec());
  const auto bridge = db_->FindBridge("br-rail0", Soon());
  ASSERT_TRUE(bridge && bridge->has_value());
  EXPECT_THAT(NamesOf(**bridge), ElementsAre("br-rail0", "up0"));
}

TEST_P(OvsdbContract, MendsABridgeOfAnotherMakerAndLeavesItsPortsAlone) {
  AddForeignBridge("br-rail0");
  AddDevice("dev0");
  MustAdd(PortOf("dev0"));
  const auto bridge = db_->EnsureBridge(Spec(), Soon());
  ASSERT_TRUE(bridge) << bridge.error().message;
  EXPECT_EQ(bridge->fail_mode, "secure");
  EXPECT_EQ(bridge->hwaddr, "02:00:00:00:00:10");
  EXPECT_EQ(bridge->disable_in_band, kNoInBand);
  EXPECT_THAT(bridge->external_ids, ElementsAre(Pair("railcni", "rail0")));
  EXPECT_THAT(NamesOf(*bridge), ElementsAre("br-rail0", "dev0", "up0"));
}

TEST_P(OvsdbContract, RemovesABridgeOfItsOwner) {
  BridgeSpec spec = Spec();
  spec.prefixes = {{0, {"nw_src"}}};
  MustEnsure(spec);
  EXPECT_EQ(db_->DeleteBridge("br-rail0", {{"railcni", "rail9"}}, "up0", Soon()).value(), false);
  EXPECT_TRUE(db_->FindBridge("br-rail0", Soon())->has_value());
  EXPECT_EQ(db_->DeleteBridge("br-rail0", {{"railcni", "rail0"}}, "up0", Soon()).value(), true);
  const auto bridge = db_->FindBridge("br-rail0", Soon());
  ASSERT_TRUE(bridge);
  EXPECT_FALSE(bridge->has_value());
  EXPECT_EQ(db_->DeleteBridge("br-rail0", {{"railcni", "rail0"}}, "up0", Soon()).value(), false);
}

// The key counts, and so does an empty value.
TEST_P(OvsdbContract, RemovesABridgeWithAnEmptyMarkByThatMarkAlone) {
  BridgeSpec spec = Spec();
  spec.external_ids = {{"railcni", ""}};
  MustEnsure(spec);
  EXPECT_EQ(db_->DeleteBridge("br-rail0", {{"railcni-other", ""}}, "up0", Soon()).value(), false);
  EXPECT_EQ(db_->DeleteBridge("br-rail0", {{"railcni", ""}}, "up0", Soon()).value(), true);
  EXPECT_FALSE(db_->FindBridge("br-rail0", Soon())->has_value());
}

TEST_P(OvsdbContract, KeepsABridgeOnWhichOthersHavePorts) {
  MustEnsure(Spec());
  AddDevice("dev0");
  MustAdd(PortOf("dev0"));
  const auto removed = db_->DeleteBridge("br-rail0", Spec().external_ids, "up0", Soon());
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().code, Code::kBusy);
  EXPECT_THAT(removed.error().message, AllOf(HasSubstr("dev0"), Not(HasSubstr("up0"))));
  EXPECT_TRUE(db_->FindBridge("br-rail0", Soon())->has_value());
}

TEST_P(OvsdbContract, FindsTheBridgesWithAMark) {
  MustEnsure(Spec());
  AddForeignBridge("br-theirs");
  const auto found = db_->BridgesWith("railcni", Soon());
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ(found->front().name, "br-rail0");
  EXPECT_THAT(NamesOf(found->front()), ElementsAre("br-rail0", "up0"));
  EXPECT_TRUE(db_->BridgesWith("nobodys", Soon())->empty());
}

TEST_P(OvsdbContract, LeavesThePortsOfABridgeTheirNumbers) {
  AddForeignBridge("br-rail0");
  AddDevice("dev0");
  EXPECT_EQ(MustAdd(PortOf("dev0")).ofport, 1);
  MustEnsure(Spec());
  MustEnsure(Spec());
  EXPECT_EQ(Find("dev0")->ofport, 1);
  EXPECT_GT(Find("up0")->ofport, 1);
}

TEST_P(OvsdbContract, TakesItsMarkFromABridge) {
  MustEnsure(Spec());
  EXPECT_TRUE(db_->UnmarkBridge("br-rail0", {"railcni", "other"}, Soon()));
  EXPECT_TRUE(db_->UnmarkBridge("br-none", {"railcni"}, Soon()));
  EXPECT_THAT((*db_->FindBridge("br-rail0", Soon()))->external_ids, ::testing::IsEmpty());
}

TEST_P(OvsdbContract, SaysSoWhenTheUplinkIsNotThereAndHealsWhenItComes) {
  const auto bridge = db_->EnsureBridge(Spec("br-rail0", "pf9"), Soon());
  ASSERT_FALSE(bridge);
  EXPECT_EQ(bridge.error().code, Code::kInvalid);
  EXPECT_THAT(bridge.error().message, HasSubstr("could not open network device pf9 (No such device)"));
  AddDevice("pf9");
  // Open vSwitch hears of it from the kernel.
  const Deadline deadline = Soon();
  while (!db_->EnsureBridge(Spec("br-rail0", "pf9"), Soon()) && Clock::now() < deadline) {
  }
  MustEnsure(Spec("br-rail0", "pf9"));
  EXPECT_GT(Find("pf9").value_or(Port{}).ofport, 0);
}

TEST_P(OvsdbContract, NamesTheBridgeWhenTheUplinkIsOnAnother) {
  MustEnsure(Spec());
  const auto second = db_->EnsureBridge(Spec("br-rail1"), Soon());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kExists);
  EXPECT_THAT(second.error().message, HasSubstr("br-rail0"));
}

TEST_P(OvsdbContract, FindsNothingWhenNothingIsThere) {
  const auto bridge = db_->FindBridge("br-rail7", Soon());
  ASSERT_TRUE(bridge) << bridge.error().message;
  EXPECT_FALSE(bridge->has_value());
  EXPECT_FALSE(Find("rep7").has_value());
}

TEST_P(OvsdbContract, AddsAPortWithItsOfport) {
  MustEnsure(Spec());
  AddDevice("rep0");
  const Port port = MustAdd(PortOf("rep0"));
  EXPECT_EQ(port.bridge, "br-rail0");
  EXPECT_EQ(port.name, "rep0");
  EXPECT_GT(port.ofport, 1);
  EXPECT_LT(port.ofport, 65280);
  EXPECT_EQ(port.error, "");
  EXPECT_THAT(port.external_ids, ElementsAre(Pair("railcni", "owner")));
  const auto found = Find("rep0");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->ofport, port.ofport);
  EXPECT_EQ(found->external_ids, port.external_ids);
}

TEST_P(OvsdbContract, GivesTheOfportThatIsAskedFor) {
  MustEnsure(Spec());
  AddDevice("rep0");
  PortSpec spec = PortOf("rep0");
  spec.ofport_request = 77;
  EXPECT_EQ(MustAdd(spec).ofport, 77);
}

TEST_P(OvsdbContract, MergesExternalIdsWhenThePortIsThere) {
  MustEnsure(Spec());
  AddDevice("rep0");
  PortSpec spec = PortOf("rep0");
  spec.external_ids = {{"contIface", "net1"}, {"contPodUid", "u1"}};
  const Port first = MustAdd(spec);
  spec.external_ids = {{"contPodUid", "u2"}, {"railcni", "x"}};
  const Port second = MustAdd(spec);
  EXPECT_EQ(first.ofport, second.ofport);
  EXPECT_THAT(second.external_ids,
              ElementsAre(Pair("contIface", "net1"), Pair("contPodUid", "u2"), Pair("railcni", "x")));
}

TEST_P(OvsdbContract, RefusesAPortOfAnotherBridge) {
  MustEnsure(Spec());
  AddDevice("up1");
  AddDevice("rep0");
  MustEnsure(Spec("br-rail1", "up1"));
  MustAdd(PortOf("rep0", "br-rail1"));
  const auto port = db_->AddPort(PortOf("rep0"), Soon());
  ASSERT_FALSE(port);
  EXPECT_EQ(port.error().code, Code::kExists);
  EXPECT_THAT(port.error().message, HasSubstr("br-rail1"));
  EXPECT_EQ(Find("rep0").value_or(Port{}).bridge, "br-rail1");
}

TEST_P(OvsdbContract, TakesNoPortOfAnotherOwnerWhenAskedNotTo) {
  MustEnsure(Spec());
  AddDevice("rep0");
  const Port was = MustAdd(PortOf("rep0"));
  PortSpec spec = PortOf("rep0");
  spec.owner_key = "railcni";
  EXPECT_EQ(MustAdd(spec).ofport, was.ofport) << "it is its own";
  spec.external_ids = {{"railcni", "another"}};
  const auto port = db_->AddPort(spec, Soon());
  ASSERT_FALSE(port);
  EXPECT_EQ(port.error().code, Code::kExists);
  EXPECT_THAT(Find("rep0").value_or(Port{}).external_ids, ElementsAre(Pair("railcni", "owner")));
  ASSERT_TRUE(db_->RemoveExternalIds("rep0", {"railcni"}, Soon()));
  EXPECT_THAT(MustAdd(spec).external_ids, ElementsAre(Pair("railcni", "another"))) << "nobody's";
}

TEST_P(OvsdbContract, RefusesAPortWhenThereIsNoSuchBridge) {
  AddDevice("rep0");
  const auto port = db_->AddPort(PortOf("rep0"), Soon());
  ASSERT_FALSE(port);
  EXPECT_EQ(port.error().code, Code::kNotFound);
  EXPECT_FALSE(Find("rep0").has_value());
}

TEST_P(OvsdbContract, LeavesNoPortWhenItsDeviceCannotBeOpened) {
  MustEnsure(Spec());
  const auto port = db_->AddPort(PortOf("rep0"), Soon());
  ASSERT_FALSE(port);
  EXPECT_EQ(port.error().code, Code::kInvalid);
  EXPECT_THAT(port.error().message, HasSubstr("could not open network device rep0 (No such device)"));
  EXPECT_FALSE(Find("rep0").has_value());
}

TEST_P(OvsdbContract, DeletesAPortOfItsOwnerOnly) {
  MustEnsure(Spec());
  AddDevice("rep0");
  PortSpec spec = PortOf("rep0");
  spec.external_ids = {{"a", "1"}, {"b", "2"}};
  MustAdd(spec);
  for (const ExternalIds& wrong : {ExternalIds{{"a", "2"}}, ExternalIds{{"a", "1"}, {"c", "3"}}}) {
    ASSERT_TRUE(db_->DeletePort("br-rail0", "rep0", wrong, kCommitted, Soon()));
    EXPECT_TRUE(Find("rep0").has_value());
  }
  ASSERT_TRUE(db_->DeletePort("br-rail1", "rep0", {{"a", "1"}}, kCommitted, Soon()));
  EXPECT_TRUE(Find("rep0").has_value());
  ASSERT_TRUE(db_->DeletePort("br-rail0", "rep0", {{"a", "1"}}, kCommitted, Soon()));
  EXPECT_FALSE(Find("rep0").has_value());
  ASSERT_TRUE(db_->DeletePort("br-rail0", "rep0", {{"a", "1"}}, kCommitted, Soon()));
}

TEST_P(OvsdbContract, DeletesAPortOnlyIfItLacksTheKeysThatItShallNotHave) {
  MustEnsure(Spec());
  AddDevice("rep0");
  PortSpec spec = PortOf("rep0");
  spec.external_ids = {{"a", "1"}};
  MustAdd(spec);
  for (const ExternalIds& wrong : {ExternalIds{{"a", ""}}, ExternalIds{{"b", ""}, {"a", ""}}}) {
    ASSERT_TRUE(db_->DeletePort("br-rail0", "rep0", wrong, kCommitted, Soon()));
    EXPECT_TRUE(Find("rep0").has_value());
  }
  ASSERT_TRUE(db_->DeletePort("br-rail0", "rep0", {{"a", "1"}, {"b", ""}}, kCommitted, Soon()));
  EXPECT_FALSE(Find("rep0").has_value());
}

TEST_P(OvsdbContract, AddsAPortAgainWhenItWasDeletedAndClosed) {
  MustEnsure(Spec());
  AddDevice("rep0");
  MustAdd(PortOf("rep0"));
  const auto status = db_->DeletePort("br-rail0", "rep0", {}, kClosed, Soon());
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_FALSE(Find("rep0").has_value());
  EXPECT_GT(MustAdd(PortOf("rep0")).ofport, 1);
}

TEST_P(OvsdbContract, SetsAndRemovesExternalIdsOneByOne) {
  MustEnsure(Spec());
  AddDevice("rep0");
  MustAdd(PortOf("rep0"));
  ASSERT_TRUE(db_->SetExternalIds("rep0", {{"railcni", "new"}, {"x", "1"}, {"y", "2"}}, Soon()));
  ASSERT_TRUE(db_->RemoveExternalIds("rep0", {"x", "nothing"}, Soon()));
  EXPECT_THAT(Find("rep0").value_or(Port{}).external_ids,
              ElementsAre(Pair("railcni", "new"), Pair("y", "2")));
  EXPECT_EQ(db_->SetExternalIds("rep9", {{"a", "b"}}, Soon()).error().code, Code::kNotFound);
  EXPECT_TRUE(db_->RemoveExternalIds("rep9", {"a"}, Soon()));
}

TEST_P(OvsdbContract, TellsWhatOpenVswitchIsToldAboutItself) {
  const auto nothing = db_->OtherConfig(Soon());
  ASSERT_TRUE(nothing) << nothing.error().message;
  EXPECT_FALSE(nothing->contains("max-idle"));
  SetOtherConfig("max-idle", "600000");
  const auto told = db_->OtherConfig(Soon());
  ASSERT_TRUE(told) << told.error().message;
  EXPECT_EQ(told->at("max-idle"), "600000");
}

TEST_P(OvsdbContract, KeepsTextAsItIs) {
  MustEnsure(Spec());
  AddDevice("rep0");
  PortSpec spec = PortOf("rep0");
  spec.external_ids = {{"k \"1\"", "{\"a\": [1, 2]}\n\\ ü"}, {"empty", ""}};
  EXPECT_EQ(MustAdd(spec).external_ids, spec.external_ids);
}

TEST_P(OvsdbContract, LosesNothingWhenManyWriteAtOnce) {
  constexpr int kWriters = 64;
  MustEnsure(Spec());
  for (int i = 0; i < kWriters; ++i) AddDevice("rep" + std::to_string(i));
  std::vector<std::string> errors(kWriters);
  std::vector<std::unique_ptr<Ovsdb>> connections;
  for (int i = 0; i < kWriters; ++i) connections.push_back(Connect());
  const auto all = [&](const auto& work) {
    std::vector<std::thread> threads;
    for (int i = 0; i < kWriters; ++i) {
      threads.emplace_back([&, i] {
        const auto status = work(*connections[static_cast<size_t>(i)], "rep" + std::to_string(i));
        if (!status) errors[static_cast<size_t>(i)] = status.error().message;
      });
    }
    for (auto& thread : threads) thread.join();
  };
  all([](Ovsdb& db, const std::string& name) { return db.AddPort(PortOf(name), Soon()); });
  EXPECT_THAT(errors, ::testing::Each(""));
  auto bridge = db_->FindBridge("br-rail0", Soon());
  ASSERT_TRUE(bridge && bridge->has_value());
  EXPECT_EQ((*bridge)->ports.size(), kWriters + 2U);
  std::set<int64_t> ofports;
  for (const Port& port : (*bridge)->ports) ofports.insert(port.ofport);
  EXPECT_EQ(ofports.size(), kWriters + 2U);

  all([](Ovsdb& db, const std::string& name) {
    return db.DeletePort("br-rail0", name, {{"railcni", "owner"}}, kCommitted, Soon());
  });
  EXPECT_THAT(errors, ::testing::Each(""));
  bridge = db_->FindBridge("br-rail0", Soon());
  ASSERT_TRUE(bridge && bridge->has_value());
  EXPECT_THAT(NamesOf(**bridge), ElementsAre("br-rail0", "up0"));
}

TEST_P(OvsdbContract, AddsOnePortWhenManyAddTheSame) {
  constexpr int kWriters = 16;
  MustEnsure(Spec());
  AddDevice("rep0");
  std::vector<std::string> results(kWriters);
  std::vector<std::unique_ptr<Ovsdb>> connections;
  for (int i = 0; i < kWriters; ++i) connections.push_back(Connect());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kWriters; ++i) {
    threads.emplace_back([&, i] {
      PortSpec spec = PortOf("rep0");
      spec.external_ids = {{"writer" + std::to_string(i), "1"}};
      const auto port = connections[i]->AddPort(spec, Soon());
      results[i] = port ? std::to_string(port->ofport) : port.error().message;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(results, ::testing::Each(results[0]));
  EXPECT_EQ(Find("rep0").value_or(Port{}).external_ids.size(), size_t{kWriters});
}

}  // namespace
}  // namespace rail::ovs
