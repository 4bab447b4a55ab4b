#include "cmd/railctl/accept/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "lib/base/address.h"
#include "lib/base/parse.h"
#include "lib/base/text.h"
#include "lib/base/utf8.h"

namespace rail::accept {
namespace {

constexpr std::array<std::string_view, 6> kPrograms = {"ib_write_bw", "ib_write_lat", "ib_send_bw",
                                                       "ib_send_lat", "ib_read_bw",   "ib_read_lat"};
constexpr size_t kMostOutput = 64 << 10;         // bytes: the last ones
constexpr uint32_t kMoreSeconds = 30;            // for the two ends to meet and to report
constexpr uint32_t kExchangesPerSecond = 1'000;  // of 1 ms at most
constexpr uint32_t kMostExchanges = 1'000'000;   // perftest keeps a stamp for each

// Empty: PATH does not have it.
std::string FindProgram(std::string_view name) {
  const char* path = std::getenv("PATH");
  for (const std::string_view folder : Split(path != nullptr ? path : "", ":")) {
    std::string file = fmt::format("{}/{}", folder, name);
    if (!folder.empty() && ::access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

double Decimal(std::string_view text) {
  double value = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Status Check(const v1::RunPerftestRequest& request) {
  if (std::ranges::find(kPrograms, request.program()) == kPrograms.end()) {
    return Fail(Code::kInvalid, fmt::format("program is \"{}\": it is to be one of {}", request.program(),
                                            Join(kPrograms, ", ")));
  }
  const std::string& device = request.rdma_device();
  if (device.empty() || device.front() == '-' || device.front() == '.' ||
      device.find('/') != std::string::npos)
    return Fail(Code::kInvalid, "rdma_device is \"" + device + "\": that is no name of a device");
  if (!request.server().empty()) RAIL_TRY_AS(IpAddress::Parse(request.server()), "server");
  RAIL_TRY(InRange("gid_index", request.gid_index(), 0, 65'535));
  RAIL_TRY(InRange("port", request.port(), 1024, 65'535));
  RAIL_TRY(InRange("seconds", request.seconds(), 1, 3600));
  if (request.more_seconds() != 0) RAIL_TRY(InRange("more_seconds", request.more_seconds(), 1, 600));
  if (request.message_bytes() != 0) RAIL_TRY(InRange("message_bytes", request.message_bytes(), 2, 8 << 20));
  if (request.datagrams() && !request.program().starts_with("ib_send_"))
    return Fail(Code::kInvalid, "datagrams: only ib_send_bw and ib_send_lat have them");
  return {};
}

// A child in a process group of its own. It ends with this.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid), handle_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ > 0) (void)Kill();
  }

  int handle() const { return handle_.get(); }  // readable when it has ended
  int Kill() {
    ::kill(-pid_, SIGKILL);
    return Wait();
  }
  // Its status, as a shell says it.
  int Wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_;
  Fd handle_;
};

// Its stdout and stderr are `out`.
Result<pid_t> Spawn(const std::string& file, std::vector<std::string> words, int out) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out, STDERR_FILENO);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, file.c_str(), &actions, &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return FailErrno(error, "run " + file);
  return pid;
}

// Appends what can be read now, and keeps the last of it. False: nothing more will come.
bool Drain(int fd, std::string& output) {
  std::array<char, 16 << 10> buffer;
  for (;;) {
    const ssize_t size = ::read(fd, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return size < 0 && errno == EAGAIN;
    output.append(buffer.data(), static_cast<size_t>(size));
    if (output.size() > kMostOutput) output.erase(0, output.size() - kMostOutput);
  }
}

// Reads until the child has ended. False: its time has passed.
Result<bool> ReadUntilEnd(const Child& child, int out, std::string& output, const Wake& end, Deadline until) {
  std::array<pollfd, 3> events = {{PollIn(end),
                                   {.fd = child.handle(), .events = POLLIN, .revents = 0},
                                   {.fd = out, .events = POLLIN, .revents = 0}}};
  for (;;) {
    RAIL_TRY(WaitFor(events, until));
    if (!Drain(out, output)) events[2].fd = -1;
    if (events[1].revents != 0) return true;
    if (Clock::now() >= until) return false;
  }
}

}  // namespace

std::vector<std::string> ListPrograms() {
  std::vector<std::string> all;
  for (const std::string_view name : kPrograms) {
    if (!FindProgram(name).empty()) all.emplace_back(name);
  }
  return all;
}

std::vector<std::string> PerftestCommand(const v1::RunPerftestRequest& request) {
  std::vector<std::string> words = {request.program(),
                                    "-d",
                                    request.rdma_device(),
                                    "-x",
                                    std::to_string(request.gid_index()),
                                    "-p",
                                    std::to_string(request.port()),
                                    "-F"};  // -F: no word on the CPU's clock
  const auto add = [&](std::initializer_list<std::string> more) { words.insert(words.end(), more); };
  if (request.program().ends_with("_bw")) {
    add({"--report_gbits", "-D", std::to_string(request.seconds())});
  } else {
    add({"-n", std::to_string(std::min(request.seconds() * kExchangesPerSecond, kMostExchanges))});
  }
  if (request.message_bytes() != 0) add({"-s", std::to_string(request.message_bytes())});
  if (request.datagrams()) add({"-c", "UD"});
  if (!request.server().empty()) add({request.server()});
  return words;
}

// The line after its heading. The heading says which of perftest's reports it is.
void ReadReport(std::string_view output, v1::RunPerftestResponse& response) {
  std::string text(output);
  std::ranges::replace(text, '\t', ' ');
  std::string_view heading;
  response.set_met(Has(text, "remote address:"));
  for (const std::string_view line : Split(text, "\n")) {
    const std::vector<std::string_view> words = Words(line);
    if (words.empty()) continue;
    if (words.front() == "#bytes") heading = line;
    if (heading.empty() || !Number<uint64_t>(words.front())) continue;
    if (Has(heading, "BW average[Gb/sec]") && words.size() >= 4) response.set_gbps(Decimal(words[3]));
    if (Has(heading, "t_typical[usec]") && words.size() >= 8) {
      response.set_typical_us(Decimal(words[4]));
      response.set_p99_us(Decimal(words[7]));
    }
    heading = {};
  }
}

Result<v1::RunPerftestResponse> RunPerftest(const v1::RunPerftestRequest& request, const std::string& sysfs,
                                            const Wake& end) {
  RAIL_TRY(Check(request));
  const std::string file = FindProgram(request.program());
  if (file.empty()) {
    return Fail(Code::kNotFound,
                "the pod has no " + request.program() + " in PATH: it is in the package perftest");
  }
  const std::string device = sysfs + "/class/infiniband/" + request.rdma_device();
  if (::access(device.c_str(), F_OK) != 0)
    return Fail(Code::kNotFound, "the pod has no RDMA device " + request.rdma_device());
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return FailErrno(errno, "make a pipe for " + request.program());
  const Fd out(ends[0]);
  Fd child_out(ends[1]);
  (void)::fcntl(out.get(), F_SETFL, O_NONBLOCK);
  const std::vector<std::string> words = PerftestCommand(request);
  RAIL_ASSIGN(const pid_t pid, Spawn(file, words, child_out.get()));
  Child child(pid);
  child_out.Reset();
  if (child.handle() < 0) return FailErrno(errno, "watch " + request.program());

  std::string output;
  const uint32_t more = request.more_seconds() != 0 ? request.more_seconds() : kMoreSeconds;
  const std::chrono::seconds limit(request.seconds() + more);
  RAIL_ASSIGN(const bool ended, ReadUntilEnd(child, out.get(), output, end, After(limit)));
  v1::RunPerftestResponse response;
  response.set_exit_status(ended ? child.Wait() : child.Kill());
  if (!ended) output += fmt::format("\nrailctl has killed it after {} s", limit.count());
  response.set_command(Join(words, " "));
  ReadReport(output, response);
  response.set_output(ValidUtf8(output));
  return response;
}

}  // namespace rail::accept
