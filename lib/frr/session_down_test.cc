#include "lib/frr/session_down.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rail::frr {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Cause = SessionDown::Cause;

Session Down() {
  return {.interface = "br-rail0",
          .state = "Active",
          .peer = *IpAddress::Parse("fe80::7"),
          .notification = {},
          .last_reset = "Waiting for peer OPEN"};
}

SessionDown Why(const Session& session, bool carrier = true) {
  const auto down = WhyDown(&session, {.bridge = "br-rail0", .asn = 4200000001, .carrier = carrier});
  EXPECT_TRUE(down);
  return down.value_or(SessionDown());
}

const Notification kShutDown{6, 2, true, "Cease/Administrative Shutdown"};
const Notification kBadPeerAs{2, 2, true, "OPEN Message Error/Bad Peer AS"};
const Notification kHoldTimer{4, 0, false, "Hold Timer Expired"};
const Notification kUnexpected{5, 1, false,
                               "Neighbor Events Error/Receive Unexpected Message in OpenSent State"};

TEST(WhyDown, IsNothingForASessionThatIsUp) {
  Session up = Down();
  up.state = kEstablished;
  up.notification = kShutDown;
  EXPECT_FALSE(WhyDown(&up, {.bridge = "br-rail0"}));
}

TEST(WhyDown, ANeighborThatBgpdDoesNotHave) {
  const auto down = WhyDown(nullptr, {.bridge = "br-rail0"});
  ASSERT_TRUE(down);
  EXPECT_EQ(down->cause, Cause::kNoNeighbor);
}

TEST(WhyDown, WhatThisNodeSeesGoesBeforeWhatTheLeafSaid) {
  Session session = Down();
  session.notification = kBadPeerAs;
  session.attempt = Attempt::kRefused;
  EXPECT_EQ(Why(session).cause, Cause::kLeafRefuses);
  session.peer.reset();
  EXPECT_EQ(Why(session).cause, Cause::kLeafUnheard);
  EXPECT_EQ(Why(session, false).cause, Cause::kNoCarrier);
  session.shut_down = true;
  EXPECT_EQ(Why(session, false).cause, Cause::kShutDownHere);
}

TEST(WhyDown, HowTheLastAttemptEndedTellsTheLeafFromItsFirewall) {
  Session session = Down();
  session.notification = kHoldTimer;  // that is how the session has ended; what keeps it down is newer
  session.attempt = Attempt::kSilent;
  EXPECT_EQ(Why(session).cause, Cause::kLeafSilent);
  EXPECT_THAT(Why(session).what,
              AllOf(HasSubstr("br-rail0 is Active"), HasSubstr("the leaf, fe80::7, does not answer")));
  session.attempt = Attempt::kRefused;
  EXPECT_EQ(Why(session).cause, Cause::kLeafRefuses);
  for (const Attempt attempt : {Attempt::kNone, Attempt::kTalked, Attempt::kClosed}) {
    session.attempt = attempt;
    EXPECT_EQ(Why(session).cause, Cause::kHoldTimer);
  }
}

TEST(WhyDown, ALeafThatEndsTheConnectionSaysWhyOnlyAtTheFirstTime) {
  Session session = Down();
  session.attempt = Attempt::kClosed;
  EXPECT_EQ(Why(session).cause, Cause::kLeafRejects);
  EXPECT_THAT(Why(session).what, HasSubstr("no neighbor for this port, or has shut it down"));
  session.notification = kShutDown;
  EXPECT_EQ(Why(session).cause, Cause::kLeafRejects);
  EXPECT_THAT(Why(session).what,
              HasSubstr("shut down at the leaf (the leaf said \"Cease/Administrative Shutdown\" (6/2))"));
  session.attempt = Attempt::kNone;
  EXPECT_EQ(Why(session).cause, Cause::kLeafRejects) << "before the first attempt";
  session.notification = Notification{6, 3, true, "Cease/Peer De-configured"};
  session.attempt = Attempt::kClosed;
  EXPECT_THAT(Why(session).what, HasSubstr("no neighbor for this port any more"));
}

TEST(WhyDown, AWrongAsIsTheOthersOrOurs) {
  Session session = Down();
  session.attempt = Attempt::kTalked;
  session.notification = kBadPeerAs;
  EXPECT_EQ(Why(session).cause, Cause::kWrongAs);
  EXPECT_THAT(Why(session).what, HasSubstr("the leaf expects another AS than this node's, 4200000001"));
  session.notification->received = false;
  EXPECT_THAT(Why(session).what, HasSubstr("the leaf is not of the AS that this node expects"));
}

TEST(WhyDown, OtherEndsInBgpdsWords) {
  Session session = Down();
  session.notification = Notification{6, 1, false, "Cease/Maximum Number of Prefixes Reached"};
  EXPECT_EQ(Why(session).cause, Cause::kPrefixes);
  session.attempt = Attempt::kClosed;
  EXPECT_EQ(Why(session).cause, Cause::kPrefixes) << "it lets nobody in until somebody clears it";
  session.attempt = Attempt::kTalked;
  session.notification = Notification{2, 7, true, "OPEN Message Error/Unsupported Capability"};
  EXPECT_EQ(Why(session).cause, Cause::kOther);
  EXPECT_THAT(Why(session).what,
              HasSubstr("the leaf said \"OPEN Message Error/Unsupported Capability\" (2/7)"));
  session.notification.reset();
  session.last_reset = "Peer closed the session";
  EXPECT_THAT(Why(session).what, HasSubstr("Peer closed the session, says bgpd"));
}

// Measured with FRRouting 8.4: a leaf that closes at once sends its SYN, its end of the stream and an acknowledgement.
TEST(AttemptOf, TellsARefusalFromSilenceAndFromAWordlessEnd) {
  EXPECT_EQ(AttemptOf(0, 0), Attempt::kSilent);
  EXPECT_EQ(AttemptOf(1, 0), Attempt::kRefused);
  EXPECT_EQ(AttemptOf(3, 0), Attempt::kClosed);
  EXPECT_EQ(AttemptOf(3, 1), Attempt::kClosed);
  EXPECT_EQ(AttemptOf(5, 24), Attempt::kTalked);
}

TEST(NoteAttempt, IsNewerThanASilence) {
  Session session = Down();
  session.notification = kHoldTimer;
  NoteAttempt(session, Attempt::kClosed);
  EXPECT_EQ(Why(session).cause, Cause::kLeafRejects);
  session.notification = kBadPeerAs;
  NoteAttempt(session, Attempt::kTalked);
  EXPECT_EQ(Why(session).cause, Cause::kWrongAs);
}

TEST(Remember, KeepsWhatTheLeafSaidUntilTheSessionIsUp) {
  Session before = Down();
  before.notification = kBadPeerAs;
  before.attempt = Attempt::kTalked;
  Session now = Down();
  Remember(now, before);
  EXPECT_EQ(now.notification, kBadPeerAs);
  EXPECT_EQ(now.attempt, Attempt::kTalked);
  now = Down();
  now.notification = kUnexpected;
  Remember(now, before);
  EXPECT_EQ(now.notification, kBadPeerAs) << "two who try at the same time";
  now.notification = kShutDown;
  Remember(now, before);
  EXPECT_EQ(now.notification, kShutDown) << "newer";
  Session up = Down();
  up.state = kEstablished;
  Remember(up, before);
  EXPECT_EQ(up.notification, std::nullopt);
  now = Down();
  up.attempt = Attempt::kRefused;
  Remember(now, up);
  EXPECT_EQ(now.attempt, Attempt::kNone) << "of an earlier time";
}

}  // namespace
}  // namespace rail::frr
