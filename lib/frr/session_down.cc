#include "lib/frr/session_down.h"

#include <fmt/core.h>

namespace rail::frr {
namespace {

using Cause = SessionDown::Cause;

// IANA, "BGP Error (Notification) Codes".
constexpr uint8_t kOpenError = 2, kHoldTimerExpired = 4, kStateMachineError = 5, kCease = 6;
constexpr uint8_t kBadPeerAs = 2;                                             // of kOpenError
constexpr uint8_t kMaximumPrefixes = 1, kShutDown = 2, kNeighborRemoved = 3;  // of kCease

bool Is(const std::optional<Notification>& said, uint8_t code, uint8_t subcode) {
  return said && said->code == code && said->subcode == subcode;
}

std::string Quoted(const Notification& said) {
  return fmt::format("{} \"{}\" ({}/{})", said.received ? "the leaf said" : "this node said", said.text,
                     said.code, said.subcode);
}

SessionDown Rejected(const Session& session, const std::string& on) {
  std::string what =
      on + ": the leaf takes the connection and ends it at once: it has no neighbor for this port";
  if (Is(session.notification, kCease, kShutDown)) {
    what = on + ": shut down at the leaf (" + Quoted(*session.notification) + ")";
  } else if (Is(session.notification, kCease, kNeighborRemoved)) {
    what += " any more (" + Quoted(*session.notification) + ")";
  } else {
    what += ", or has shut it down";
  }
  return {Cause::kLeafRejects, std::move(what)};
}

SessionDown WrongAs(const Notification& said, const std::string& on, uint32_t asn) {
  if (said.received) {
    return {Cause::kWrongAs,
            fmt::format("{}: the leaf expects another AS than this node's, {} ({})", on, asn, Quoted(said))};
  }
  return {Cause::kWrongAs,
          fmt::format("{}: the leaf is not of the AS that this node expects: not of another than {} ({})", on,
                      asn, Quoted(said))};
}

}  // namespace

std::optional<SessionDown> WhyDown(const Session* session, const SessionPlace& place) {
  if (session == nullptr) return SessionDown{Cause::kNoNeighbor, "bgpd has no session on " + place.bridge};
  if (session->established()) return std::nullopt;
  const std::string on = "the BGP session on " + place.bridge + " is " + session->state;
  if (session->shut_down)
    return SessionDown{Cause::kShutDownHere, on + ": it is shut down in this node's bgpd"};
  if (!place.carrier) return SessionDown{Cause::kNoCarrier, on + ": its uplink has no carrier"};
  if (!session->peer)
    return SessionDown{Cause::kLeafUnheard,
                       on + ": no router advertisement of a leaf has come, so bgpd knows nobody there"};
  const std::string leaf = "the leaf, " + session->peer->ToString() + ",";
  const std::optional<Notification>& said = session->notification;
  // How the last attempt ended is newer than what was said before it.
  switch (session->attempt) {
    case Attempt::kSilent:
      return SessionDown{Cause::kLeafSilent,
                         on + ": " + leaf + " does not answer TCP port 179, not even to refuse"};
    case Attempt::kRefused:
      return SessionDown{Cause::kLeafRefuses,
                         on + ": " + leaf + " refuses TCP port 179: no bgpd listens there"};
    case Attempt::kClosed:
      // This node has ended it for want of an answer; or the leaf does not take back what it has thrown out.
      if (said && (said->code == kHoldTimerExpired || Is(said, kCease, kMaximumPrefixes))) break;
      return Rejected(*session, on);
    case Attempt::kNone:
    case Attempt::kTalked: break;
  }
  if (Is(said, kOpenError, kBadPeerAs)) return WrongAs(*said, on, place.asn);
  if (Is(said, kCease, kMaximumPrefixes))
    return SessionDown{Cause::kPrefixes, on + ": too many prefixes (" + Quoted(*said) + ")"};
  if (Is(said, kCease, kShutDown)) return Rejected(*session, on);
  if (said && said->code == kHoldTimerExpired) {
    return SessionDown{
        Cause::kHoldTimer,
        on + ": " + leaf + " was silent for longer than the hold timer allows (" + Quoted(*said) + ")"};
  }
  if (said) return SessionDown{Cause::kOther, on + ": " + Quoted(*said)};
  return SessionDown{Cause::kOther,
                     session->last_reset.empty() ? on : on + ": " + session->last_reset + ", says bgpd"};
}

Attempt AttemptOf(uint32_t segments, uint64_t bytes) {
  if (bytes >= kSmallestMessage) return Attempt::kTalked;
  if (segments == 0) return Attempt::kSilent;
  return segments == 1 ? Attempt::kRefused : Attempt::kClosed;
}

void NoteAttempt(Session& session, Attempt attempt) {
  session.attempt = attempt;
  if (session.notification && session.notification->code == kHoldTimerExpired) session.notification.reset();
}

void Remember(Session& session, const Session& before) {
  if (session.established()) return;
  session.attempt = before.established() ? Attempt::kNone : before.attempt;
  // What goes wrong between two who try again at the same time says less than what came before.
  const bool says_little = !session.notification || session.notification->code == kStateMachineError;
  if (says_little && !before.established() && before.notification) session.notification = before.notification;
}

}  // namespace rail::frr
