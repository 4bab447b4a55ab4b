#include "lib/frr/bgp.h"

#include <algorithm>
#include <thread>

namespace rail::frr {
namespace {

using std::chrono::milliseconds;

// bgpd's process queue holds a change for 50 ms, then works it off within a few. After that something else is
// in the way (the session is coming up), which takes longer.
constexpr milliseconds kHold{50}, kSoon{2}, kLater{20}, kDiagnosis{250};

Clock::duration Pause(Clock::duration waited) {
  if (waited < kHold) return kHold - waited;
  return waited < 2 * kHold ? kSoon : kLater;
}

std::string Why(Bgp& bgp, const std::string& interface) {
  const auto sessions = bgp.Sessions(After(kDiagnosis));
  if (!sessions) return sessions.error().message;
  const auto session = std::ranges::find(*sessions, interface, &Session::interface);
  if (session == sessions->end()) return "bgpd has no neighbor " + interface;
  if (!session->established())
    return "BGP session on " + interface + " is " + session->state + ", not Established";
  return "BGP session on " + interface +
         " is Established, so the neighbor's outbound route-map or bgpd's load keeps it back";
}

}  // namespace

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
