#include "cmd/raild/watchdog.h"

#include <algorithm>

namespace rail::raild {
namespace {

constexpr std::chrono::seconds kInterval{5};

}  // namespace

void Watchdog::Begin() {
  Clock::duration interval = std::min<Clock::duration>(kInterval, grace_ / 8);
  if (const auto limit = supervisor_.watchdog()) interval = std::min<Clock::duration>(interval, *limit / 4);
  Look();
  loop_.Every(interval, [this] { Look(); });
}

void Watchdog::Look() {
  for (Part& part : parts_) {
    if (!part.asked) Ask(part);
  }
  Judge();
  if (told_.hung.empty()) supervisor_.Tell("WATCHDOG=1");
}

void Watchdog::Ask(Part& part) {
  part.asked = true;
  part.since = Clock::now();
  part.loop->Post([this, &part] {
    loop_.Post([this, &part] {
      part.asked = false;
      part.answered = true;
      Judge();
    });
  });
}

bool Watchdog::Hangs(const Part& part) const {
  if (!part.asked) return false;
  const Deadline sign = part.pulse == nullptr ? part.since : std::max(part.since, part.pulse->last());
  return Clock::now() - sign >= grace_;
}

void Watchdog::Judge() {
  Health health{.started = std::ranges::all_of(parts_, &Part::answered), .waits_for = "", .hung = ""};
  if (health.started) health.waits_for = waits_for_();
  const auto hung = std::ranges::find_if(parts_, [this](const Part& part) { return Hangs(part); });
  if (hung != parts_.end()) {
    health.hung = "raild's thread for " + hung->name + " has shown no sign of life for more than " +
                  std::to_string(std::chrono::duration_cast<std::chrono::seconds>(grace_).count()) +
                  " s, though none of its steps may take half as long: restart raild, which touches no flow, "
                  "and report its log";
  }
  if (health == told_) return;
  if (health.started && !told_.started) supervisor_.Tell("READY=1");
  told_ = health;
  tell_(told_);
}

}  // namespace rail::raild
