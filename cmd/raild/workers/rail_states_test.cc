#include "cmd/raild/workers/rail_states.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace rail::raild {
namespace {

engine::NodeView ViewOf(const std::function<void(engine::RailView&)>& change) {
  engine::NodeView view;
  for (const char* name : {"rail0", "rail1"}) {
    engine::RailView rail;
    rail.rail.name = name;
    rail.rail.pf = std::string(name) + "p";
    rail.rail.bridge = std::string("br-") + name;
    rail.seen.set_bridge_present(true);
    rail.seen.set_carrier(true);
    rail.seen.set_bgp_state("Established");
    view.rails.push_back(rail);
  }
  change(view.rails[1]);
  return view;
}

// What is told of rail1; rail0 works in each case.
std::string Told(const engine::NodeView& view) {
  const std::vector<kubernetes::RailState> states = RailStates(view);
  EXPECT_EQ(states.size(), 2U);
  EXPECT_EQ(states.at(0).name, "rail0");
  EXPECT_EQ(states.at(0).problem, "");
  EXPECT_EQ(states.at(1).name, "rail1");
  return states.at(1).problem;
}

TEST(RailStatesTest, ARailThatWorksHasNoProblem) {
  EXPECT_EQ(Told(ViewOf([](engine::RailView&) {})), "");
}

TEST(RailStatesTest, TheNearestCauseIsTold) {
  EXPECT_EQ(Told(ViewOf([](engine::RailView& rail) {
              rail.seen.set_bridge_present(false);
              rail.seen.set_carrier(false);
              rail.seen.set_bgp_state("");
            })),
            "rail1p has no carrier");
  EXPECT_EQ(Told(ViewOf([](engine::RailView& rail) {
              rail.seen.set_bridge_present(false);
              rail.seen.set_bgp_state("Active");
            })),
            "bridge br-rail1 does not exist");
  EXPECT_EQ(Told(ViewOf([](engine::RailView& rail) { rail.seen.set_bgp_state("Active"); })),
            "no BGP session with the leaf (Active)");
  EXPECT_EQ(Told(ViewOf([](engine::RailView& rail) { rail.seen.set_bgp_state(""); })),
            "no BGP session with the leaf");
}

TEST(RailStatesTest, APartOfTheRailSaysItsReasonInItsOwnWords) {
  engine::NodeView view = ViewOf([](engine::RailView& rail) { rail.seen.set_bridge_present(false); });
  view.health = {{{engine::Part::kRail, "rail0"}, true, "", 0},
                 {{engine::Part::kNic, "rail1"}, false, "0000:17:00.0 has no VFs", 1},
                 {{engine::Part::kRail, "rail10"}, false, "of another rail", 1}};
  EXPECT_EQ(Told(view), "0000:17:00.0 has no VFs");
}

TEST(RailNewsTest, StaysNewsUntilItWasTold) {
  RailNews news;
  const kubernetes::RailState works{"rail0", ""}, down{"rail0", "no carrier"};
  EXPECT_THAT(news.Of({down}), ::testing::IsEmpty()) << "raild has just started";
  for (int i = 0; i < 2; ++i) EXPECT_THAT(news.Of({works}), ::testing::SizeIs(1));
  EXPECT_THAT(news.Of({down}), ::testing::IsEmpty()) << "nobody was told that it works";
  news.Told(works);
  EXPECT_THAT(news.Of({works}), ::testing::IsEmpty());
  EXPECT_EQ(news.Of({down}).at(0).problem, "no carrier");
}

}  // namespace
}  // namespace rail::raild
