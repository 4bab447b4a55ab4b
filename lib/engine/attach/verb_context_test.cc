#include "lib/engine/attach/verb_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lib/cni/testing/request.h"
#include "lib/engine/testing/attach.h"

namespace rail::engine {
namespace {

using cni::testing::MakeRequest;
using state::AttachmentKey;
using testing::Dependency;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::PodSpec;
using ::testing::SizeIs;
using testing::World;

constexpr char kConfig[] = R"({"cniVersion": "1.0.0", "name": "rail0", "type": "t"})";

TEST(VerbContext, TellsRaildWhenItEnds) {
  World world;
  {
    ASSERT_TRUE(VerbContext::Open(world.deps()));
  }
  EXPECT_EQ(world.wakeups, 1);
}

TEST(VerbContext, TellsRaildNothingWhenItOnlyLooks) {
  World world;
  {
    ASSERT_TRUE(VerbContext::Open(world.deps(), VerbContext::Use::kQuiet));
  }
  EXPECT_EQ(world.wakeups, 0);
}

TEST(VerbContext, DoesNotOpenWithoutTheRecord) {
  World world;
  world.faults.down = {Dependency::kState};
  EXPECT_EQ(VerbContext::Open(world.deps()).error().code, Code::kTransient);
}

TEST(VerbContext, SaysWhichPluginMustComeEarlierWhenTheAttachmentIsUnknown) {
  World world;
  const auto context = VerbContext::Open(world.deps());
  const auto found = RecordedAttachment(**context, MakeRequest("CHECK", kConfig));
  EXPECT_EQ(found.error().code, Code::kInvalid);
  EXPECT_THAT(found.error().message, HasSubstr("ovs-provider must stand earlier"));
}

TEST(VerbContext, ReadsBothNamesOfTheListOfValidAttachments) {
  for (const char* key : {"cni.dev/valid-attachments", "cni.dev/attachments"}) {
    cni::Request request = MakeRequest("CHECK", kConfig);
    request.config = std::make_shared<nlohmann::json>(
        nlohmann::json{{key, {{{"containerID", "c1"}, {"ifname", "net1"}}}}});
    const auto valid = ValidAttachments(request);
    ASSERT_TRUE(valid);
    ASSERT_TRUE(valid->has_value());
    EXPECT_THAT(**valid, ElementsAre(AttachmentKey{"rail0", "c1", "net1"}));
  }
  EXPECT_EQ(*ValidAttachments(MakeRequest("CHECK", kConfig)), std::nullopt);
}

TEST(VerbContext, RefusesAListThatIsNotOneOfAttachments) {
  cni::Request request = MakeRequest("CHECK", kConfig);
  request.config = std::make_shared<nlohmann::json>(
      nlohmann::json{{"cni.dev/valid-attachments", {{{"containerID", "c1"}}}}});
  EXPECT_EQ(ValidAttachments(request).error().code, Code::kInvalid);
}

TEST(VerbContext, UndoesEveryAttachmentOfTheNetworkButThoseKept) {
  World world;
  const PodSpec kept = world.MakePod("p1", "ns-a", "vf0");
  const PodSpec gone = world.MakePod("p2", "ns-a", "vf1");
  const PodSpec elsewhere = world.MakePod("p3", "ns-a", "vf10", "rail1");
  ASSERT_TRUE(testing::Attach(world, kept, "10.0.3.1"));
  ASSERT_TRUE(testing::Attach(world, gone, "10.0.3.2"));
  ASSERT_TRUE(testing::Attach(world, elsewhere, "10.0.3.3"));
  const auto context = VerbContext::Open(world.deps());
  ASSERT_TRUE(UndoAllBut(**context, "rail0", {world.Attachment(kept).key}, ""));
  EXPECT_TRUE(world.FindAttachment(kept));
  EXPECT_FALSE(world.FindAttachment(gone));
  EXPECT_TRUE(world.FindAttachment(elsewhere)) << "it is of another network";
}

TEST(VerbContext, UndoOfOneOwnerLeavesTheStepsOfTheOthers) {
  World world;
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  ASSERT_TRUE(testing::Attach(world, pod, "10.0.3.1"));
  const auto context = VerbContext::Open(world.deps());
  ASSERT_TRUE(UndoAttachment(**context, world.Attachment(pod).key, kFrrProvider));
  EXPECT_THAT(*world.bgp.Announced({}), IsEmpty());
  EXPECT_THAT(world.RulesOf(ovs::CookieKind::kTenant), SizeIs(2));
  EXPECT_EQ(world.Attachment(pod).phase, state::Phase::kDeleting);
}

TEST(VerbContext, JoinsProblemsIntoOneSentence) {
  EXPECT_TRUE(Problems({}));
  EXPECT_EQ(Problems({"a", "b"}).error().message, "a; b");
}

}  // namespace
}  // namespace rail::engine
