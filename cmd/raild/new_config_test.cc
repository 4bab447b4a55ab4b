#include "cmd/raild/new_config.h"

#include <gmock/gmock.h>

namespace rail::raild {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class JudgeConfigTest : public testing::Test {
 protected:
  JudgeConfigTest() {
    runs.rails = {{.name = "rail0", .index = 0, .pf = "pf0", .bridge = "br0", .mtu = 4200}};
    runs.api = {"127.0.0.1:1", "/crt", "/key", "/ca"};
    now = runs;
    checks.tls = [this](const config::Api&) { return tls; };
    checks.keeps = [this](const config::NodeConfig&) { return keeps; };
    checks.lacks = [this](const config::NodeConfig& config) -> Result<std::vector<std::string>> {
      std::vector<std::string> problems;
      for (const config::Rail& rail : config.rails) {
        if (rail.name != missing) continue;
        problems.push_back("pf of " + rail.name + ": there is no link " + rail.pf);
      }
      return problems;
    };
  }
  // "": it is taken, or is the same.
  std::string Problem(const Result<config::NodeConfig>& file) {
    const NewConfig judged = JudgeConfig(runs, file, checks);
    EXPECT_FALSE(judged.take && !judged.problem);
    took = judged.take.has_value();
    return judged.problem ? "" : judged.problem.error().message;
  }

  config::NodeConfig runs, now;
  Status tls, keeps;
  std::string missing;  // the rail whose uplink is not there
  ConfigChecks checks;
  bool took = false;
};

TEST_F(JudgeConfigTest, TakesWhatCutsOffNobody) {
  now.tenancy.tenants["red"] = {"a"};
  EXPECT_EQ(Problem(now), "");
  EXPECT_TRUE(took);
}

TEST_F(JudgeConfigTest, DoesNothingWhereTheFileMeansTheSame) {
  tls = Fail(Code::kInvalid, "of no matter");
  EXPECT_EQ(Problem(now), "");
  EXPECT_FALSE(took);
}

TEST_F(JudgeConfigTest, GoesOnWhileTheFileIsBroken) {
  EXPECT_EQ(Problem(Fail(Code::kInvalid, "/etc/railcni/node.json: bgp.as: unknown key")),
            "it cannot be taken, and raild goes on as before: /etc/railcni/node.json: bgp.as: unknown key");
  EXPECT_FALSE(took);
}

TEST_F(JudgeConfigTest, TakesNothingOfAFileOfWhichAPartWaitsForARestart) {
  now.tenancy.tenants["red"] = {"a"};
  now.bgp.asn = 7;
  EXPECT_THAT(Problem(now),
              AllOf(HasSubstr("bgp.asn may cut off pods"), HasSubstr("restart"), Not(HasSubstr("tenants"))));
  EXPECT_FALSE(took);
}

TEST_F(JudgeConfigTest, RefusesWhatPodsThatRunCannotGoOnBy) {
  now.tenancy.mode = config::TenancyMode::kVrf;
  keeps = Fail(Code::kInvalid, "the mode cannot change while pods run");
  EXPECT_EQ(
      Problem(now),
      "tenancy.mode cannot be taken, and raild goes on as before: the mode cannot change while pods run")
      << "and no word of a restart, which would not help";
  keeps = {};
  EXPECT_THAT(Problem(now), HasSubstr("restart"));
  now = runs;
  now.tenancy.vlans.of_tenant = {{"red", 101}};
  EXPECT_EQ(Problem(now), "");
  EXPECT_TRUE(took);
}

TEST_F(JudgeConfigTest, RefusesACertificateThatCannotServe) {
  now.metrics.listen = "127.0.0.1:9477";
  tls = Fail(Code::kInvalid, "/key holds no private key");
  EXPECT_EQ(Problem(now),
            "metrics.listen cannot be taken, and raild goes on as before: /key holds no private key");
  now.api = {};
  EXPECT_EQ(Problem(now), "") << "no certificate is needed";
}

TEST_F(JudgeConfigTest, RefusesWhatTheNodeLacksButNotWhatItLacksAlready) {
  now.rails.push_back({.name = "rail1", .index = 1, .pf = "pf9", .bridge = "br1", .mtu = 4200});
  missing = "rail1";
  EXPECT_THAT(Problem(now),
              AllOf(HasSubstr("rails[rail1] cannot be taken"), HasSubstr("there is no link pf9")));
  missing = "rail0";
  EXPECT_EQ(Problem(now), "");
  EXPECT_TRUE(took);
}

TEST_F(JudgeConfigTest, RefusesWhenTheNodeCannotBeLookedAt) {
  now.tenancy.cross_rail = false;
  checks.lacks = [](const config::NodeConfig&) -> Result<std::vector<std::string>> {
    return Fail(Code::kTransient, "netlink does not answer");
  };
  EXPECT_THAT(Problem(now), HasSubstr("netlink does not answer"));
  EXPECT_FALSE(took);
}

}  // namespace
}  // namespace rail::raild
