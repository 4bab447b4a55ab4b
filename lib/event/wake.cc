#include "lib/event/wake.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "lib/base/folder.h"
#include "lib/base/parse.h"

namespace rail::event {
namespace {

constexpr size_t kMostBytes = 2048;
constexpr std::string_view kFailure = "!pod ";
// The default length of a socket's queue, in datagrams (net.unix.max_dgram_qlen). If so many arrive at once, a wake may have found
// the queue full.
constexpr size_t kQueue = 10;

Result<sockaddr_un> AddressOf(const std::string& path, const std::string& doing) {
  sockaddr_un address{};
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return Fail(Code::kInvalid,
                doing + ": a socket's path has 1 to 107 bytes, this one has " + std::to_string(path.size()));
  }
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

Fd NewSocket() {
  return Fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

const sockaddr* Generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

// Removes a socket that nobody listens on any more.
Status RemoveStale(const std::string& path, const sockaddr_un& address, const std::string& doing) {
  struct stat file{};
  if (::lstat(path.c_str(), &file) != 0) return {};
  if (!S_ISSOCK(file.st_mode)) return Fail(Code::kExists, doing + ": something that is no socket is there");
  const Fd probe = NewSocket();
  if (!probe) return FailErrno(errno, doing);
  if (::connect(probe.get(), Generic(address), sizeof address) == 0) {
    return Fail(Code::kExists, doing + ": another raild listens on it");
  }
  if (errno != ECONNREFUSED && errno != ENOENT) return FailErrno(errno, doing);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT)
    return FailErrno(errno, doing + ": remove the old socket");
  return {};
}

}  // namespace

Result<WakeSocket> WakeSocket::Bind(const std::string& path) {
  const std::string doing = "listen for wakeups on " + path;
  RAIL_ASSIGN(const sockaddr_un address, AddressOf(path, doing));
  RAIL_TRY_AS(MakeFolder(std::filesystem::path(path).parent_path().string(), 0750), doing);
  RAIL_TRY(RemoveStale(path, address, doing));

  Fd fd = NewSocket();
  if (!fd) return FailErrno(errno, doing);
  // bind gives the file the mode that the socket has (less the umask). Set it before, so that the file is never open to more.
  if (::fchmod(fd.get(), 0660) != 0 || ::bind(fd.get(), Generic(address), sizeof address) != 0) {
    return FailErrno(errno, doing);
  }
  WakeSocket socket(std::move(fd), path);
  if (::chmod(path.c_str(), 0660) != 0) return FailErrno(errno, doing);
  return socket;
}

bool WakeSocket::IsServed(const std::string& path) {
  const auto address = AddressOf(path, "");
  const Fd probe = NewSocket();
  return address && probe && ::connect(probe.get(), Generic(*address), sizeof *address) == 0;
}

WakeSocket::~WakeSocket() {
  if (fd_) ::unlink(path_.c_str());
}

Wakeups WakeSocket::Drain() {
  Wakeups wakeups;
  std::array<char, kMostBytes> text;
  size_t taken = 0;
  for (;;) {
    const ssize_t n = ::recv(fd_.get(), text.data(), text.size(), MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    ++taken;
    if (n == 0) {
      wakeups.record_changed = true;
    } else if (auto ran = ParsePluginRun({text.data(), static_cast<size_t>(n)})) {
      wakeups.runs.push_back(std::move(*ran));
    } else if (auto failure = ParsePodFailure({text.data(), static_cast<size_t>(n)})) {
      wakeups.failures.push_back(std::move(*failure));
    }
  }
  if (taken >= kQueue) wakeups.record_changed = true;
  return wakeups;
}

std::string ToText(const PluginRun& ran) {
  std::string text = ran.verb + " " + ran.plugin + " " + std::to_string(ran.took.count()) +
                     (ran.failed ? " failed" : " done");
  for (size_t i = 0; i < ran.parts.size(); ++i)
    text += " " + std::string(kPartNames[i]) + "=" + std::to_string(ran.parts[i].count());
  return text;
}

namespace {

// 32 bits hold more than an hour; no plugin runs longer.
std::optional<std::chrono::microseconds> ParseMicroseconds(std::string_view text) {
  const auto number = Number<uint32_t>(text);
  return number ? std::optional(std::chrono::microseconds(*number)) : std::nullopt;
}

}  // namespace

std::optional<PluginRun> ParsePluginRun(std::string_view text) {
  const auto word = [&] {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view next = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return next;
  };
  const std::string_view verb = word(), plugin = word(), took = word(), how = word();
  const bool named = !verb.empty() && !plugin.empty() &&
                     std::ranges::all_of(verb, [](char c) { return c >= 'A' && c <= 'Z'; }) &&
                     std::ranges::all_of(plugin, [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; });
  const auto whole = ParseMicroseconds(took);
  if (!named || !whole || (how != "done" && how != "failed")) return std::nullopt;
  PluginRun ran{std::string(plugin), std::string(verb), *whole, how == "failed", {}};
  for (size_t i = 0; i < ran.parts.size(); ++i) {
    const std::string_view part = word();
    if (!part.starts_with(kPartNames[i]) || part.substr(kPartNames[i].size(), 1) != "=") return std::nullopt;
    const auto spent = ParseMicroseconds(part.substr(kPartNames[i].size() + 1));
    if (!spent) return std::nullopt;
    ran.parts[i] = *spent;
  }
  if (!text.empty()) return std::nullopt;
  return ran;
}

namespace {

// A name of Kubernetes has 253 bytes at most.
bool IsWord(std::string_view text) {
  return !text.empty() && text.size() <= 253 &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace

std::string ToText(const PodFailure& failure) {
  std::string text(kFailure);
  for (const std::string* word :
       {&failure.plugin, &failure.pod_namespace, &failure.pod_name, &failure.pod_uid}) {
    if (!IsWord(*word)) return "";
    text += *word + " ";
  }
  return text + failure.why.substr(0, PodFailure::kMostWhy);
}

std::optional<PodFailure> ParsePodFailure(std::string_view text) {
  if (!text.starts_with(kFailure)) return std::nullopt;
  text.remove_prefix(kFailure.size());
  PodFailure failure;
  for (std::string* word : {&failure.plugin, &failure.pod_namespace, &failure.pod_name, &failure.pod_uid}) {
    const size_t end = text.find(' ');
    if (end == std::string_view::npos || !IsWord(text.substr(0, end))) return std::nullopt;
    *word = text.substr(0, end);
    text.remove_prefix(end + 1);
  }
  failure.why = text;
  return failure;
}

namespace {

Status Send(const std::string& path, std::string_view text, const std::string& doing) {
  RAIL_ASSIGN(const sockaddr_un address, AddressOf(path, doing));
  const Fd fd = NewSocket();
  if (!fd) return FailErrno(errno, doing);
  if (::sendto(fd.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL, Generic(address),
               sizeof address) >= 0)
    return {};
  switch (errno) {
    case ENOENT:
    case ECONNREFUSED:
    case EAGAIN:
    case ENOBUFS: return {};
    default: return FailErrno(errno, doing);
  }
}

}  // namespace

Status Wake(const std::string& path) {
  return Send(path, {}, "wake raild on " + path);
}

Status ReportRun(const std::string& path, const PluginRun& ran) {
  return Send(path, ToText(ran), "tell raild on " + path);
}

// An empty datagram would wake raild.
Status ReportFailure(const std::string& path, const PodFailure& failure) {
  const std::string text = ToText(failure);
  if (text.empty()) return {};
  return Send(path, text, "tell raild on " + path);
}

}  // namespace rail::event
