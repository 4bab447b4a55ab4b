#include "lib/engine/learned/bmp_stall.h"

#include <algorithm>

namespace rail::engine {

void BmpStallDetector::Check(const std::map<std::string, frr::Session>& sessions, uint64_t table_version,
                             Deadline now) {
  const auto any = [&](auto is_so) {
    return std::ranges::any_of(sessions, [&](const auto& known) { return is_so(known.second); });
  };
  if (any([](const frr::Session& session) { return session.state == "Clearing"; })) return;
  stalled_ = lost_ || table_version != version_;
  version_ = table_version;
  if (lost_) kept_until_ = now + kKeptByBgpd;
  const bool some_down = any([](const frr::Session& session) { return !session.established(); });
  again_.reset();
  if (lost_ || (some_down && now < kept_until_)) again_ = now + kAgain;
  lost_ = false;
}

}  // namespace rail::engine
