// What an answer to a pod's SYN says, and which owners of an address are new. Nothing is sent.
#include "cmd/railctl/accept/announced.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace rail::accept {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kB = "tenant-b from AS 4200000003";
const std::string kThief = "tenant-a from AS 4200000001";
const Views kBefore{{{"n1", "10.0.0.5"}, {{kB}, false}}, {{"n2", "10.0.0.5"}, {{kB}, false}}};

TEST(Announced, PassesWhereNobodyAnswersAndNoOwnerIsNew) {
  const Attempt attempt =
      JudgeAnnounced({{"169.254.1.1 (the gateway)"}, {"fe80::9 (the leaf)"}, {"fe80::9 (the leaf)"}},
                     Disputes(kBefore, kBefore), 2);
  EXPECT_EQ(attempt.verdict(), kPass);
  EXPECT_THAT(attempt.did(), HasSubstr("port 179 of 169.254.1.1 (the gateway), fe80::9 (the leaf)"));
  EXPECT_THAT(attempt.did(), Not(HasSubstr("(the leaf), fe80::9")));
}

TEST(Announced, FailsByEachAnswerAndSaysWhatItMeans) {
  const Attempt opened =
      JudgeAnnounced({{"169.254.1.1 (the gateway)"}, {"fe80::9 (the leaf)", 5, false}}, "", 2);
  EXPECT_EQ(opened.verdict(), kFail);
  EXPECT_THAT(opened.seen(),
              AllOf(HasSubstr("fe80::9 (the leaf) answers with 5 SYN-ACK"), Not(HasSubstr("169.254"))));
  const Attempt refused = JudgeAnnounced({{"fe80::9 (the leaf)", 1, true}}, "", 2);
  EXPECT_EQ(refused.verdict(), kFail);
  EXPECT_THAT(refused.seen(), HasSubstr("RST"));
}

TEST(Announced, FailsByAnOwnerThatNoViewHadBefore) {
  Views after = kBefore;
  after[{"n3", "10.0.0.5"}] = {{kB}, false};
  EXPECT_THAT(Disputes(kBefore, after), IsEmpty()) << "n3 has learned it late";
  after[{"n2", "10.0.0.5"}] = {{kB, kThief}, true};
  const std::string disputes = Disputes(kBefore, after);
  EXPECT_THAT(disputes, AllOf(HasSubstr("10.0.0.5 is now announced by " + kThief + ", says raild of n2"),
                              HasSubstr("10.0.0.5 is announced by two tenants, says raild of n2")));
  const Attempt attempt = JudgeAnnounced({{"169.254.1.1 (the gateway)"}}, disputes, 3);
  EXPECT_EQ(attempt.verdict(), kFail);
  EXPECT_EQ(attempt.seen(), disputes);
}

TEST(Announced, FailsByAnAddressThatTwoHadFromTheBeginningOn) {
  const Views both{{{"n1", "10.0.0.5"}, {{kB, kThief}, true}}};
  EXPECT_THAT(Disputes(both, both), HasSubstr("by two tenants"));
}

TEST(Announced, DoesNotTakeAnOwnerThatIsGoneForATheft) {
  EXPECT_THAT(Disputes(kBefore, {}), IsEmpty());
}

}  // namespace
}  // namespace rail::accept
