// The tenant key replaced while pods talk: accept, swap, remove (lib/tenancy/README.md, "Another key").
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "lib/engine/testing/attach.h"

namespace rail::engine {
namespace {

using ovs::CookieKind;
using ovs::Rule;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::PodSpec;
using testing::Raild;
using ::testing::SizeIs;
using testing::World;

IpAddress Ip(const std::string& text) {
  return *IpAddress::Parse(text);
}

class RotationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    world.keys = {old};
    raild = StartRaild();
    Attach(pod, "10.0.3.1");
    Attach(other, "10.0.3.2");
    Attach(elsewhere, "10.0.3.3");
    LearnUnder(old, "10.0.9.1", "ns-a");
    LearnUnder(old, "10.0.9.2", "ns-b");
    raild->Audit();
    raild->Audit();
  }
  std::unique_ptr<Raild> StartRaild() { return world.StartRaild(std::chrono::hours(1)); }
  void Attach(const PodSpec& spec, const std::string& address) {
    const auto attached = testing::Attach(world, spec, address);
    ASSERT_TRUE(attached) << attached.error().message;
  }
  void LearnUnder(const std::string& key, const std::string& address, const std::string& pod_namespace) {
    const auto keys = std::exchange(world.keys, {key});
    world.LearnRemote(address, pod_namespace);
    world.keys = keys;
  }
  // What raild does when it sees that a key file has changed.
  void Keys(std::vector<std::string> keys) {
    world.keys = std::move(keys);
    raild->LoadKeys();
    raild->RecordChanged();
    raild->bgp.Audit();
    raild->Poll();
  }
  tenancy::TenantId IdUnder(const std::string& key, const std::string& pod_namespace) const {
    return tenancy::ComputeTenantId(key, "namespace/" + pod_namespace);
  }
  // The ids that rules of the bridge speak of, each once.
  std::set<std::string> IdsInRules() {
    std::set<std::string> ids;
    for (const Rule& rule : world.Bridge().rules()) {
      const size_t at = rule.actions.find("set_field:0x");
      const size_t to = rule.actions.find("->xreg");
      if (at == 0 && to != std::string::npos) ids.insert(rule.actions.substr(12, to - 12));
    }
    return ids;
  }
  std::set<std::string> Ids(const std::string& key) const {
    std::set<std::string> ids;
    for (const char* of : {"ns-a", "ns-b"}) {
      const std::string digits = IdUnder(key, of).ToString();
      ids.insert(digits.substr(digits.find_first_not_of('0')));
    }
    return ids;
  }
  std::vector<Rule> Remotes() { return world.RulesOf(CookieKind::kRemote); }
  bool Knows(const std::string& address) {
    return std::ranges::any_of(Remotes(),
                               [&](const Rule& rule) { return rule.match.ends_with("=" + address); });
  }

  const std::string old = "the key of before";
  const std::string next = "the key of tomorrow";
  World world;
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  const PodSpec other = world.MakePod("p2", "ns-b", "vf1");
  const PodSpec elsewhere = world.MakePod("p3", "ns-a", "vf10", "rail1");
  std::unique_ptr<Raild> raild;
};

TEST_F(RotationTest, AcceptingAnotherKeyChangesNothing) {
  const auto rules = world.Bridge().rules();
  const int commits = world.Bridge().commits();
  const uint64_t table = *world.bgp.TableVersion({});
  Keys({old, next});
  EXPECT_EQ(world.Bridge().rules(), rules);
  EXPECT_EQ(world.Bridge().commits(), commits);
  EXPECT_EQ(*world.bgp.TableVersion({}), table);
}

TEST_F(RotationTest, ARemoteThatSwapsFirstKeepsItsRules) {
  Keys({old, next});
  const auto rules = world.Bridge().rules();
  const int commits = world.Bridge().commits();
  LearnUnder(next, "10.0.9.1", "ns-a");
  raild->Poll();
  EXPECT_EQ(world.Bridge().rules(), rules);
  EXPECT_EQ(world.Bridge().commits(), commits);
  const auto remotes = raild->board.Current();
  ASSERT_THAT(remotes->remotes, SizeIs(2));
  EXPECT_EQ(remotes->remotes[0].remote.tenant, IdUnder(next, "ns-a"));
  EXPECT_EQ(remotes->remotes[0].tenant_here(), IdUnder(old, "ns-a"));
  EXPECT_EQ(remotes->remotes[0].tenant, "ns-a");
  EXPECT_TRUE(remotes->remotes[0].installed);
}

TEST_F(RotationTest, TheSwapRewritesRecordRulesAndAnnouncementsTogether) {
  Keys({old, next});
  const size_t count = world.Bridge().rules().size();
  const int commits = world.Bridge().commits();
  Keys({next, old});
  EXPECT_EQ(world.Bridge().commits(), commits + 1) << "one bundle: no packet is between two ids";
  EXPECT_EQ(world.Bridge().rules().size(), count);
  EXPECT_EQ(IdsInRules(), Ids(next));
  EXPECT_TRUE(Knows("10.0.9.1")) << "announced under the old key still";
  EXPECT_TRUE(Knows("10.0.3.3")) << "a pod of this node on the other rail";
  EXPECT_THAT(world.RulesOf(CookieKind::kCompare), SizeIs(2));
  for (const PodSpec& each : {pod, other, elsewhere})
    EXPECT_EQ(world.Attachment(each).tenant_id, IdUnder(next, each.pod_namespace).value);
  EXPECT_EQ(world.Attachment(pod).tenant, "ns-a");
  EXPECT_THAT(*world.bgp.Announced({}),
              Contains(frr::Announcement{Ip("10.0.3.1"), "rail0", 0, IdUnder(next, "ns-a")}));
  EXPECT_THAT(*world.bgp.Announced({}), SizeIs(3));
}

TEST_F(RotationTest, RemovingTheOldKeyCutsOffWhoIsStillUnderIt) {
  Keys({next, old});
  LearnUnder(next, "10.0.9.1", "ns-a");
  LearnUnder(old, "10.0.9.7", "ns-a");
  raild->Poll();
  EXPECT_TRUE(Knows("10.0.9.7"));
  Keys({next});
  EXPECT_TRUE(Knows("10.0.9.1"));
  EXPECT_FALSE(Knows("10.0.9.7"));
  EXPECT_FALSE(Knows("10.0.9.2")) << "of ns-b, under the old key";
  const auto now = raild->board.Current();
  EXPECT_THAT(now->remotes.list(), Contains(::testing::AllOf(Field(&RemoteView::installed, false),
                                                             Field(&RemoteView::tenant, ""))));
}

TEST_F(RotationTest, ARollBackIsASwapToo) {
  const auto rules = world.Bridge().rules();
  Keys({next, old});
  Keys({old, next});
  EXPECT_EQ(world.Bridge().rules(), rules);
  EXPECT_EQ(world.Attachment(pod).tenant_id, IdUnder(old, "ns-a").value);
}

// A key that is put in the place of another without a word: what is attached keeps on talking.
TEST_F(RotationTest, AKeyThatExplainsNothingChangesNothing) {
  const auto rules = world.Bridge().rules();
  Keys({next});
  EXPECT_EQ(world.Bridge().rules(), rules);
  EXPECT_EQ(world.Attachment(pod).tenant_id, IdUnder(old, "ns-a").value);
  Keys({next, old});
  EXPECT_EQ(IdsInRules(), Ids(next)) << "the way back into order";
}

// A path of each leaf: one leaf has heard of the swap, the other not yet.
TEST_F(RotationTest, OneTenantUnderTwoIdsIsNotContested) {
  Keys({next, old});
  const auto tell = [&](const std::set<tenancy::TenantId>& claims) {
    Learned learned;
    learned.complete = true;
    for (const tenancy::TenantId id : claims) {
      learned.remotes.by_tenant[id] = std::make_shared<const std::vector<frr::Remote>>(
          std::vector<frr::Remote>{{Ip("10.0.9.5"), id, 0, ""}});
    }
    learned.remotes.contested[Ip("10.0.9.5")] = claims;
    raild->picture.SetLearned(std::make_shared<const Learned>(std::move(learned)));
    raild->the_switch.Learned();
  };
  tell({IdUnder(old, "ns-a"), IdUnder(next, "ns-a")});
  EXPECT_TRUE(Knows("10.0.9.5"));
  tell({IdUnder(old, "ns-a"), IdUnder(next, "ns-b")});
  EXPECT_FALSE(Knows("10.0.9.5"));
  tell({IdUnder(old, "ns-a"), IdUnder(next, "ns-c")});
  EXPECT_FALSE(Knows("10.0.9.5")) << "whatever a tenant is that is not here";
}

// What tells the operator when the old file can go.
TEST_F(RotationTest, ShowsWhatIsUnderEachKey) {
  std::string folder = ::testing::TempDir() + "railcni-rotation-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  config::Tenancy files;
  files.key_file = folder + "/tenant.key";
  files.accept_key_files = {files.key_file + ".next", files.key_file + ".old"};
  for (const auto& [name, key] :
       {std::pair(files.key_file, next), std::pair(files.accept_key_files[1], old)}) {
    std::ofstream(name) << key;
    ASSERT_EQ(::chmod(name.c_str(), 0600), 0);
  }
  const auto shown = [&] {
    auto loaded = tenancy::Tenancy::Load(files);
    EXPECT_TRUE(loaded);
    raild->picture.SetTenancy(std::make_shared<const tenancy::Tenancy>(std::move(*loaded)));
    raild->picture.Publish(*raild->store);
    return raild->board.Current()->keys;
  };
  auto keys = shown();
  ASSERT_THAT(keys, SizeIs(3));
  EXPECT_TRUE(keys[0].file.current);
  EXPECT_EQ(keys[0].file.fingerprint, tenancy::Fingerprint(next));
  EXPECT_EQ(keys[0].attachments, 0U);
  EXPECT_EQ(keys[1].file.fingerprint, "") << "it is not there";
  EXPECT_EQ(keys[2].file.fingerprint, tenancy::Fingerprint(old));
  EXPECT_EQ(keys[2].attachments, 3U);
  EXPECT_EQ(keys[2].remotes, 2U);
  EXPECT_THAT(keys[2].examples, ::testing::UnorderedElementsAre(Ip("10.0.9.1"), Ip("10.0.9.2")));
  Keys({next, old});
  LearnUnder(next, "10.0.9.1", "ns-a");
  raild->Poll();
  keys = shown();
  EXPECT_EQ(keys[0].attachments, 3U);
  EXPECT_EQ(keys[0].remotes, 1U);
  EXPECT_EQ(keys[2].attachments, 0U);
  EXPECT_EQ(keys[2].remotes, 1U);
  std::filesystem::remove_all(folder);
}

TEST_F(RotationTest, RaildThatDiesAtAnyPointOfTheSwapEndsItWhenItIsBack) {
  Keys({old, next});
  world.keys = {next, old};
  int crashes = 0;
  for (int at = 1;; ++at) {
    SCOPED_TRACE(at);
    world.keys = {old, next};  // back to where it began
    raild = StartRaild();
    raild->Audit();
    world.keys = {next, old};
    world.CrashAt(at);
    raild = StartRaild();
    bool crashed = false;
    try {
      raild->RecordChanged();
    } catch (const testing::Crash&) {
      crashed = true;
    }
    world.NoCrash();
    if (!crashed) break;
    ++crashes;
    raild = StartRaild();
    raild->Audit();
    ASSERT_EQ(IdsInRules(), Ids(next));
    ASSERT_THAT(world.RulesOf(CookieKind::kCompare), SizeIs(2));
    for (const PodSpec& each : {pod, other, elsewhere})
      ASSERT_EQ(world.Attachment(each).tenant_id, IdUnder(next, each.pod_namespace).value);
    ASSERT_THAT(*world.bgp.Announced({}), SizeIs(3));
    ASSERT_THAT(*world.bgp.Announced({}),
                Contains(frr::Announcement{Ip("10.0.3.1"), "rail0", 0, IdUnder(next, "ns-a")}));
  }
  EXPECT_GE(crashes, 6) << "before and after each of three attachments";
}

// It has learned nothing yet, and its pods talk to the remotes that the one before has installed.
TEST_F(RotationTest, ARaildThatStartsAfterTheSwapTakesTheRemotesInTheSwitchAlong) {
  Keys({old, next});
  const size_t count = world.Bridge().rules().size();
  world.keys = {next, old};
  raild = StartRaild();
  for (int look = 0; look < 2; ++look) {
    raild->the_switch.Audit();
    EXPECT_EQ(IdsInRules(), Ids(next)) << look;
    EXPECT_TRUE(Knows("10.0.9.1"));
    EXPECT_EQ(world.Bridge().rules().size(), count);
  }
  raild->Audit();
  EXPECT_EQ(IdsInRules(), Ids(next));
  EXPECT_TRUE(Knows("10.0.9.1"));
}

TEST_F(RotationTest, ARecordThatCannotBeWrittenKeepsNobodyFromTheNewId) {
  Keys({old, next});
  world.gate.disk = testing::Gate::Disk::kReadOnly;
  Keys({next, old});
  EXPECT_EQ(world.Attachment(pod).tenant_id, IdUnder(old, "ns-a").value);
  EXPECT_EQ(IdsInRules(), Ids(next));
  EXPECT_THAT(*world.bgp.Announced({}),
              Contains(frr::Announcement{Ip("10.0.3.1"), "rail0", 0, IdUnder(next, "ns-a")}));
  world.gate.disk = {};
  raild->Audit();
  EXPECT_EQ(world.Attachment(pod).tenant_id, IdUnder(next, "ns-a").value);
}

// A plugin reads the new key before raild does.
TEST_F(RotationTest, AnAddUnderTheNewKeyJoinsItsTenantAtRaildsNextLook) {
  Keys({old, next});
  world.keys = {next, old};
  const PodSpec late = world.MakePod("p4", "ns-a", "vf2");
  Attach(late, "10.0.3.4");
  raild->RecordChanged();  // it does not know yet which key is today's
  EXPECT_EQ(IdsInRules(), Ids(old)) << "one tenant, one id";
  raild->LoadKeys();
  raild->RecordChanged();
  EXPECT_EQ(IdsInRules(), Ids(next));
}

TEST_F(RotationTest, ADelAmidTheSwapLeavesNothingAndTakesNobodysRule) {
  Keys({old, next});
  const PodSpec second = world.MakePod("p4", "ns-a", "vf2");
  Attach(second, "10.0.3.4");
  raild->RecordChanged();
  // The record of one has moved, that of the other has not, the rules of none.
  ASSERT_TRUE(world.record.SetTenant(world.Attachment(second).id, "ns-a", IdUnder(next, "ns-a").value));
  const auto session = Session::Open(world.deps());
  ASSERT_TRUE(UndoAttachment(**session, world.Attachment(pod).key, ""));
  EXPECT_FALSE(world.FindAttachment(pod));
  EXPECT_THAT(world.RulesOf(CookieKind::kCompare), SizeIs(2)) << "the second pod still needs it";
  Keys({next, old});
  EXPECT_EQ(IdsInRules(), Ids(next));
  ASSERT_TRUE(UndoAttachment(**session, world.Attachment(second).key, ""));
  ASSERT_TRUE(UndoAttachment(**session, world.Attachment(other).key, ""));
  ASSERT_TRUE(UndoAttachment(**session, world.Attachment(elsewhere).key, ""));
  raild->RecordChanged();
  EXPECT_THAT(world.RulesOf(CookieKind::kCompare), IsEmpty());
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

}  // namespace
}  // namespace rail::engine
