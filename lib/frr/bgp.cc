#include "lib/frr/bgp.h"

#include <algorithm>
#include <thread>

namespace rail::frr {
namespace {

using std::chrono::milliseconds;

// bgpd's process queue holds a change for 50 ms, then sends it within a few milliseconds. If it takes more, the reason
// is another one (the session is coming up), which lasts longer.
constexpr milliseconds kHold{50}, kSoon{2}, kLater{20}, kDiagnosis{250};
constexpr milliseconds kHelpInterval{500};

Clock::duration Pause(Clock::duration waited) {
  if (waited < kHold) return kHold - waited;
  return waited < 2 * kHold ? kSoon : kLater;
}

// Why the session carries no routes; "" when it is Established.
std::string NotEstablished(const Result<std::string>& state, const std::string& interface) {
  if (!state) return state.error().message;
  if (*state == kEstablished) return "";
  return "BGP session on " + interface + " is " + *state + ", not Established";
}

std::string Why(Bgp& bgp, const std::string& interface) {
  std::string down = NotEstablished(bgp.SessionState(interface, After(kDiagnosis)), interface);
  if (!down.empty()) return down;
  return "BGP session on " + interface +
         " is Established, so the neighbor's outbound route-map or bgpd's load keeps it back";
}

}  // namespace

Status Bgp::WaitEstablished(const std::string& interface, Deadline deadline, const SessionHelp& help) {
  for (Deadline help_at = Clock::now();;) {
    const auto state = SessionState(interface, std::max(deadline, After(kDiagnosis)));
    if (!state && state.error().code != Code::kNotFound) return tl::make_unexpected(state.error());
    std::string down = NotEstablished(state, interface);
    if (down.empty()) return {};
    const auto now = Clock::now();
    if (now >= deadline) return Fail(Code::kTransient, down + help.advice);
    if (help.speed_up && now >= help_at) {
      help.speed_up();
      help_at = now + kHelpInterval;
    }
    std::this_thread::sleep_until(std::min(now + kLater, deadline));
  }
}

Status Bgp::WaitAdjRibOut(const std::vector<IpAddress>& addresses, const std::string& interface,
                          Deadline deadline) {
  const auto start = Clock::now();
  for (const IpAddress& address : addresses) {
    for (;;) {
      RAIL_ASSIGN(const bool there, InAdjRibOut(address, interface, std::max(deadline, After(kDiagnosis))));
      if (there) break;
      const auto now = Clock::now();
      if (now >= deadline) {
        return Fail(Code::kTransient, address.ToHostPrefix() + " is not in the Adj-RIB-Out of " + interface +
                                          ": " + Why(*this, interface));
      }
      std::this_thread::sleep_until(std::min(now + Pause(now - start), deadline));
    }
  }
  return {};
}

}  // namespace rail::frr
