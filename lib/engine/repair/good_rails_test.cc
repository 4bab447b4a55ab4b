#include "lib/engine/repair/good_rails.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace rail::engine {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class GoodRailsTest : public ::testing::Test {
 protected:
  GoodRailsTest() {
    for (const char* name : {"rail0", "rail1"}) {
      config::Rail rail{.name = name,
                        .pf = "pf",
                        .bridge = std::string("br-") + name,
                        .devices = {},
                        .flow_steering = {},
                        .accept = {}};
      config_.rails.push_back(rail);
      RailView shown;
      shown.rail = rail;
      shown.seen.set_bridge_present(true);
      shown.seen.set_carrier(true);
      shown.seen.set_bgp_state("Established");
      view_.rails.push_back(shown);
    }
  }
  GoodRails Started(const std::set<std::string>& before) { return {config_, before, start_}; }
  RailView& rail(size_t index) { return view_.rails[index]; }

  config::NodeConfig config_;
  NodeView view_;
  const Deadline start_ = Clock::now();
};

TEST_F(GoodRailsTest, ReadyWhenAllRailsAreGood) {
  GoodRails rails = Started({});
  EXPECT_THAT(rails.waits_for(), HasSubstr("not looked"));
  rails.Look({}, start_);
  EXPECT_THAT(rails.waits_for(), HasSubstr("not looked")) << "the first view has no rails";
  rails.Look(view_, start_);
  EXPECT_THAT(rails.waits_for(), IsEmpty());
  EXPECT_TRUE(rails.TakeChanged());
  EXPECT_FALSE(rails.TakeChanged());
  EXPECT_THAT(rails.to_keep(), ElementsAre("rail0", "rail1"));
}

TEST_F(GoodRailsTest, ARailThatWasNeverGoodHasItsTime) {
  GoodRails rails = Started({});
  rail(0).seen.set_bgp_state("Active");
  rails.Look(view_, start_ + seconds(59));
  EXPECT_THAT(rails.waits_for(), AllOf(HasSubstr("rail rail0 has no Established BGP session on br-rail0 yet"),
                                       Not(HasSubstr("rail1"))));
  rails.Look(view_, start_ + seconds(60));
  EXPECT_THAT(rails.waits_for(), IsEmpty());
  EXPECT_THAT(rails.to_keep(), ElementsAre("rail1"));
}

TEST_F(GoodRailsTest, ARailThatWasGoodBeforeKeepsRaildUnreadyUntilItIsAgain) {
  GoodRails rails = Started({"rail0", "rail1"});
  rail(1).seen.set_carrier(false);
  rails.Look(view_, start_ + seconds(3600));
  EXPECT_THAT(rails.waits_for(),
              AllOf(HasSubstr("rail rail1 has no carrier on pf"), HasSubstr("it was good before")));
  EXPECT_THAT(rails.to_keep(), ElementsAre("rail0", "rail1")) << "the next raild waits for it, too";
  rail(1).seen.set_carrier(true);
  rails.Look(view_, start_ + seconds(3601));
  EXPECT_THAT(rails.waits_for(), IsEmpty());
}

TEST_F(GoodRailsTest, StaysReadyAndForgetsARailThatIsBadForLong) {
  GoodRails rails = Started({"rail0"});
  rails.Look(view_, start_);
  rail(0).seen.set_bridge_present(false);
  rails.Look(view_, start_ + seconds(10));
  rails.Look(view_, start_ + seconds(69));
  EXPECT_THAT(rails.to_keep(), ElementsAre("rail0", "rail1")) << "a leaf that restarts";
  rails.Look(view_, start_ + seconds(70));
  EXPECT_THAT(rails.to_keep(), ElementsAre("rail1"));
  EXPECT_THAT(rails.waits_for(), IsEmpty());
  rail(0).seen.set_bridge_present(true);
  rails.Look(view_, start_ + seconds(71));
  EXPECT_THAT(rails.to_keep(), ElementsAre("rail0", "rail1"));
}

TEST_F(GoodRailsTest, ARailThatIsNoLongerConfiguredIsNotAwaited) {
  GoodRails rails = Started({"rail7", "rail0"});
  rails.Look(view_, start_);
  EXPECT_THAT(rails.waits_for(), IsEmpty());
  EXPECT_TRUE(rails.TakeChanged());
  EXPECT_THAT(rails.to_keep(), ElementsAre("rail0", "rail1"));
}

TEST_F(GoodRailsTest, AsksForNoSessionWhereSomebodyElseConfiguresBgpd) {
  config_.bgp.manage = false;
  rail(0).seen.set_bgp_state("");
  GoodRails rails = Started({"rail0"});
  rails.Look(view_, start_);
  EXPECT_THAT(rails.waits_for(), IsEmpty());
}

TEST(GoodRailsFile, KeepsNamesAndTakesNothingFromOtherFiles) {
  const std::string path = ::testing::TempDir() + "/good_rails_test.json";
  std::filesystem::remove(path);
  EXPECT_THAT(ReadGoodRails(path), IsEmpty());
  ASSERT_TRUE(WriteGoodRails(path, {"rail1", "rail0"}));
  EXPECT_THAT(ReadGoodRails(path), ElementsAre("rail0", "rail1"));
  ASSERT_TRUE(WriteGoodRails(path, {}));
  EXPECT_THAT(ReadGoodRails(path), IsEmpty());
  std::ofstream(path) << "half a fi";
  EXPECT_THAT(ReadGoodRails(path), IsEmpty());
  EXPECT_FALSE(WriteGoodRails("/nowhere/rails", {}));
}

}  // namespace
}  // namespace rail::engine
