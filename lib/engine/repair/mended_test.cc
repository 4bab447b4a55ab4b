// The sentence about what a round has put right.
#include "lib/engine/repair/mended.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rail::engine {
namespace {

using ovs::Cookie;
using ovs::CookieKind;

Record TwoPods() {
  Record record;
  for (int64_t id : {7, 8}) {
    state::Attachment pod;
    pod.id = id;
    pod.key.ifname = "net1";
    pod.pod_namespace = "ns-a";
    pod.pod_name = "p" + std::to_string(id);
    pod.tenant = "tenant-a";
    pod.tenant_id = {0x54, 0x4242};
    record.attachments.push_back(pod);
  }
  return record;
}

TEST(WordsFor, CountWhatWasWrongAndNameWhoseItWas) {
  MendedRules mended;
  mended.Missing(Cookie(CookieKind::kAttachment, 7));
  mended.Missing(Cookie(CookieKind::kTenant, 7));
  mended.Changed(Cookie(CookieKind::kCompare, 0x4242));
  mended.Unexplained(Cookie(CookieKind::kTenant, 99));
  EXPECT_EQ(WordsFor(mended, "br-rail0", TwoPods()),
            "flows of br-rail0 put right that others had changed: 2 missing, 1 changed, 1 that nothing "
            "explains; of "
            "attachment 99, which does not exist, ns-a/p7 net1 (tenant tenant-a), tenant tenant-a");
}

TEST(WordsFor, NameAFewOwnersAndSayHowManyMoreThereAre) {
  MendedRules mended;
  for (uint64_t id = 7; id < 13; ++id) mended.Missing(Cookie(CookieKind::kAttachment, id));
  mended.Missing(Cookie(CookieKind::kRemote, 5));
  mended.Missing(Cookie(CookieKind::kRemote, 6));
  mended.Missing(Cookie(CookieKind::kLeaf, 0));
  mended.Missing(Cookie(CookieKind::kPipeline, 0));
  const std::string words = WordsFor(mended, "br-rail0", TwoPods());
  EXPECT_THAT(words, ::testing::HasSubstr("10 missing; of all pods of the rail, "));
  EXPECT_THAT(words, ::testing::EndsWith(" and 5 more")) << words;
}

TEST(WordsFor, QuoteRulesOfOthersThatWereRemoved) {
  MendedRules one;
  one.foreign = 1;
  one.foreign_examples = {{0, 60000, 0, "ip,nw_dst=10.0.3.7", "output:5"}};
  MendedRules all;
  EXPECT_TRUE(all.empty());
  for (int i = 0; i < 6; ++i) all.Join(one);
  EXPECT_FALSE(all.empty());
  const std::string words = WordsFor(all, "br-rail0", {});
  EXPECT_THAT(words, ::testing::StartsWith("6 flows of others removed from br-rail0, which can go around the "
                                           "isolation: table=0,priority=60000,cookie=0x0,ip,nw_dst=10.0.3.7 "
                                           "actions=output:5; table=0"));
  EXPECT_THAT(words, ::testing::EndsWith("; and 2 more"));
}

}  // namespace
}  // namespace rail::engine
