// What a leaf's new session does not tell again.
#include "lib/engine/testing/remotes_fixture.h"

namespace rail::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kLeaf0;
using testing::kLeaf1;
using testing::milliseconds;
using testing::RemotesTest;
using testing::seconds;

// A leaf that restarts has its sessions with nodes before those with the fabric: what it tells at first is not all.
class ALeafThatRestarts : public RemotesTest {
 protected:
  // 10.0.3.7 came over the fabric, 10.0.3.8 from a node of its own. It has told the latter again, and ended its table.
  ALeafThatRestarts() {
    Settle();
    Announce(kLeaf0, "10.0.3.7", 7);
    Announce(kLeaf0, "10.0.3.8", 7);
    EndBoth();
    Down(kLeaf0);
    lost = now;
    Pass(seconds(10));
    ComesUp();
  }
  void ComesUp() {
    Up(kLeaf0, milliseconds(0));
    Announce(kLeaf0, "10.0.3.8", 7);
    End(kLeaf0);
    Pass(Remotes::kSettled + seconds(1));
    remotes.Settle(now);
  }
  void ItIs(milliseconds after_the_loss) {
    now = lost + after_the_loss;
    remotes.Settle(now);
  }
  Deadline lost;
};

TEST_F(ALeafThatRestarts, LosesNothingForAsLongAsARestartMayTake) {
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 7", "10.0.3.8 7"));
  EXPECT_EQ(remotes.next_settle(), lost + Remotes::kStale);
  ItIs(Remotes::kStale - milliseconds(1));
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 7", "10.0.3.8 7"));
  ItIs(Remotes::kStale);
  EXPECT_THAT(Known(), ElementsAre("10.0.3.8 7"));
  EXPECT_EQ(remotes.next_settle(), std::nullopt);
}

TEST_F(ALeafThatRestarts, TakesWhatItWithdrawsAndHoldsWhatBgpdDoes) {
  Withdraw(kLeaf0, "10.0.3.7");
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 7", "10.0.3.8 7")) << "bgpd's own, when it has forgotten it";
  Announce(kLeaf0, "10.0.3.7", 7);
  Withdraw(kLeaf0, "10.0.3.7");
  EXPECT_THAT(Known(), ElementsAre("10.0.3.8 7")) << "it has told it again, and takes it back";
}

TEST_F(ALeafThatRestarts, IsOverruledByWhatAnybodyAnnouncesNow) {
  Announce(kLeaf1, "10.0.3.7", 8);
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 8", "10.0.3.8 7"));
  EXPECT_EQ(remotes.table().contested, 0U);
  Announce(kLeaf0, "10.0.3.7", 9);
  Withdraw(kLeaf1, "10.0.3.7");
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 9", "10.0.3.8 7")) << "nothing is held of its own old tenant";
}

TEST_F(ALeafThatRestarts, DropsWhatItAnnouncesWithoutATenant) {
  AnnounceWith("10.0.3.7", {});
  EXPECT_THAT(Known(), ElementsAre("10.0.3.8 7"));
}

// bgpd's BMP connection begins anew after each lost session.
TEST_F(ALeafThatRestarts, HoldsThroughANewConnectionAndForNoLongerBecauseOfIt) {
  Announce(kLeaf0, "10.0.3.9", 7);
  remotes.FeedClosed(now);
  Pass(seconds(1));
  remotes.FeedOpened(now);
  Up(kLeaf0, std::chrono::duration_cast<milliseconds>(now - lost) - seconds(10));
  Up(kLeaf1);
  Announce(kLeaf0, "10.0.3.8", 7);
  EndBoth();
  Pass(Remotes::kSettled + seconds(1));
  remotes.Settle(now);
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 7", "10.0.3.8 7"))
      << "10.0.3.9 was heard over this session, and went while nobody listened";
  ItIs(Remotes::kStale + seconds(1));
  EXPECT_THAT(Known(), ElementsAre("10.0.3.8 7")) << "time does not pass without a connection";
}

TEST_F(ALeafThatRestarts, HoldsWhatItLosesLastAsLongAsWhatItLostFirst) {
  now = lost + Remotes::kStale - seconds(5);
  Down(kLeaf0);
  Pass(seconds(2));
  Up(kLeaf0, milliseconds(0));
  ItIs(Remotes::kStale);
  EXPECT_THAT(Known(), ElementsAre("10.0.3.8 7")) << "10.0.3.7 was lost first";
  ItIs(2 * Remotes::kStale - seconds(5) - milliseconds(1));
  EXPECT_THAT(Known(), ElementsAre("10.0.3.8 7"));
  ItIs(2 * Remotes::kStale - seconds(5));
  EXPECT_THAT(Known(), IsEmpty());
}

TEST_F(ALeafThatRestarts, UnderAnotherNameLosesWhatWasHeld) {
  Down(kLeaf0);
  const bmp::Peer other{0, kLeaf0.address, kLeaf0.asn, 9};
  Leaf("br-rail0", other);
  Up(other, milliseconds(0));
  End(other);
  Pass(Remotes::kSettled + seconds(1));
  remotes.Settle(now);
  EXPECT_THAT(Known(), IsEmpty());
}

}  // namespace
}  // namespace rail::engine
