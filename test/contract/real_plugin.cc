#include "test/contract/real_plugin.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace rail::testing {
namespace {

int MemoryFile(const std::string& text) {
  const int fd = ::memfd_create("railcni-test", MFD_CLOEXEC);
  if (fd < 0 || ::write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) std::abort();
  ::lseek(fd, 0, SEEK_SET);
  return fd;
}

std::string TakeFile(int fd) {
  std::string text;
  char buffer[65536];
  ::lseek(fd, 0, SEEK_SET);
  for (ssize_t n = 0; (n = ::read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(n));
  ::close(fd);
  return text;
}

// A node that nobody has set up. A fixed path would show a run what an earlier one, or another version, has left there.
class EmptyRoot {
 public:
  EmptyRoot() {
    if (::mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~EmptyRoot() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  EmptyRoot(const EmptyRoot&) = delete;
  EmptyRoot& operator=(const EmptyRoot&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_ = std::filesystem::temp_directory_path() / "railcni-root-XXXXXX";
};

}  // namespace

const std::vector<std::string>& AllPlugins() {
  static const std::vector<std::string> all = {"ovs-provider", "tenant-isolation", "frr-provider"};
  return all;
}

Ran RunBinary(const std::string& plugin, const Variables& variables, const std::string& in) {
  const int input = MemoryFile(in);
  Ran ran = RunBinaryOn(plugin, variables, input);
  ::close(input);
  return ran;
}

Ran RunBinaryOn(const std::string& plugin, const Variables& variables, int input) {
  if (!variables.contains("RAILCNI_ROOT")) {
    const EmptyRoot root;
    Variables with_root = variables;
    with_root["RAILCNI_ROOT"] = root.path();
    return RunBinaryOn(plugin, with_root, input);
  }
  const std::string file = std::string(RAIL_BINARIES) + "/" + plugin;
  std::vector<std::string> texts;
  for (const auto& [name, value] : variables) texts.push_back(name + "=" + value);
  std::vector<char*> environment;
  for (std::string& text : texts) environment.push_back(text.data());
  environment.push_back(nullptr);
  char* const arguments[] = {const_cast<char*>(file.c_str()), nullptr};
  const int out = MemoryFile("");
  const int err = MemoryFile("");

  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(input, STDIN_FILENO);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(err, STDERR_FILENO);
    ::execve(file.c_str(), arguments, environment.data());
    ::_exit(127);
  }
  if (pid < 0) std::abort();
  int status = 0;
  rusage usage{};
  ::wait4(pid, &status, 0, &usage);
  Ran ran;
  ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ran.out = TakeFile(out);
  ran.err = TakeFile(err);
  ran.peak_kib = usage.ru_maxrss;
  if (ran.status == 127 && ran.out.empty() && ran.err.empty()) {
    std::fprintf(stderr, "%s cannot be started: is it built?\n", file.c_str());
    std::abort();
  }
  return ran;
}

}  // namespace rail::testing
