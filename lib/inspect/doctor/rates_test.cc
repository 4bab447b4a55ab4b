// How the doctor comes to what it says of rates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/engine/attach/tenant_rates.h"
#include "lib/inspect/doctor/testing/fixture.h"
#include "lib/inspect/qos.h"
#include "lib/netlink/testing/rates.h"

namespace rail::inspect {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The one pod, whose port is under its tenant's rate node, as node.json wants it.
class RatesOfPods : public testing::Test {
 protected:
  RatesOfPods() {
    facts.config.rates.emplace().usual.max_mbit = 100;
    facts.view.rails[0].rates.emplace();
    const netlink::DevlinkHandle nic{"pci", "0000:3b:00.0"};
    const std::string node = engine::RateNodeOf(facts.view.attachments[0].attachment.tenant_id);
    nics.ports["rep0"] = {nic, 1};
    nics.trees[nic.ToString()] = {.nodes = {{node, engine::RateOf({.share = 1, .max_mbit = 100}), ""}},
                                  .leaves = {{1, {}, node}}};
    openers.rates = [this]() -> Result<std::unique_ptr<netlink::Rates>> {
      return std::make_unique<netlink::testing::FakeRates>(nics);
    };
  }
  std::vector<std::string> Findings(const Status& in_time = {}) {
    if (in_time) {
      EXPECT_TRUE(LookAtRates(facts, openers));
    }
    std::vector<std::string> found;
    for (const Finding& finding : Diagnose(facts)) {
      found.push_back(finding.id + " " + finding.subject + ": " + finding.what);
      for (const Finding& each : finding.follows) found.push_back("  " + each.id);
    }
    return found;
  }

  NodeFacts facts = Well();
  netlink::testing::RatesOfNics nics;
  engine::Openers openers;
};

TEST_F(RatesOfPods, ThatAreAsWantedAreNoFinding) {
  EXPECT_THAT(Findings(), IsEmpty());
}

TEST_F(RatesOfPods, ThatDifferAreAFindingOfThePod) {
  nics.trees.begin()->second.leaves[0].parent = "";
  EXPECT_THAT(Findings(), ElementsAre(HasSubstr("rates-differ ns/a net1 on rail0: its port")));
}

TEST_F(RatesOfPods, ThatTheNicRefusesExplainWhatDiffers) {
  nics.trees.begin()->second.nodes[0].rate = {};
  facts.view.rails[0].rates->problems = {{"rates-refused", "its NIC refuses", "w", "f"}};
  EXPECT_THAT(Findings(), ElementsAre("rates-refused rail0: its NIC refuses", "  rates-differ"));
}

TEST_F(RatesOfPods, WithoutAPortAreRaildsToTell) {
  nics.ports.clear();
  EXPECT_THAT(Findings(), IsEmpty());
}

TEST_F(RatesOfPods, ThatNobodyWantsAreNotLookedAt) {
  facts.config.rates.reset();
  nics.trees.clear();
  EXPECT_THAT(Findings(), IsEmpty());
}

TEST_F(RatesOfPods, ThatCannotBeReadDifferFromNothing) {
  EXPECT_THAT(Findings(Fail(Code::kTransient, "no answer within 5 s")), IsEmpty());
}

TEST_F(RatesOfPods, AreNotToBePolicedBesides) {
  facts.rails["rail0"].bridge->ports[2].policed_kbit = 1000;
  EXPECT_THAT(Findings(),
              ElementsAre(HasSubstr("ingress-policing ns/a net1 on rail0: Open vSwitch polices "
                                    "what the pod sends: ingress_policing_rate=1000 on its port rep0")));
  facts.config.rates.reset();
  facts.rails["rail0"].bridge->ports[2].policed_kbit = 0;
  facts.rails["rail0"].bridge->ports[2].policed_kpkts = 7;
  EXPECT_THAT(Findings(), ElementsAre(HasSubstr("ingress_policing_kpkts_rate=7")));
}

}  // namespace

std::vector<std::string> FindingsOfRates() {
  return {"rates-refused", "rates-differ", "ingress-policing"};
}

}  // namespace rail::inspect
