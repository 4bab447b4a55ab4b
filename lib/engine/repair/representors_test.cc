// The links of representors: raild sets them up again, of who is ready and of nobody else.
#include "lib/engine/repair/representors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/engine/attach/attachment.h"
#include "lib/engine/testing/repair_fixture.h"

namespace rail::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Representors : public testing::RepairTest {
 protected:
  int Index(const std::string& name) { return world.host.GetLink(name)->index; }
  bool IsUp(const std::string& name) { return world.host.GetLink(name)->up; }
  void SetDown(const std::string& name) { ASSERT_TRUE(world.host.SetDown(Index(name))); }
  uint64_t Raised() {
    const auto& causes = raild->views.Current()->repairs_by_cause;
    const auto it = causes.find("representor");
    return it == causes.end() ? 0 : it->second;
  }
};

TEST_F(Representors, AreSetUpAgainByTheirEvent) {
  Settle();
  SetDown("rep0");
  ASSERT_TRUE(raild->the_switch.TakeRepresentors({Index("rep0")}));
  raild->the_switch.RepairRepresentors();
  EXPECT_TRUE(IsUp("rep0"));
  EXPECT_EQ(Raised(), 1U);
  raild->the_switch.RepairRepresentors();
  EXPECT_EQ(Raised(), 1U);
}

TEST_F(Representors, OfNobodyAreLeftAlone) {
  Settle();
  SetDown("rep1");
  EXPECT_FALSE(raild->the_switch.TakeRepresentors({Index("rep1"), Index("rep2")}));
  Audit();
  EXPECT_FALSE(IsUp("rep1"));
  // That of an attachment that is being removed, too.
  state::Attachment attachment = world.Attachment(pod);
  ASSERT_TRUE(world.record.SetPhase(attachment.id, state::Phase::kDeleting));
  SetDown("rep0");
  Audit();
  EXPECT_FALSE(IsUp("rep0"));
}

TEST_F(Representors, OfAPodThatHasJustComeAreFollowedAtOnce) {
  Settle();
  Attach(world.MakePod("p2", "ns-b", "vf1"), "10.0.3.2");
  raild->RecordChanged();
  SetDown("rep1");
  ASSERT_TRUE(raild->the_switch.TakeRepresentors({Index("rep1")}));
  raild->the_switch.RepairRepresentors();
  EXPECT_TRUE(IsUp("rep1"));
}

TEST_F(Representors, ThatCannotBeSetUpAreReportedAndTheOthersAreSetUp) {
  Settle();
  Attach(world.MakePod("p2", "ns-b", "vf1"), "10.0.3.2");
  Audit();
  SetDown("rep0");
  SetDown("rep1");
  world.host.FailOn("SetUp", {Code::kPermission, "Operation not permitted"});
  Audit();
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("representors of rail rail0: rep0, the representor of "
                                                "ns-a/p1: set it up: Operation not permitted")));
  EXPECT_TRUE(IsUp("rep1"));
  Audit();
  EXPECT_TRUE(IsUp("rep0"));
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(Representors, ThatAreGoneAreAnotherPartsMatter) {
  Settle();
  world.host.RemoveLink("rep0");
  Audit();
  for (const std::string& problem : Problems())
    EXPECT_THAT(problem, ::testing::Not(HasSubstr("representors of")));
}

class Guards : public Representors {
 protected:
  std::optional<guard::Allowed> Allowed() {
    const auto it = world.guard.guards().find("rep0");
    return it == world.guard.guards().end() ? std::nullopt : it->second.allowed;
  }
  guard::Allowed Wanted() { return AllowedOf(world.config.rails.front(), world.Attachment(pod)); }
  uint64_t Guarded() {
    const auto& causes = raild->views.Current()->repairs_by_cause;
    const auto it = causes.find("guard");
    return it == causes.end() ? 0 : it->second;
  }
};

TEST_F(Guards, ThatSomebodyHasTakenAwayComeBackByTheirEvent) {
  Settle();
  EXPECT_EQ(Allowed(), Wanted());
  EXPECT_EQ(Guarded(), 0U);
  world.guard.TakeAway("rep0");
  ASSERT_TRUE(raild->the_switch.TakeRepresentors({Index("rep0")}));
  raild->the_switch.RepairRepresentors();
  EXPECT_EQ(Allowed(), Wanted());
  EXPECT_EQ(Guarded(), 1U);
  Audit();
  EXPECT_EQ(Guarded(), 1U);
}

TEST_F(Guards, ThatLetSomethingElsePassAreMadeAnew) {
  Settle();
  guard::Allowed other = Wanted();
  other.addresses.push_back(Ip("10.0.3.99"));
  ASSERT_TRUE(world.guard.Allow("rep0", other));
  Audit();
  EXPECT_EQ(Allowed(), Wanted());
  EXPECT_EQ(Guarded(), 1U);
}

// The record was read before the DEL came.
TEST_F(Guards, ThatADelHasOpenedStayOpen) {
  Settle();
  RecordReader reader(world.record);
  const RecordPtr before = reader.Read().value();
  const auto context = std::move(*VerbContext::Open(world.deps()));
  Node node = context->node();
  ASSERT_TRUE(Undo(node, world.Attachment(pod), "").value().removed);
  ViewPublisher views;
  NodeStatus status(world.config, {}, views);
  RepresentorRepair repair(world.config.rails.front(), status);
  ASSERT_TRUE(repair.Repair(context->connections, world.record, *before));
  EXPECT_TRUE(world.guard.guards().at("rep0").open);
}

// Such a port may have no device that anybody has named.
TEST_F(Guards, OfAPortThatAnotherPluginHasMadeComeBack) {
  Settle();
  RecordReader reader(world.record);
  Record record = *reader.Read().value();
  record.attachments.front().adopted = true;
  record.attachments.front().device.clear();
  world.guard.TakeAway("rep0");
  const auto context = std::move(*VerbContext::Open(world.deps()));
  ViewPublisher views;
  NodeStatus status(world.config, {}, views);
  RepresentorRepair repair(world.config.rails.front(), status);
  ASSERT_TRUE(repair.Repair(context->connections, world.record, record));
  EXPECT_EQ(Allowed(), Wanted());
}

TEST_F(Guards, GiveWayToAProgramOfOthersAndRaildSaysSo) {
  Settle();
  world.guard.TakeAway("rep0");
  world.guard.AddOther("rep0");
  Attach(world.MakePod("p2", "ns-b", "vf1"), "10.0.3.2");
  world.guard.TakeAway("rep1");
  Audit();
  EXPECT_THAT(Problems(),
              ElementsAre(HasSubstr("rep0, the representor of ns-a/p1: rep0 has an XDP program of others")));
  EXPECT_EQ(Allowed(), std::nullopt);
  EXPECT_TRUE(world.guard.guards().contains("rep1")) << "the others are guarded all the same";
}

TEST_F(Guards, ForgetWhomNobodyHasSpokenToOnceInTwoMinutes) {
  Settle();
  int asked = 0;
  world.faults.before = [&](testing::Dependency, std::string_view call) {
    asked += call == "Forget" ? 1 : 0;
  };
  Audit();
  EXPECT_EQ(asked, 0) << "Settle has asked";
  world.passed += std::chrono::minutes(2);
  Audit();
  EXPECT_EQ(asked, 1);
  Audit();
  EXPECT_EQ(asked, 1);
}

TEST(RepresentorProblem, IsTheAdminStateFirstAndTheCarrierThen) {
  netlink::Link link;
  link.name = "rep0";
  EXPECT_EQ(RepresentorProblem(link), "rep0 is set down");
  link.up = true;
  EXPECT_EQ(RepresentorProblem(link), "rep0 has no carrier");
  link.carrier = true;
  EXPECT_EQ(RepresentorProblem(link), "");
  EXPECT_THAT(RepresentorRemedy("rep0", false), HasSubstr("`ip link set rep0 up`"));
  EXPECT_THAT(RepresentorRemedy("rep0", true), HasSubstr("link-state"));
}

}  // namespace
}  // namespace rail::engine
