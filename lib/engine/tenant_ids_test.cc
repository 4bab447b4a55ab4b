#include "lib/engine/tenant_ids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rail::engine {
namespace {

using tenancy::ComputeTenantId;
using tenancy::Tenancy;
using tenancy::TenantId;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr char kToday[] = "the key of today";
constexpr char kOld[] = "the key of before";

Tenancy Keys(std::vector<std::string> keys) {
  return {{config::TenancyMode::kNamespace, {{"team", {"ns-a", "ns-b"}}}, "", {}}, std::move(keys)};
}

state::Attachment Of(const std::string& tenant, TenantId id) {
  state::Attachment attachment;
  attachment.tenant = tenant;
  attachment.tenant_id = id.value;
  return attachment;
}

const TenantId kRedToday = ComputeTenantId(kToday, "namespace/red");
const TenantId kRedOld = ComputeTenantId(kOld, "namespace/red");
const TenantId kBlueToday = ComputeTenantId(kToday, "namespace/blue");

TEST(TenantIds, MoveWhatIsUnderAnAcceptedKeyToTheKeyOfToday) {
  const TenantIds ids(Keys({kToday, kOld}),
                      {Of("red", kRedOld), Of("red", kRedToday), Of("blue", kBlueToday)});
  EXPECT_EQ(ids.Now(Of("red", kRedOld)), kRedToday);
  EXPECT_EQ(ids.Now(Of("red", kRedToday)), kRedToday);
  EXPECT_EQ(ids.KeyOf(Of("red", kRedOld)), 1U);
  EXPECT_EQ(ids.KeyOf(Of("red", kRedToday)), 0U);
  EXPECT_THAT(ids.AnnouncedAs(kRedToday), UnorderedElementsAre(kRedToday, kRedOld));
  EXPECT_EQ(ids.Meaning(kRedOld), kRedToday);
  EXPECT_EQ(ids.names().at(kRedToday), "red");
  EXPECT_TRUE(ids.AreOne({kRedOld, kRedToday}));
  EXPECT_FALSE(ids.AreOne({kRedOld, kBlueToday}));
  EXPECT_THAT(ids.shared(), IsEmpty());
}

TEST(TenantIds, KnowATenantOfTheMapFromANamespaceOfTheSameName) {
  const TenantId of_map = ComputeTenantId(kOld, "tenant/team");
  const TenantId of_namespace = ComputeTenantId(kOld, "namespace/team");
  const TenantIds ids(Keys({kToday, kOld}), {Of("team", of_map), Of("team", of_namespace)});
  EXPECT_EQ(ids.Now(Of("team", of_map)), ComputeTenantId(kToday, "tenant/team"));
  EXPECT_EQ(ids.Now(Of("team", of_namespace)), ComputeTenantId(kToday, "namespace/team"));
  EXPECT_THAT(ids.AnnouncedAs(ComputeTenantId(kToday, "tenant/team")), SizeIs(2));
  EXPECT_FALSE(ids.AreOne({of_map, of_namespace}));
}

TEST(TenantIds, LeaveWhatNoKeyExplainsWhereItIs) {
  const TenantIds ids(Keys({kToday}), {Of("red", kRedOld), Of("", {})});
  EXPECT_EQ(ids.Now(Of("red", kRedOld)), kRedOld);
  EXPECT_EQ(ids.KeyOf(Of("red", kRedOld)), std::nullopt);
  EXPECT_THAT(ids.AnnouncedAs(kRedOld), ElementsAre(kRedOld));
  EXPECT_EQ(ids.Meaning(kRedToday), std::nullopt);
  EXPECT_EQ(ids.Now(Of("", {})), TenantId{});
}

TEST(TenantIds, DoNotTakeTheIdsOfARemovedKey) {
  const TenantIds ids(Keys({kToday}), {Of("red", kRedToday)});
  EXPECT_EQ(ids.Meaning(kRedOld), std::nullopt);
  EXPECT_THAT(ids.AnnouncedAs(kRedToday), ElementsAre(kRedToday));
  EXPECT_FALSE(ids.AreOne({kRedToday, kRedOld}));
}

// Nobody can make two names meet under 56 bits of HMAC, so one of the two is of an id that no key explains.
TEST(TenantIds, AnIdThatTwoTenantsHaveIsNeithers) {
  const TenantIds ids(Keys({kToday, kOld}), {Of("red", kRedToday), Of("blue", kRedOld)});
  EXPECT_EQ(ids.Now(Of("blue", kRedOld)), kRedOld);
  EXPECT_THAT(ids.shared(), ElementsAre(::testing::Pair(kRedOld, ElementsAre("blue", "red"))));
  EXPECT_EQ(ids.Meaning(kRedOld), std::nullopt);
  EXPECT_THAT(ids.AnnouncedAs(kRedToday), ElementsAre(kRedToday));
  EXPECT_THAT(ids.AnnouncedAs(kRedOld), IsEmpty());
}

TEST(TenantIds, WithoutKeysEveryIdIsItself) {
  const TenantIds ids(Keys({}), {Of("red", kRedOld)});
  EXPECT_EQ(ids.Now(Of("red", kRedOld)), kRedOld);
  EXPECT_THAT(ids.AnnouncedAs(kRedOld), ElementsAre(kRedOld));
}

}  // namespace
}  // namespace rail::engine
