// FailureJudge: n1's session on rail0 is lost; n2 and n3 know its address.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cmd/railctl/accept/failure_judge.h"
#include "cmd/railctl/accept/parts.h"

namespace rail::accept {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Seen {
  bool connected = true;
  bool carrier = true;
  uint32_t healthy = 2;
};

v1::ListRailsResponse Rails(const Seen& seen, bool offers = true) {
  v1::ListRailsResponse rails;
  v1::Rail& rail = *rails.add_rails();
  rail.set_name("rail0");
  rail.set_connected(seen.connected);
  rail.set_carrier(seen.carrier);
  rail.mutable_leaf()->set_name("leaf0");
  if (!seen.connected) rail.set_bgp_problem("the link is down");
  if (offers) {
    rail.set_offers_devices(true);
    rail.set_devices(2);
    rail.set_devices_healthy(seen.healthy);
    if (seen.healthy < 2) rail.set_device_problem("0000:3b:00.2: no carrier");
  }
  return rails;
}

v1::DoctorResponse Doctor(const std::string& id, v1::Finding::Severity severity = v1::Finding::CRITICAL) {
  v1::DoctorResponse found;
  v1::Finding& finding = *found.add_findings();
  finding.set_id(id);
  finding.set_rail("rail0");
  finding.set_severity(severity);
  finding.set_what("the uplink has no carrier");
  found.set_checks(90);
  return found;
}

const std::set<std::string> kThere = {"10.0.0.1", "10.0.0.9"};
const std::set<std::string> kGone = {"10.0.0.9"};

class Failure : public ::testing::Test {
 protected:
  explicit Failure(bool offers = true, const Status& control = {})
      : offers_(offers), judge_(Subjects(control)) {
    Rail(0, {});
    for (const char* node : {"n2", "n3"}) {
      EXPECT_THAT(judge_.RemotesOf(node), ElementsAre("rail0")) << "what it knows before";
      judge_.SawRemotes(0, node, "rail0", kThere);
      EXPECT_THAT(judge_.RemotesOf(node), IsEmpty());
    }
    EXPECT_FALSE(judge_.AskDoctor("n1"));
    EXPECT_FALSE(judge_.IsDone());
  }

  static std::vector<FailureJudge::Subject> Subjects(const Status& control) {
    return {{.node = "n1",
             .rail = "rail0",
             .pair = "a/p1 and a/p2",
             .addresses = {"10.0.0.1"},
             .control = control,
             .findings = {"old"}},
            {.node = "n2",
             .rail = "rail0",
             .pair = {},
             .addresses = {"10.0.0.2"},
             .control = {},
             .findings = {}}};
  }
  void Rail(double at, const Seen& seen) { judge_.SawRails(at, "n1", Rails(seen, offers_)); }
  void Down(double at) {
    Rail(at, {.connected = false, .carrier = false});
    EXPECT_TRUE(judge_.AskDoctor("n1"));
    EXPECT_FALSE(judge_.AskDoctor("n1")) << "it is asked";
  }
  void Told(double at) { judge_.SawFindings(at, "n1", Doctor("uplink-without-carrier")); }
  void GoneFrom(const std::string& node, double at) { judge_.SawRemotes(at, node, "rail0", kGone); }
  void Unhealthy(double at) { Rail(at, {.connected = false, .carrier = false, .healthy = 0}); }
  // The carrier, the session, both others, the echo.
  void Back(double at) {
    Rail(at, {.connected = false, .healthy = 0});
    Rail(at + 2, {.healthy = 0});
    EXPECT_EQ(judge_.EchoOf("n1"), std::nullopt) << "nobody has its addresses";
    judge_.SawRemotes(at + 3, "n2", "rail0", kThere);
    judge_.SawRemotes(at + 3, "n3", "rail0", kThere);
    EXPECT_EQ(judge_.EchoOf("n1"), "rail0");
    EXPECT_EQ(judge_.EchoOf("n2"), std::nullopt);
    judge_.SawEcho(at + 4, "n1", "rail0", {});
  }
  // All goes well: down at 1, up at 40.
  void All() {
    Down(1);
    Told(2);
    GoneFrom("n2", 2);
    GoneFrom("n3", 3.5);
    Unhealthy(17);
    Back(40);
    Rail(60, {});
  }
  Attempt Of(const std::string& check, double seconds = 100) const {
    for (const Book::Found& found : judge_.Verdicts(seconds))
      if (found.check == "failure." + check) return found.attempt;
    ADD_FAILURE() << "no attempt of " << check;
    return {};
  }
  void Expect(const std::string& check, Verdict verdict, const std::string& says,
              double seconds = 100) const {
    const Attempt attempt = Of(check, seconds);
    EXPECT_EQ(attempt.verdict(), verdict) << attempt.seen();
    EXPECT_THAT(attempt.seen(), HasSubstr(says));
    EXPECT_EQ(attempt.from() + " " + attempt.rail(), "n1 rail0");
  }

  const bool offers_;
  FailureJudge judge_;
};

class FailureWithoutDevices : public Failure {
 protected:
  FailureWithoutDevices() : Failure(false) {}
};
class FailureWithoutControl : public Failure {
 protected:
  FailureWithoutControl() : Failure(true, Fail(Code::kTransient, "0 of 20 datagrams came back")) {}
};

TEST_F(Failure, IsMeasuredWithItsSeconds) {
  All();
  EXPECT_TRUE(judge_.IsDone());
  EXPECT_DOUBLE_EQ(Of("withdrawn").value(), 2.5);
  EXPECT_DOUBLE_EQ(Of("devices").value(), 16);
  EXPECT_DOUBLE_EQ(Of("told").value(), 1);
  EXPECT_DOUBLE_EQ(Of("back").value(), 4) << "from the carrier on";
  for (const Book::Found& found : judge_.Verdicts(100)) {
    EXPECT_EQ(found.attempt.verdict(), kPass) << found.attempt.seen();
    EXPECT_EQ(found.attempt.unit(), "s");
    EXPECT_THAT(found.attempt.control(), HasSubstr("a/p1 and a/p2"));
    EXPECT_THAT(found.attempt.did(), HasSubstr("n1 on rail0 (leaf leaf0)"));
  }
  EXPECT_EQ(judge_.Verdicts(100).size(), 4U) << "nothing is said of n2, which has not failed";
}

TEST_F(Failure, ThatNobodyMakesProvesNothing) {
  const auto found = judge_.Verdicts(60);
  ASSERT_EQ(found.size(), 4U);
  for (const Book::Found& each : found) {
    EXPECT_EQ(each.attempt.verdict(), kCouldNotMeasure);
    EXPECT_THAT(each.attempt.seen(), HasSubstr("take a leaf's port to one of n1, n2 down"));
  }
}

TEST_F(Failure, OfWhatWasBrokenBeforeIsNotSeen) {
  FailureJudge judge(Subjects({}));
  judge.SawRails(0, "n1", Rails({.connected = false}));
  judge.SawRails(1, "n1", Rails({}));
  EXPECT_EQ(judge.Verdicts(60)[0].attempt.verdict(), kCouldNotMeasure);
}

TEST_F(FailureWithoutControl, CouldNotMeasure) {
  All();
  for (const char* check : {"withdrawn", "devices", "told", "back"})
    Expect(check, kCouldNotMeasure, "0 of 20 datagrams");
}

TEST_F(Failure, WithAddressesThatOneNodeKeepsIsNotWithdrawn) {
  Down(1);
  GoneFrom("n2", 2);
  EXPECT_THAT(judge_.RemotesOf("n3"), ElementsAre("rail0"));
  EXPECT_THAT(judge_.RemotesOf("n2"), IsEmpty());
  Back(40);
  Expect("withdrawn", kFail, "n3 had addresses");
}

TEST_F(Failure, WithdrawnLateFails) {
  Down(1);
  GoneFrom("n2", 2);
  GoneFrom("n3", 12);
  Expect("withdrawn", kFail, "after 11.0 s");
}

TEST_F(Failure, ThatIsShortSaysNothingOfWhatTakesLonger) {
  Down(1);
  judge_.SawFindings(2, "n1", Doctor("device-unhealthy", v1::Finding::WARNING));
  Rail(3, {});
  judge_.SawRemotes(4, "n2", "rail0", kThere);
  judge_.SawRemotes(4, "n3", "rail0", kThere);
  judge_.SawEcho(5, "n1", "rail0", {});
  EXPECT_TRUE(judge_.IsDone());
  Expect("withdrawn", kCouldNotMeasure, "down for 2.0 s alone: 10 s say more");
  Expect("devices", kCouldNotMeasure, "30 s say more");
  Expect("told", kCouldNotMeasure, "10 s say more");
  Expect("back", kPass, "2.0 s after its carrier");
}

TEST_F(Failure, ThatTheDoctorDoesNotNameIsNotTold) {
  Down(1);
  judge_.SawFindings(2, "n1", Doctor("old"));
  EXPECT_TRUE(judge_.AskDoctor("n1")) << "again";
  const uint64_t before = judge_.changes();
  Rail(3, {.connected = false, .carrier = false});
  judge_.SawFindings(4, "n1", Doctor("device-unhealthy", v1::Finding::WARNING));
  EXPECT_GT(judge_.changes(), before) << "something has happened while it was asked";
  Expect("told", kFail, "names no fault of the rail: nothing new in 90 looks");
}

TEST_F(Failure, IsNotDoneWhileTheDoctorIsAsked) {
  Down(1);
  GoneFrom("n2", 2);
  GoneFrom("n3", 2);
  Back(40);
  Rail(60, {});
  EXPECT_FALSE(judge_.IsDone());
  Told(61);
  EXPECT_TRUE(judge_.IsDone());
}

TEST_F(Failure, WithDevicesThatStayHealthyFails) {
  Down(1);
  Rail(40, {.connected = false, .carrier = false});
  Expect("devices", kFail, "2 devices were healthy all the time");
}

TEST_F(Failure, WithDevicesThatStayUnhealthyFails) {
  Down(1);
  Told(2);
  Unhealthy(17);
  Back(40);
  EXPECT_FALSE(judge_.IsDone());
  Expect("devices", kFail, "unhealthy after 16.0 s (0000:3b:00.2: no carrier), and not healthy again");
}

TEST_F(Failure, ThatLastsSaysNothingOfHealthyDevices) {
  Down(1);
  Unhealthy(17);
  Expect("devices", kCouldNotMeasure, "did not come back");
}

TEST_F(FailureWithoutDevices, SaysNothingOfThem) {
  Down(1);
  Rail(40, {.connected = false, .carrier = false});
  Expect("devices", kCouldNotMeasure, "offers no device");
}

TEST_F(Failure, ThatLastsIsNamedWithItsLeaf) {
  Down(1);
  Expect("back", kFail, "n1 on rail0 (leaf leaf0) did not get its session back: the link is down");
}

TEST_F(Failure, WithoutAnAddressSomewhereIsNotBack) {
  Down(1);
  GoneFrom("n2", 2);
  GoneFrom("n3", 2);
  Rail(40, {});
  judge_.SawRemotes(41, "n2", "rail0", kThere);
  EXPECT_THAT(judge_.RemotesOf("n3"), ElementsAre("rail0"));
  EXPECT_EQ(judge_.EchoOf("n1"), std::nullopt);
  Expect("back", kFail, "do not have its addresses back: n3");
}

TEST_F(Failure, WithoutAnEchoIsNotBack) {
  Down(1);
  Back(40);
  Rail(50, {.connected = false});
  Rail(51, {});
  judge_.SawRemotes(52, "n2", "rail0", kThere);
  judge_.SawRemotes(52, "n3", "rail0", kThere);
  judge_.SawEcho(53, "n1", "rail0", Fail(Code::kTransient, "3 of 20 came back"));
  EXPECT_EQ(judge_.EchoOf("n1"), "rail0") << "again";
  Expect("back", kFail, "no echo passes between a/p1 and a/p2: 3 of 20 came back");
}

}  // namespace
}  // namespace rail::accept
