// How the doctor comes to what lib/qos finds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/inspect/doctor/testing/fixture.h"
#include "lib/inspect/qos.h"
#include "lib/netlink/testing/dcb.h"

namespace rail::inspect {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Uplinks : public testing::Test {
 protected:
  Uplinks() {
    facts.config.rails[0].lossless = config::Lossless{.trust = {}, .pfc = std::set<uint8_t>{3}};
    links.links["pf0"] = {.pfc = netlink::DcbPfc{.enabled = 8}, .ets = {}, .apps = {}, .peer_pfc = {}};
    openers.dcb = [this]() -> Result<std::unique_ptr<netlink::Dcb>> {
      return std::make_unique<netlink::testing::FakeDcb>(links);
    };
    openers.look_at_qos = [](const std::string& uplink, netlink::Dcb& dcb) {
      return qos::Look(uplink, dcb, sriov::Sysfs("/nowhere"));
    };
  }
  std::vector<std::string> Findings(const Status& in_time = {}) {
    if (in_time) {
      EXPECT_TRUE(LookAtLossless(facts, openers));
    } else {
      LosslessUnknown(facts, in_time.error());
    }
    std::vector<std::string> found;
    for (const Finding& finding : Diagnose(facts))
      found.push_back(finding.id + " " + finding.subject + ": " + finding.what);
    return found;
  }

  NodeFacts facts = Well();
  netlink::testing::DcbLinks links;
  engine::Openers openers;
};

TEST_F(Uplinks, ThatAreAsWantedAreNoFinding) {
  EXPECT_THAT(Findings(), IsEmpty());
}

TEST_F(Uplinks, ThatDifferAreFindingsOfTheirRail) {
  links.links["pf0"].pfc->enabled = 0;
  EXPECT_THAT(Findings(), ElementsAre(HasSubstr("lossless-pfc rail0: pf0 pauses (PFC) for priority none")));
}

TEST_F(Uplinks, OfWhichNobodyAsksAreNotLookedAt) {
  facts.config.rails[0].lossless.reset();
  links.links.clear();
  EXPECT_THAT(Findings(), IsEmpty());
}

TEST_F(Uplinks, ThatCannotBeReadAreNotWell) {
  links.plain = {"pf0"};
  EXPECT_THAT(Findings(), ElementsAre(HasSubstr("lossless-unknown rail0: cannot be read: PFC")));
}

TEST_F(Uplinks, ThatDoNotAnswerInTimeAreNotWell) {
  EXPECT_THAT(
      Findings(Fail(Code::kTransient, "no answer within 5 s")),
      ElementsAre(HasSubstr("lossless-unknown rail0: cannot be read: PFC and the trust of DSCP: no answer")));
}

}  // namespace
}  // namespace rail::inspect
