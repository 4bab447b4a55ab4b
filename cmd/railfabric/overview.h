// The fleet as of now for whoever asks: documents, grid and causes of one moment, and a number that grows when an answer may have changed.
//
// Use:      Overview overview(loop, [&](Fleet& fleet, int64_t now) { followers.Take(fleet, now); });
//           overview.Expect(names);   overview.Changed();                     // soon: takes the news, and looks at all anew
//           overview.Look([&](const Seen& seen) { return fabric::ListRails(seen.grid, request); });
//           rpc::Watches watches(overview, "railfabric");
// Threads:  Changed: the loop's; Look, Current, WaitNewer: any, one looks at a time
// Owns:     the fleet
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "lib/base/clock.h"
#include "lib/event/loop.h"
#include "lib/fabric/causes.h"
#include "lib/fabric/fleet.h"
#include "lib/fabric/grid.h"

namespace rail::railfabric {

// What there is to answer from. Holds until Look returns.
struct Seen {
  const fabric::Fleet& fleet;
  const fabric::Grid& grid;
  const fabric::Causes& causes;
};

// What is published: the number of the last change, and of each part (by FleetPart).
struct Numbers {
  uint64_t version = 0;
  std::array<uint64_t, v1::FleetPart_ARRAYSIZE> parts{};
};

class Overview {
 public:
  // Puts what has come into the fleet.
  using TakeNews = std::function<void(fabric::Fleet& fleet, int64_t now_ms)>;

  Overview(event::Loop& loop, TakeNews take_news);

  void Expect(const std::string& node) { fleet_.Expect(node); }  // before the first Changed
  void Changed();

  template <class Answer>
  auto Look(Answer answer) const {
    const std::lock_guard lock(mutex_);
    return answer(Seen{fleet_, *grid_, causes_});
  }

  std::shared_ptr<const Numbers> Current() const;
  std::shared_ptr<const Numbers> WaitNewer(uint64_t version, Deadline deadline) const;

 private:
  void Refresh();
  void RefreshAfter(Clock::duration wait);
  void Publish();
  bool LooksAtCauses(int64_t now_ms) const;

  event::Loop& loop_;
  const TakeNews take_news_;
  mutable std::mutex mutex_;  // of the next three, which only the loop changes
  fabric::Fleet fleet_;
  std::optional<fabric::Grid> grid_;
  fabric::Causes causes_;
  uint64_t seen_number_ = 0;     // of the fleet that grid_ is of
  uint64_t causes_number_ = 0;   // of the fleet that causes_ are of
  uint64_t causes_changed_ = 0;  // how often
  Deadline not_before_ = Deadline::min();
  event::TimerId timer_ = 0;  // 0: none
  mutable std::mutex published_mutex_;
  mutable std::condition_variable published_;
  std::shared_ptr<const Numbers> current_ = std::make_shared<const Numbers>();
};

}  // namespace rail::railfabric
