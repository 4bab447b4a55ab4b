#include "lib/ovs/vswitchd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rail::ovs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(DatapathCounts, AreThoseOfEachDatapath) {
  const auto datapaths = ParseUpcallShow(
      "netdev@ovs-netdev:\n  flows         : (current 3) (avg 1) (max 4) (limit 10000)\n"
      "  dump duration : 1ms\n  ufid enabled : true\n\n  5: (keys 3)\n"
      "system@ovs-system:\n  flows         : (current 72) (avg 56) (max 72) (limit 14000)\n"
      "  offloaded flows : 60\n  dump duration : 12ms\n  ufid enabled : true\n\n  6: (keys 72)\n");
  ASSERT_EQ(datapaths.size(), 2U);
  EXPECT_EQ(datapaths[0].name, "netdev@ovs-netdev");
  EXPECT_EQ(datapaths[0].flows, 3U);
  EXPECT_EQ(datapaths[0].limit, 10000U);
  EXPECT_EQ(datapaths[0].offloaded, std::nullopt);
  EXPECT_EQ(datapaths[1].name, "system@ovs-system");
  EXPECT_EQ(datapaths[1].flows, 72U);
  EXPECT_EQ(datapaths[1].limit, 14000U);
  EXPECT_EQ(datapaths[1].offloaded, 60U);
  EXPECT_EQ(datapaths[1].dump_ms, 12U);
  EXPECT_THAT(ParseUpcallShow(""), IsEmpty());
  EXPECT_THAT(ParseUpcallShow("  flows : (current 1) (limit 2)\n"), IsEmpty()) << "of no datapath";
}

TEST(FlowLimit, IsTheConfiguredOneOrTheDefault) {
  EXPECT_EQ(FlowLimit({}), 200000U);
  EXPECT_EQ(FlowLimit({{"flow-limit", "5000"}}), 5000U);
  EXPECT_EQ(FlowLimit({{"flow-limit", "many"}}), 200000U) << "as Open vSwitch takes it";
}

TEST(FlowLimit, IsRaisedUnlessItIsHighEnoughOrTheSwitchIsSlow) {
  std::string shown;
  std::vector<std::string> set;
  const AskVswitchd ask = [&](const std::string& command, const std::vector<std::string>& arguments,
                              Deadline) -> Result<std::string> {
    if (command == "upcall/show") return shown;
    set.push_back(command + " " + arguments.at(0));
    return std::string();
  };
  const auto raise = [&](int limit, int dump_ms) {
    set.clear();
    shown = "system@ovs-system:\n  flows : (current 1) (avg 1) (max 1) (limit " + std::to_string(limit) +
            ")\n  dump duration : " + std::to_string(dump_ms) + "ms\n";
    EXPECT_TRUE(RaiseFlowLimit(ask, 50000, {}));
    return set;
  };
  EXPECT_THAT(raise(10000, 999), ElementsAre("upcall/set-flow-limit 50000"));
  EXPECT_THAT(raise(50000, 1), IsEmpty());
  EXPECT_THAT(raise(60000, 1), IsEmpty());
  EXPECT_THAT(raise(10000, 1000), IsEmpty());
  shown = "";
  EXPECT_TRUE(RaiseFlowLimit(ask, 50000, {})) << "no datapath yet";
  EXPECT_FALSE(RaiseFlowLimit([](auto&&...) { return Fail(Code::kTransient, "gone"); }, 50000, {}));
}

}  // namespace
}  // namespace rail::ovs
