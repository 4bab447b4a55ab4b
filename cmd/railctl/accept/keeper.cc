#include "cmd/railctl/accept/keeper.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "lib/base/thread.h"

namespace rail::accept {

sigset_t BlockSignals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

Result<std::unique_ptr<Keeper>> Keeper::Start(std::chrono::milliseconds every, std::function<void()> renew,
                                              std::function<void()> take_away) {
  std::unique_ptr<Keeper> keeper(new Keeper());
  const sigset_t signals = BlockSignals();
  keeper->signals_.Reset(::signalfd(-1, &signals, SFD_CLOEXEC));
  if (!keeper->signals_ || !keeper->end_) return FailErrno(errno, "wait for signals");
  RAIL_ASSIGN(keeper->thread_,
              StartThread([own = keeper.get(), every, renew = std::move(renew),
                           take_away = std::move(take_away)] { own->Keep(every, renew, take_away); }));
  return keeper;
}

Keeper::~Keeper() {
  end_.Give();
  if (thread_.joinable()) thread_.join();
}

void Keeper::Keep(std::chrono::milliseconds every, const std::function<void()>& renew,
                  const std::function<void()>& take_away) {
  for (;;) {
    std::array<pollfd, 2> events = {{PollIn(end_), {.fd = signals_.get(), .events = POLLIN, .revents = 0}}};
    const int ready = ::poll(events.data(), events.size(), static_cast<int>(every.count()));
    signalfd_siginfo came{};
    if (ready > 0 && events[1].revents != 0 && ::read(signals_.get(), &came, sizeof came) == sizeof came) {
      take_away();
      ::_exit(128 + static_cast<int>(came.ssi_signo));
    }
    if (end_.given()) return;
    if (ready == 0) renew();
  }
}

}  // namespace rail::accept
