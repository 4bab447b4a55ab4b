#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <nlohmann/json.hpp>
#include <optional>

#include "lib/base/fd.h"
#include "lib/base/strict_json.h"
#include "lib/base/timing.h"
#include "lib/cni/ipam.h"
#include "lib/cni/version.h"

namespace rail::cni {
namespace {

constexpr size_t kMaxOutput = 1 << 20;

// A child in a process group of its own. It never outlives its owner: the destructor kills the group and
// reaps it.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid), handle_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ < 0) return;
    ::kill(-pid_, SIGKILL);
    Wait();
  }

  int handle() const { return handle_.get(); }  // readable when the child has ended
  // The wait status; returns when the child has ended.
  int Wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }

 private:
  pid_t pid_;
  Fd handle_;
};

Result<std::string> FindPlugin(const std::string& type, const std::vector<std::string>& path) {
  if (type.empty() || type == "." || type == ".." || type.find('/') != std::string::npos) {
    return Fail(Code::kInvalid, "invalid network config: " + Quote(type) + " is no name of a plugin");
  }
  for (const std::string& folder : path) {
    std::string file = folder + "/" + type;
    struct stat info{};
    if (::stat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(file.c_str(), X_OK) == 0)
      return file;
  }
  return Fail(Code::kNotFound,
              fmt::format("failed to find plugin {} in path [{}]: install it there, as an executable file",
                          Quote(type), fmt::join(path, " ")));
}

// The delegate inherits only one of our CNI_ variables, CNI_NETNS_OVERRIDE. No request contains it, and what it allows us, it
// allows the delegate.
std::vector<std::string> Environment(const std::map<std::string, std::string>& cni) {
  std::vector<std::string> all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    if (!variable.starts_with("CNI_") || variable.starts_with("CNI_NETNS_OVERRIDE="))
      all.emplace_back(variable);
  }
  for (const auto& [name, value] : cni) all.push_back(name + "=" + value);
  return all;
}

// Puts the input into a file in memory. It is complete before the child starts, so a child that does not read
// cannot block us.
Result<Fd> InputFile(const std::string& text) {
  Fd file(::memfd_create("cni-config", MFD_CLOEXEC));
  if (!file) return FailErrno(errno, "make the plugin's input");
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(file.get(), text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return FailErrno(n < 0 ? errno : EIO, "write the plugin's input");
    done += static_cast<size_t>(n);
  }
  if (::lseek(file.get(), 0, SEEK_SET) < 0) return FailErrno(errno, "rewind the plugin's input");
  return file;
}

Result<pid_t> Spawn(const std::string& file, std::vector<std::string> environment, int in, int out) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  sigset_t none;
  sigset_t all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  std::string name = file;
  char* const arguments[] = {name.data(), nullptr};
  std::vector<char*> variables;
  variables.reserve(environment.size() + 1);
  for (std::string& entry : environment) variables.push_back(entry.data());
  variables.push_back(nullptr);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, file.c_str(), &actions, &attributes, arguments, variables.data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error == ETXTBSY) return Fail(Code::kTransient, file + " is being installed just now: try again");
  if (error != 0) return FailErrno(error, "run " + file);
  return pid;
}

// Appends what can be read now to `output`. False: nothing more will come.
Result<bool> Drain(int fd, std::string& output) {
  char buffer[16384];
  for (;;) {
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n == 0) return false;
    if (n < 0 && errno == EAGAIN) return true;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FailErrno(errno, "read the plugin's answer");
    output.append(buffer, static_cast<size_t>(n));
    if (output.size() > kMaxOutput) {
      return Fail(Code::kInternal,
                  "it wrote more than " + std::to_string(kMaxOutput) + " bytes to stdout, and was killed");
    }
  }
}

// Reads until the child has ended. Does not wait for a grandchild that keeps stdout open.
Status ReadUntilEnd(const Child& child, int fd, std::string& output, Deadline deadline) {
  pollfd events[] = {{.fd = child.handle(), .events = POLLIN, .revents = 0},
                     {.fd = fd, .events = POLLIN, .revents = 0}};
  for (;;) {
    const int ready = ::poll(events, 2, PollTimeout(deadline));
    if (ready < 0 && errno != EINTR) return FailErrno(errno, "wait for the plugin");
    if (ready > 0) {
      RAIL_ASSIGN(const bool more, Drain(fd, output));
      if ((events[0].revents & POLLIN) != 0) return {};
      if (!more) events[1].fd = -1;
    }
    if (Clock::now() >= deadline)
      return Fail(Code::kTransient, "it did not answer before the deadline, and was killed");
  }
}

std::string Clip(const std::string& text) {
  return text.size() <= 256 ? text : text.substr(0, 256) + "...";
}

// The error of a plugin that failed.
CniError ErrorOf(int status, const std::string& output) {
  if (WIFSIGNALED(status)) return {kFault, fmt::format("it was killed by signal {}", WTERMSIG(status))};
  if (const auto document = ParseJson(output); document && document->is_object()) {
    const auto text = [&](const char* key) {
      const auto found = document->find(key);
      return found != document->end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    const auto code = document->find("code");
    const uint64_t number = code != document->end() && code->is_number_unsigned() ? code->get<uint64_t>() : 0;
    const bool known = number != 0 && number != 3 && number <= UINT32_MAX;
    if (!text("msg").empty())
      return {known ? static_cast<unsigned>(number) : kFault, text("msg"), text("details")};
  }
  return {kFault, fmt::format("it failed with status {} and without an error document", WEXITSTATUS(status)),
          Clip(output)};
}

Outcome<std::string> Execute(const std::string& type, const std::vector<std::string>& path,
                             const std::map<std::string, std::string>& cni_environment,
                             const std::string& config, Deadline deadline) {
  RAIL_ASSIGN(const std::string file, FindPlugin(type, path));
  // One that is killed as soon as it runs may leave a lease half written.
  if (Clock::now() >= deadline)
    return Fail(Code::kTransient, "it was not run: the time of the call had passed before");
  RAIL_ASSIGN(const Fd in, InputFile(config));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return FailErrno(errno, "make a pipe for the answer");
  const Fd out(ends[0]);
  Fd child_out(ends[1]);
  if (::fcntl(out.get(), F_SETFL, O_NONBLOCK) != 0) return FailErrno(errno, "make the pipe non-blocking");
  RAIL_ASSIGN(const pid_t pid, Spawn(file, Environment(cni_environment), in.get(), child_out.get()));
  Child child(pid);
  if (child.handle() < 0) return FailErrno(errno, "watch the plugin's process");
  child_out.Reset();

  std::string output;
  RAIL_TRY(ReadUntilEnd(child, out.get(), output, deadline));
  const int status = child.Wait();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return tl::make_unexpected(ErrorOf(status, output));
  return output;
}

}  // namespace

Outcome<std::string> ExecPlugin(const std::string& type, const std::vector<std::string>& path,
                                const std::map<std::string, std::string>& cni_environment,
                                const std::string& config, Deadline deadline) {
  const Timed timed(Part::kIpam);
  auto output = Execute(type, path, cni_environment, config, deadline);
  if (!output) output.error().msg = "ipam " + type + ": " + output.error().msg;
  return output;
}

}  // namespace rail::cni
