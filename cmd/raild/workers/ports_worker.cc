#include "cmd/raild/workers/ports_worker.h"

#include <pthread.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "lib/base/log.h"

namespace rail::raild {
Status PortsWorker::Open() {
  RAIL_TRY(sampler_.Open());
  RAIL_TRY(worker_.Open());
  if (config_.bursts.every_ms == 0) {
    sampler_.OnDemand([this] {
      worker_.loop().Post([this] {
        if (sampler_.Due()) TickAtItsPace();
      });
    });
    return {};
  }
  timer_ = Fd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!timer_) return FailErrno(errno, "make the timer of the counters");
  const uint32_t ms = config_.bursts.every_ms;
  const timespec period{.tv_sec = ms / 1000, .tv_nsec = static_cast<long>(ms % 1000) * 1'000'000};
  const itimerspec timer{.it_interval = period, .it_value = period};
  if (::timerfd_settime(timer_.get(), 0, &timer, nullptr) != 0)
    return FailErrno(errno, "set the timer of the counters");
  return {};
}

void PortsWorker::Start() {
  worker_.Start([this] {
    (void)::pthread_setname_np(::pthread_self(), "counters");  // the benchmark reads this thread's CPU time
    if (!timer_) return TickAtItsPace();
    Tick();
    const Status watched = worker_.loop().Watch(timer_.get(), [this] {
      // How many ticks have passed: those that were missed are in the next one's average.
      uint64_t passed = 0;
      if (::read(timer_.get(), &passed, sizeof passed) == sizeof passed) Tick();
    });
    if (!watched) log::Warning("counters are not read: {}", watched.error().message);
  });
}

void PortsWorker::TickAtItsPace() {
  Tick();
  worker_.RetryAt(Clock::now() + sampler_.Pace(), [this] { TickAtItsPace(); });
}

void PortsWorker::Tick() {
  const Status read = sampler_.Tick();
  if (!read && !std::exchange(failing_, true)) log::Warning("{}; tried again", read.error().message);
  if (read && std::exchange(failing_, false)) log::Info("counters of links can be read again");
}

}  // namespace rail::raild
