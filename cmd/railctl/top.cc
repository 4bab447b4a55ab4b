#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "cmd/railctl/commands.h"
#include "cmd/railctl/top_screen.h"
#include "lib/base/fd.h"

namespace rail::railctl {
namespace {

// The terminal takes single keys and shows another screen, until this object ends.
class FullScreen {
 public:
  explicit FullScreen(std::ostream& out) : out_(out) {
    set_ = ::tcgetattr(STDIN_FILENO, &before_) == 0;
    if (!set_) return;
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);  // ^C is a key: the screen is put back
    ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    out_ << "\x1b[?1049h\x1b[?25l" << std::flush;
  }
  ~FullScreen() {
    if (!set_) return;
    out_ << "\x1b[?25h\x1b[?1049l" << std::flush;
    ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;

 private:
  std::ostream& out_;
  termios before_{};
  bool set_ = false;
};

TopSize SizeOf(const Flags& flags) {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
    return {.color = flags.color};
  return {.width = size.ws_col, .height = size.ws_row, .color = flags.color};
}

// Reads the watch on a thread of its own, and wakes the one that draws.
class Feed {
 public:
  Feed(const Context& context, const v1::WatchCountersRequest& request)
      : wake_(::eventfd(0, EFD_CLOEXEC)),
        reader_(context.client.node().WatchCounters(&call_, request)),
        thread_([this] { Read(); }) {}
  ~Feed() {
    call_.TryCancel();
    thread_.join();
  }
  int fd() const { return wake_.get(); }
  // nullopt: nothing new.
  std::optional<v1::ListCountersResponse> Take() {
    uint64_t woken = 0;
    (void)!::read(wake_.get(), &woken, sizeof woken);
    const std::lock_guard lock(mutex_);
    return std::exchange(latest_, std::nullopt);
  }
  // Why there will be no more; nullopt: there may be.
  std::optional<grpc::Status> ended() {
    const std::lock_guard lock(mutex_);
    return ended_;
  }

 private:
  void Read() {
    for (v1::WatchCountersResponse response; reader_->Read(&response);)
      Put(response.counters(), std::nullopt);
    Put(std::nullopt, reader_->Finish());
  }
  void Put(std::optional<v1::ListCountersResponse> latest, std::optional<grpc::Status> ended) {
    const std::lock_guard lock(mutex_);
    if (latest) latest_ = std::move(latest);
    ended_ = std::move(ended);
    const uint64_t one = 1;
    (void)!::write(wake_.get(), &one, sizeof one);
  }

  const Fd wake_;
  grpc::ClientContext call_;
  std::unique_ptr<grpc::ClientReader<v1::WatchCountersResponse>> reader_;
  std::mutex mutex_;
  std::optional<v1::ListCountersResponse> latest_;
  std::optional<grpc::Status> ended_;
  std::thread thread_;  // last: it uses the others
};

void Show(std::ostream& out, const std::vector<std::string>& lines) {
  out << "\x1b[H";
  for (size_t i = 0; i < lines.size(); ++i) out << (i == 0 ? "" : "\r\n") << lines[i] << "\x1b[K";
  out << "\x1b[J" << std::flush;
}

}  // namespace

ExitCode ShowTop(const Context& context) {
  const bool terminal = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
  v1::WatchCountersRequest request;
  request.mutable_filter()->set_namespace_(context.flags.pod_namespace);
  request.mutable_filter()->set_tenant(context.flags.tenant);
  TopView view{.rail = context.flags.rail};
  Feed feed(context, request);
  std::optional<FullScreen> screen;
  v1::ListCountersResponse shown;
  for (;;) {
    pollfd fds[] = {{.fd = feed.fd(), .events = POLLIN, .revents = 0},
                    {.fd = terminal ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0}};
    if (::poll(fds, 2, -1) < 0 && errno != EINTR) return FailErrno(errno, "wait for a key");
    if (fds[1].revents != 0) {
      char key = 'q';  // also when the terminal has gone
      if (::read(STDIN_FILENO, &key, 1) != 1) key = 'q';
      if (!Press(key, RailsOf(shown), view)) return kDone;
    }
    if (fds[0].revents != 0) {
      if (auto latest = feed.Take()) shown = std::move(*latest);
      if (const auto ended = feed.ended()) {
        screen.reset();
        return context.client.Ended(*ended);
      }
    }
    if (!screen && !IsWorthAScreen(shown)) continue;
    if (!terminal) {  // for a pipe: one screen
      TopSize size{.width = kWidth, .height = static_cast<size_t>(shown.ports_size()) + 2};
      for (const std::string& line : Draw(shown, view, size)) context.out << line << '\n';
      return kDone;
    }
    if (!screen) screen.emplace(context.out);
    Show(context.out, Draw(shown, view, SizeOf(context.flags)));
    if (!context.out) return kFailed;
  }
}

}  // namespace rail::railctl
