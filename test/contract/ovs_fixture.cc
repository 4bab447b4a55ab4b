#include "test/contract/ovs_fixture.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/socket.h"

namespace rail::ovs::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A child that dies with this process; its output goes to `output`.
pid_t Spawn(const std::vector<std::string>& command, const std::string& run_dir, int output) {
  std::vector<char*> argv;
  for (const auto& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::setenv("OVS_RUNDIR", run_dir.c_str(), 1);
  ::execvp(argv[0], argv.data());
  ::_exit(127);
}

void End(pid_t& pid) {
  if (pid <= 0) return;
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  pid = -1;
}

Status WaitForSocket(const std::string& path, pid_t pid, const std::string& log) {
  const Deadline deadline = After(seconds(20));
  while (!UnixStream::Connect(path, deadline)) {
    if (::waitpid(pid, nullptr, WNOHANG) == pid)
      return Fail(Code::kInternal, "it ended before it made " + path + "; see " + log);
    if (Clock::now() > deadline) return Fail(Code::kTransient, path + " did not appear; see " + log);
    std::this_thread::sleep_for(milliseconds(5));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<PrivateOvs>> PrivateOvs::Start() {
  // Taps are named after bridges, and every instance of the userspace datapath has one called ovs-netdev.
  if (::unshare(CLONE_NEWNET) != 0) return FailErrno(errno, "make a network namespace (root is needed)");
  std::string dir = (std::filesystem::temp_directory_path() / "rail-ovs-XXXXXX").string();
  if (::mkdtemp(dir.data()) == nullptr) return FailErrno(errno, "make " + dir);
  std::unique_ptr<PrivateOvs> ovs(new PrivateOvs(dir));

  RAIL_TRY(ovs->Run({"ip", "link", "set", "lo", "up"}));
  RAIL_TRY(ovs->Run({"ovsdb-tool", "create", dir + "/conf.db", "/usr/share/openvswitch/vswitch.ovsschema"}));
  const std::string log = dir + "/ovsdb-server.log";
  const Fd output(::open(log.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  ovs->ovsdb_ = Spawn({"ovsdb-server", dir + "/conf.db", "--remote=punix:" + ovs->db(),
                       "--unixctl=" + dir + "/ovsdb.ctl", "-vsyslog:off"},
                      dir, output.get());
  RAIL_TRY_AS(WaitForSocket(ovs->db(), ovs->ovsdb_, log), "start ovsdb-server");
  RAIL_TRY(ovs->Run({"ovs-vsctl", "--db=unix:" + ovs->db(), "--no-wait", "init"}));
  RAIL_TRY(ovs->StartVswitchd());
  return ovs;
}

PrivateOvs::~PrivateOvs() {
  End(vswitchd_);
  End(ovsdb_);
  std::error_code ignored;  // nothing can be done about a folder that does not go
  std::filesystem::remove_all(dir_, ignored);
}

Status PrivateOvs::StartVswitchd() {
  const std::string log = dir_ + "/ovs-vswitchd.log";
  const Fd output(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  vswitchd_ = Spawn({"ovs-vswitchd", "unix:" + db(), "--pidfile=" + dir_ + "/ovs-vswitchd.pid",
                     "--disable-system", "-vsyslog:off"},
                    dir_, output.get());
  return WaitForSocket(dir_ + "/ovs-vswitchd." + std::to_string(vswitchd_) + ".ctl", vswitchd_, log);
}

void PrivateOvs::KillVswitchd() {
  End(vswitchd_);
}

Status PrivateOvs::AddVeth(const std::string& name, const std::string& peer) {
  RAIL_TRY(Run({"ip", "link", "add", name, "type", "veth", "peer", "name", peer}));
  RAIL_TRY(Run({"ip", "link", "set", name, "up"}));
  RAIL_TRY(Run({"ip", "link", "set", peer, "up"}));
  return {};
}

Result<std::string> PrivateOvs::Run(const std::vector<std::string>& command) const {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return FailErrno(errno, "make a pipe");
  const Fd in(pipe[0]);
  Fd out(pipe[1]);
  const pid_t pid = Spawn(command, dir_, out.get());
  out.Reset();
  std::string text;
  std::array<char, 4096> buffer;
  for (ssize_t n = 0; (n = ::read(in.get(), buffer.data(), buffer.size())) != 0;) {
    if (n > 0) text.append(buffer.data(), static_cast<size_t>(n));
    if (n < 0 && errno != EINTR) break;
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
  std::string line;
  for (const auto& word : command) line += word + " ";
  return Fail(Code::kInternal, line + "failed: " + text);
}

}  // namespace rail::ovs::testing
