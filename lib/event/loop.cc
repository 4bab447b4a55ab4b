#include "lib/event/loop.h"

#include <sys/stat.h>

#define ASIO_STANDALONE
#include <asio.hpp>
#include <cerrno>
#include <map>
#include <optional>
#include <string>

namespace rail::event {
namespace {

struct Watched {
  Watched(asio::io_context& io, Callback fn) : descriptor(io), readable(std::move(fn)) {}
  ~Watched() { descriptor.release(); }  // its owner closes it

  asio::posix::stream_descriptor descriptor;
  Callback readable;
};

struct Timer {
  Timer(asio::io_context& io, Callback f) : timer(io), fn(std::move(f)) {}

  asio::steady_timer timer;
  std::optional<std::chrono::nanoseconds> period;
  Callback fn;
};

struct SignalWatch {
  SignalWatch(asio::io_context& io, Callback f) : set(io), fn(std::move(f)) {}

  asio::signal_set set;
  Callback fn;
};

}  // namespace

// An entry is shared with its callback while that runs, because the callback may remove the entry.
struct Loop::Parts {
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  std::map<int, std::shared_ptr<Watched>> watched;
  std::map<TimerId, std::shared_ptr<Timer>> timers;
  std::vector<std::unique_ptr<SignalWatch>> signals;
  TimerId last_timer = 0;
};

Result<std::unique_ptr<Loop>> Loop::Open() {
  try {
    return std::unique_ptr<Loop>(new Loop(std::make_unique<Parts>()));
  } catch (const std::system_error& error) {
    return FailErrno(error.code().value(), "make the event loop");
  }
}

Loop::Loop(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Loop::~Loop() = default;

Status Loop::Watch(int fd, Callback readable) {
  const std::string doing = "watch descriptor " + std::to_string(fd);
  if (parts_->watched.contains(fd)) return Fail(Code::kExists, doing + ": it is watched already");
  struct stat file{};
  if (::fstat(fd, &file) != 0) return FailErrno(errno, doing);
  // epoll refuses these, and asio then never calls back.
  if (S_ISREG(file.st_mode) || S_ISDIR(file.st_mode)) {
    return Fail(Code::kInvalid, doing + ": a file on a disk is always readable and cannot be waited for");
  }
  auto entry = std::make_shared<Watched>(parts_->io, std::move(readable));
  asio::error_code error;
  (void)entry->descriptor.assign(fd, error);
  if (error) return FailErrno(error.value(), doing);
  parts_->watched[fd] = std::move(entry);
  AwaitReadable(fd);
  return {};
}

void Loop::AwaitReadable(int fd) {
  const std::shared_ptr<Watched> entry = parts_->watched.at(fd);
  entry->descriptor.async_wait(asio::posix::descriptor_base::wait_read,
                               [this, fd, weak = std::weak_ptr(entry)](const asio::error_code& error) {
                                 // Compare the entries, not the number: `fd` may be another descriptor by now.
                                 const auto current = [&] {
                                   const auto it = parts_->watched.find(fd);
                                   return it == parts_->watched.end() ? nullptr : it->second;
                                 };
                                 const std::shared_ptr<Watched> held = weak.lock();
                                 if (error || held == nullptr || held != current()) return;
                                 held->readable();
                                 if (held == current()) AwaitReadable(fd);
                               });
}

void Loop::Unwatch(int fd) {
  const auto it = parts_->watched.find(fd);
  if (it == parts_->watched.end()) return;
  it->second->descriptor.release();  // at once: the caller may close it next
  parts_->watched.erase(it);
}

TimerId Loop::After(std::chrono::nanoseconds delay, Callback fn) {
  const TimerId id = ++parts_->last_timer;
  auto entry = std::make_shared<Timer>(parts_->io, std::move(fn));
  entry->timer.expires_after(delay);
  parts_->timers[id] = std::move(entry);
  AwaitTimer(id);
  return id;
}

TimerId Loop::Every(std::chrono::nanoseconds period, Callback fn) {
  const TimerId id = After(period, std::move(fn));
  parts_->timers.at(id)->period = period;
  return id;
}

void Loop::AwaitTimer(TimerId id) {
  parts_->timers.at(id)->timer.async_wait([this, id](const asio::error_code& error) {
    const auto it = parts_->timers.find(id);
    if (error || it == parts_->timers.end()) return;
    const std::shared_ptr<Timer> entry = it->second;
    if (!entry->period) parts_->timers.erase(it);
    entry->fn();
    if (!entry->period || !parts_->timers.contains(id)) return;
    entry->timer.expires_after(*entry->period);
    AwaitTimer(id);
  });
}

void Loop::Cancel(TimerId timer) {
  parts_->timers.erase(timer);
}

void Loop::Post(Callback fn) {
  asio::post(parts_->io, std::move(fn));
}

Status Loop::OnSignal(const std::vector<int>& signals, Callback fn) {
  auto entry = std::make_unique<SignalWatch>(parts_->io, std::move(fn));
  for (const int signal : signals) {
    asio::error_code error;
    (void)entry->set.add(signal, error);
    if (error) return FailErrno(error.value(), "handle signal " + std::to_string(signal));
  }
  parts_->signals.push_back(std::move(entry));
  AwaitSignal(parts_->signals.size() - 1);
  return {};
}

void Loop::AwaitSignal(size_t index) {
  parts_->signals[index]->set.async_wait([this, index](const asio::error_code& error, int) {
    if (error) return;
    parts_->signals[index]->fn();
    AwaitSignal(index);
  });
}

void Loop::Run() {
  parts_->io.run();
  parts_->io.restart();
}

// asio takes descriptors between two pieces of work that are posted one by the other, and what has come by a signal's pipe after the next.
void Loop::RunReady() {
  const auto running = std::make_shared<bool>();
  const auto end = [this, weak = std::weak_ptr(running)] {
    if (!weak.expired()) Stop();  // else a callback has stopped it before
  };
  Post([this, end] { Post([this, end] { Post(end); }); });
  Run();
}

void Loop::Stop() {
  parts_->io.stop();
}

}  // namespace rail::event
