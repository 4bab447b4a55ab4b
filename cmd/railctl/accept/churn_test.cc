// JudgeVerb, LeftOver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmd/railctl/accept/churn_judge.h"

namespace rail::accept {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Runs within 10 ms, 100 ms, 5 s; the others took longer.
void AddRuns(NodeThen& then, const std::string& verb, const std::vector<uint64_t>& within, uint64_t runs,
             uint64_t failed = 0, const std::string& plugin = "ovs-provider") {
  v1::PluginRuns& message = *then.node.add_runs();
  message.set_plugin(plugin);
  message.set_verb(verb);
  message.set_runs(runs);
  message.set_failed(failed);
  const std::vector<double> bounds = {0.01, 0.1, 5};
  for (size_t i = 0; i < bounds.size(); ++i) {
    auto& bucket = *message.add_buckets();
    bucket.set_at_most(bounds[i]);
    bucket.set_runs(within[i]);
  }
}

v1::Attachment Attached(int64_t id, const std::string& pod,
                        v1::Attachment::Phase phase = v1::Attachment::READY) {
  v1::Attachment attachment;
  attachment.set_id(id);
  attachment.mutable_pod()->set_namespace_("a");
  attachment.mutable_pod()->set_name(pod);
  attachment.set_ifname("net1");
  attachment.set_phase(phase);
  return attachment;
}

TEST(JudgeVerb, CountsWhatHasRunInBetween) {
  NodeThen before;
  NodeThen after;
  AddRuns(before, "ADD", {100, 200, 200}, 200, 7);
  AddRuns(after, "ADD", {106, 210, 210}, 210, 7);
  AddRuns(after, "ADD", {0, 10, 10}, 10, 0, "frr-provider");
  AddRuns(after, "DEL", {0, 0, 0}, 10, 10);
  const Attempt attempt = JudgeVerb("ADD", before, after);
  EXPECT_EQ(attempt.verdict(), kPass) << attempt.seen();
  EXPECT_EQ(attempt.seen(),
            "frr-provider: 10 runs, 0 failed, p50 at most 100 ms, p99 at most 100 ms; "
            "ovs-provider: 10 runs, 0 failed, p50 at most 10 ms, p99 at most 100 ms");
  EXPECT_DOUBLE_EQ(attempt.value(), 100);
  EXPECT_EQ(attempt.unit(), "ms");
  EXPECT_EQ(RunsOf("ADD", before, after), 20U);
}

TEST(JudgeVerb, FailsWhereOneHasFailed) {
  NodeThen before;
  NodeThen after;
  AddRuns(before, "ADD", {1, 1, 1}, 1, 1);
  AddRuns(after, "ADD", {3, 3, 3}, 3, 2);
  const Attempt attempt = JudgeVerb("ADD", before, after);
  EXPECT_EQ(attempt.verdict(), kFail);
  EXPECT_THAT(attempt.seen(), HasSubstr("2 runs, 1 failed"));
}

TEST(JudgeVerb, FailsWhereOneOfAHundredIsSlow) {
  NodeThen after;
  AddRuns(after, "DEL", {50, 90, 98}, 100);
  const Attempt slow = JudgeVerb("DEL", {}, after);
  EXPECT_EQ(slow.verdict(), kFail);
  EXPECT_THAT(slow.seen(), HasSubstr("p50 at most 10 ms, p99 more than 5000 ms"));
  NodeThen quick;
  AddRuns(quick, "DEL", {50, 90, 99}, 100);
  EXPECT_EQ(JudgeVerb("DEL", {}, quick).verdict(), kPass);
}

TEST(JudgeVerb, CouldNotMeasureWhatHasNotRun) {
  NodeThen then;
  AddRuns(then, "ADD", {1, 1, 1}, 1);
  EXPECT_THAT(JudgeVerb("ADD", then, then).seen(), HasSubstr("no ADD has ended"));
  EXPECT_EQ(JudgeVerb("ADD", then, then).verdict(), kCouldNotMeasure);
}

TEST(JudgeVerb, CouldNotMeasureWithAnotherRaild) {
  NodeThen before;
  NodeThen after;
  AddRuns(before, "ADD", {9, 9, 9}, 9);
  AddRuns(after, "ADD", {1, 1, 1}, 1);
  after.node.mutable_node()->mutable_started()->set_seconds(5);
  EXPECT_EQ(JudgeVerb("ADD", before, after).verdict(), kCouldNotMeasure);
  EXPECT_EQ(RunsOf("ADD", before, after), 0U);
}

TEST(LeftOver, IsNothingWhereAllIsAsBefore) {
  NodeThen then;
  then.attachments = {Attached(1, "p1")};
  then.remotes = {"10.0.0.2 on rail0"};
  then.problems = {"p1: it was so before"};
  then.findings = {"foreign-port (br-rail0): eth7"};
  EXPECT_THAT(LeftOver(then, then), IsEmpty());
  NodeThen less = then;
  less.remotes.clear();
  less.findings.clear();
  less.attachments.clear();
  EXPECT_THAT(LeftOver(then, less), IsEmpty()) << "a pod of before that has gone leaves nothing";
}

TEST(LeftOver, NamesEachThing) {
  NodeThen before;
  before.attachments = {Attached(1, "p1"), Attached(2, "p2")};
  NodeThen after = before;
  after.attachments[1].set_phase(v1::Attachment::DELETING);
  after.attachments.push_back(Attached(3, "p1"));
  after.remotes = {"10.0.0.2 on rail0"};
  after.problems = {"p2: its DEL has begun"};
  after.findings = {"foreign-port (br-rail0): eth7"};
  EXPECT_THAT(NotGone(before, after), ElementsAre("a/p2 (net1) is half detached", "a/p1 (net1) is attached",
                                                  "it still sends to 10.0.0.2 on rail0"));
  EXPECT_EQ(LeftOver(before, after).size(), 5U);
}

}  // namespace
}  // namespace rail::accept
