#include "lib/fabric/job.h"

#include <gmock/gmock.h>

#include <functional>

#include "lib/fabric/testing/small_fleet.h"

namespace rail::fabric {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kNoon;
using ::testing::SizeIs;
using testing::SmallFleet;

// Two units of two nodes with two rails; pod train-N is on node N + 1.
class Job : public ::testing::Test {
 protected:
  Job() {
    request_.set_namespace_("team-0");
    request_.set_name("train");
  }

  // Each node has learned all that it should.
  void LearnAll() {
    for (const std::string& reader : small_.Names()) {
      std::vector<v1::Remote>& remotes = learned_[reader];
      for (const std::string& node : small_.Names()) {
        if (node == reader) continue;
        for (const v1::Attachment& a : small_.Of(node).attachments()) {
          v1::Remote& remote = remotes.emplace_back();
          remote.set_address(a.addresses(0));
          *remote.mutable_tenant() = a.tenant();
          remote.set_installed(true);
        }
      }
    }
  }
  v1::Remote& RemoteOf(const std::string& reader, const std::string& address) {
    for (v1::Remote& remote : learned_[reader]) {
      if (remote.address() == address) return remote;
    }
    ADD_FAILURE() << reader << " has no " << address;
    return learned_[reader].front();
  }
  v1::GetJobResponse Get() {
    small_.Tell(kNoon);
    for (const std::string& node : away_) small_.fleet().SetAway(node, kNoon, "timed out");
    const Grid grid(small_.fleet());
    auto job = GetJob(small_.fleet(), grid, learned_, request_);
    EXPECT_TRUE(job) << job.error().message;
    return job ? *job : v1::GetJobResponse();
  }
  static std::vector<std::string> Pairs(const v1::GetJobResponse& job) {
    std::vector<std::string> pairs;
    for (const v1::JobPair& pair : job.pairs())
      pairs.push_back(pair.rail() + " " + pair.pod() + " " + pair.other_pod());
    return pairs;
  }

  SmallFleet small_{{.units = 2, .nodes = 2, .rails = 2}};
  std::vector<std::string> away_;
  Learned learned_;
  v1::GetJobRequest request_;
};

TEST_F(Job, HasEachInterfaceWithItsPlace) {
  LearnAll();
  const v1::GetJobResponse job = Get();
  ASSERT_EQ(job.pods_size(), 8);
  const v1::JobPod& pod = job.pods(5);
  EXPECT_EQ(pod.pod(), "train-2");
  EXPECT_EQ(pod.index(), 2U);
  EXPECT_EQ(pod.node(), "n3");
  EXPECT_EQ(pod.rail(), "rail1");
  EXPECT_THAT(pod.addresses(), ElementsAre("10.1.0.2"));
  EXPECT_EQ(pod.device(), "0000:01:00.1");
  EXPECT_EQ(pod.leaf(), "leaf3");
  EXPECT_EQ(pod.unit(), "su-2");
  EXPECT_EQ(pod.tenant(), "team-0");
  EXPECT_EQ(pod.problem(), "");
  EXPECT_EQ(job.pairs_total(), 0U);
  EXPECT_THAT(job.uplinks(), IsEmpty());
  EXPECT_EQ(job.totals().pods(), 4U);
  EXPECT_EQ(job.totals().nodes(), 4U);
  EXPECT_EQ(job.totals().leaves(), 4U);
  EXPECT_EQ(job.totals().units(), 2U);
  EXPECT_EQ(job.totals().pairs(), 12U);
  EXPECT_EQ(job.totals().pairs_across_leaves(), 8U);
  EXPECT_EQ(job.totals().pairs_across_units(), 8U);
  EXPECT_EQ(job.totals().pairs_unknown(), 0U);
}

TEST_F(Job, IsThePodsOfItsName) {
  const std::vector<std::string> names = {"train-worker-0", "trainer-1", "train", "other"};
  for (size_t i = 0; i < names.size(); ++i) {
    for (int rail = 0; rail < 2; ++rail)
      small_.AttachmentOf("n" + std::to_string(i + 1), 0, rail).mutable_pod()->set_name(names[i]);
  }
  const v1::GetJobResponse job = Get();
  ASSERT_EQ(job.pods_size(), 4);
  EXPECT_EQ(job.pods(0).pod(), "train");
  EXPECT_FALSE(job.pods(0).has_index());
  EXPECT_EQ(job.pods(2).pod(), "train-worker-0");
  request_.set_namespace_("team-1");
  const Grid grid(small_.fleet());
  const auto none = GetJob(small_.fleet(), grid, learned_, request_);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kNotFound);
  request_.clear_namespace_();
  EXPECT_EQ(GetJob(small_.fleet(), grid, learned_, request_).error().code, Code::kInvalid);
}

TEST_F(Job, AsksItsNodesForItsTenants) {
  small_.Tell(kNoon);
  small_.fleet().SetAway("n2", kNoon, "timed out");
  const auto nodes = NodesOfJob(small_.fleet(), request_);
  ASSERT_THAT(nodes, SizeIs(3));
  EXPECT_EQ(nodes[1].node, "n3");
  EXPECT_THAT(nodes[1].tenants, ElementsAre("0000000000000000000000000001"));
}

TEST_F(Job, WhatANodeHasNotLearnedIsAPairThatDoesNotReachEachOther) {
  LearnAll();
  std::erase_if(learned_["n1"], [](const v1::Remote& remote) { return remote.address() == "10.1.0.3"; });
  const v1::GetJobResponse job = Get();
  ASSERT_THAT(Pairs(job), ElementsAre("rail1 train-0 train-3"));
  EXPECT_EQ(job.pairs(0).why(), "n1 has not learned 10.1.0.3, which n4 announces");
  EXPECT_EQ(job.pairs(0).node(), "n1");
  EXPECT_EQ(job.pairs(0).other_node(), "n4");
  EXPECT_EQ(job.pairs_total(), 1U);
}

TEST_F(Job, TheWayBackCountsToo) {
  LearnAll();
  std::erase_if(learned_["n4"], [](const v1::Remote& remote) { return remote.address() == "10.1.0.0"; });
  const v1::GetJobResponse job = Get();
  ASSERT_THAT(Pairs(job), ElementsAre("rail1 train-0 train-3"));
  EXPECT_THAT(job.pairs(0).why(), HasSubstr("n4 has not learned 10.1.0.0"));
}

TEST_F(Job, WhatIsContestedOrNotInstalledIsNotReached) {
  LearnAll();
  RemoteOf("n1", "10.0.0.1").set_contested(true);
  RemoteOf("n3", "10.0.0.3").set_installed(false);
  const v1::GetJobResponse job = Get();
  ASSERT_THAT(Pairs(job), ElementsAre("rail0 train-0 train-1", "rail0 train-2 train-3"));
  EXPECT_THAT(job.pairs(0).why(), HasSubstr("another tenant announces it"));
  EXPECT_THAT(job.pairs(1).why(), HasSubstr("no rules for it"));
}

TEST_F(Job, AnAddressOfAnotherTenantIsNotLearned) {
  LearnAll();
  RemoteOf("n1", "10.0.0.1").mutable_tenant()->set_id("00000000000000000000000000ff");
  EXPECT_THAT(Pairs(Get()), ElementsAre("rail0 train-0 train-1"));
}

TEST_F(Job, ARailThatIsCutCutsItsPairs) {
  LearnAll();
  small_.Cut("n2", 1);
  const v1::GetJobResponse job = Get();
  EXPECT_THAT(Pairs(job),
              ElementsAre("rail1 train-0 train-1", "rail1 train-1 train-2", "rail1 train-1 train-3"));
  EXPECT_EQ(job.pairs(0).why(), "train-1: n2: rail1: bgpd says: waiting for peer OPEN");
  EXPECT_THAT(job.pods(3).problem(), HasSubstr("n2: rail1"));
}

TEST_F(Job, EachThingOfAnInterfaceThatKeepsItFromItsPeers) {
  const auto problem = [this](const std::function<void(v1::Attachment&)>& spoil) {
    SmallFleet fresh({.units = 2, .nodes = 2, .rails = 2});
    spoil(fresh.AttachmentOf("n1", 0, 0));
    fresh.Tell(kNoon);
    const auto job = GetJob(fresh.fleet(), Grid(fresh.fleet()), {}, request_);
    return job ? job->pods(0).problem() : "";
  };
  EXPECT_EQ(problem([](auto&) {}), "");
  EXPECT_EQ(problem([](auto& a) { a.set_device_lost(true); }), "it has lost its device");
  EXPECT_EQ(problem([](auto& a) { a.set_phase(v1::Attachment::ADDING); }), "its ADD has not ended");
  EXPECT_EQ(problem([](auto& a) { a.set_rules(v1::Attachment::RULES_MISSING); }),
            "its OpenFlow rules are not on the bridge of n1");
  EXPECT_EQ(problem([](auto& a) { a.add_announced_elsewhere("AS 1 has it, too"); }), "AS 1 has it, too");
  EXPECT_EQ(problem([](auto& a) { a.set_withdrawn("no carrier"); }), "it is not announced: no carrier");
  EXPECT_EQ(problem([](auto& a) { a.clear_tenant(); }), "it has no tenant");
  EXPECT_EQ(problem([](auto& a) { a.set_announced(false); }), "its addresses are not announced");
}

TEST_F(Job, PodsOfTwoTenantsDoNotReachEachOther) {
  LearnAll();
  for (int rail = 0; rail < 2; ++rail) {
    small_.AttachmentOf("n4", 0, rail).mutable_tenant()->set_name("other");
    small_.AttachmentOf("n4", 0, rail).mutable_tenant()->set_id("00000000000000000000000000ff");
  }
  const v1::GetJobResponse job = Get();
  EXPECT_EQ(job.pairs_total(), 6U);
  EXPECT_EQ(job.pairs(0).why(), "they are of two tenants, team-0 and other");
}

TEST_F(Job, OfNodesThatAreAwayNothingIsClaimed) {
  LearnAll();
  away_ = {"n2"};
  small_.Cut("n2", 1);
  const v1::GetJobResponse job = Get();
  EXPECT_EQ(job.pairs_total(), 0U);
  EXPECT_EQ(job.totals().pairs_unknown(), 6U);
  EXPECT_THAT(job.pods(2).problem(), HasSubstr("n2 does not answer: timed out"));
  EXPECT_TRUE(job.pods(2).has_away_since());
}

TEST_F(Job, OfNodesThatWereNotAskedNothingIsClaimed) {
  LearnAll();
  learned_.erase("n2");
  EXPECT_EQ(Get().totals().pairs_unknown(), 6U);
}

TEST_F(Job, PodsThatShareAnUplinkAreTold) {
  SmallFleet two({.units = 1, .nodes = 2, .rails = 2, .pods = 2});
  two.Tell(kNoon);
  const auto job = GetJob(two.fleet(), Grid(two.fleet()), {}, request_);
  ASSERT_TRUE(job);
  ASSERT_EQ(job->uplinks_size(), 4);
  EXPECT_EQ(job->uplinks(1).node(), "n1");
  EXPECT_EQ(job->uplinks(1).rail(), "rail1");
  EXPECT_THAT(job->uplinks(1).pods(), ElementsAre("train-0", "train-1"));
  EXPECT_EQ(job->totals().pairs_unknown(), 8U);  // those on one node reach each other
}

TEST_F(Job, ShowsTheFirstThousandPairs) {
  SmallFleet many({.units = 1, .nodes = 50, .rails = 1});
  for (const std::string& node : many.Names()) many.AttachmentOf(node, 0, 0).set_announced(false);
  many.Tell(kNoon);
  const auto job = GetJob(many.fleet(), Grid(many.fleet()), {}, request_);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->pairs_size(), 1000);
  EXPECT_EQ(job->pairs_total(), 1225U);
}

}  // namespace
}  // namespace rail::fabric
