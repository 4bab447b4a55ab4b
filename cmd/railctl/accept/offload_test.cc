// What a node's masks come to. Nothing is sent.
#include "cmd/railctl/accept/offload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rail::accept {
namespace {

using ::testing::HasSubstr;

v1::ListFlowsResponse Answer(uint32_t masks, uint32_t most) {
  v1::ListFlowsResponse answer;
  answer.set_masks_in_hardware(masks);
  answer.set_most_masks(most);
  return answer;
}

TEST(JudgeMasks, AsManyAsAreCommonPassAndOneMoreFails) {
  const Attempt most = JudgeMasks(Answer(32, 32), "n1", 3);
  EXPECT_EQ(most.verdict(), kPass);
  EXPECT_EQ(most.value(), 32);
  EXPECT_THAT(most.did(), HasSubstr("3 pairs of the node's pods under load"));
  const Attempt more = JudgeMasks(Answer(33, 32), "n1", 3);
  EXPECT_EQ(more.verdict(), kFail);
  EXPECT_THAT(more.seen(), HasSubstr("33 masks in the eSwitch, at most 32"));
}

TEST(JudgeMasks, NoFlowInHardwareSaysNothing) {
  const Attempt none = JudgeMasks(Answer(0, 32), "n1", 1);
  EXPECT_EQ(none.verdict(), kCouldNotMeasure);
  EXPECT_THAT(none.seen(), HasSubstr("no flow of n1 is in hardware"));
}

TEST(JudgeMasks, ARaildThatCountsNoneIsNotTakenForANicWithout) {
  const Attempt old = JudgeMasks(Answer(0, 0), "n1", 1);
  EXPECT_EQ(old.verdict(), kCouldNotMeasure);
  EXPECT_THAT(old.seen(), HasSubstr("too old"));
}

}  // namespace
}  // namespace rail::accept
