#include "cmd/raild/modes.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>

#include "cmd/raild/api/answers.h"
#include "cmd/raild/api/hardware.h"
#include "cmd/raild/api/service.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/socket.h"
#include "lib/config/raild_service.h"
#include "lib/engine/repair/node_status.h"
#include "lib/event/wake.h"
#include "lib/http/server.h"
#include "lib/inspect/inspector.h"
#include "lib/printing/findings.h"

namespace rail::raild {
namespace {

using inspect::Obstacle;

bool Runs(const config::Paths& paths) {
  return event::WakeSocket::IsServed(paths.wake_socket) ||
         UnixStream::Connect(paths.socket, After(std::chrono::seconds(1))).has_value();
}

class StartSteps {
 public:
  explicit StartSteps(const std::string& start) : then_start_(" && " + start + "`") {}

  std::vector<Obstacle> Take() { return std::move(found_); }

  // raild makes a folder that is missing, and those above it.
  void Folder(const std::filesystem::path& folder) {
    struct stat info{};
    if (::stat(folder.c_str(), &info) != 0) {
      if (errno == ENOENT && folder.has_relative_path()) return Folder(folder.parent_path());
      return Add(folder, ErrnoError(errno, "look at " + folder.string()).message, "mend what is named there");
    }
    if (!S_ISDIR(info.st_mode)) return Add(folder, folder.string() + " is no folder", MoveAway(folder));
    if (::access(folder.c_str(), W_OK) != 0) {
      Add(folder, ErrnoError(errno, "write to " + folder.string()).message,
          "raild keeps what it must not forget there: mount its file system for writing, as root");
    }
  }

  void Socket(const std::string& path) {
    struct stat info{};
    if (::lstat(path.c_str(), &info) != 0 || S_ISSOCK(info.st_mode))
      return;  // a dead raild's socket is replaced
    Add(path, path + " is there and is no socket", MoveAway(path));
  }

  // Listens for a moment, as raild would for good.
  void Port(const std::string& key, const std::string& address) {
    if (address.empty()) return;
    const auto loop = event::Loop::Open();
    if (!loop) return;
    const auto server = http::Server::Listen(address, **loop, [](std::string_view) { return http::Page{}; });
    if (server) return;
    const std::string port = address.substr(address.rfind(':'));
    Add(key, key + " of node.json: " + server.error().message,
        "`ss -ltnp 'sport = " + port + "'` says who has it");
  }

  void Tls(const config::Api& api) {
    if (const Status files = CheckTlsFiles(api); !files)
      Add("api", files.error().message,
          "mend what is named there; `raild --check-config` reads the files, too");
  }

 private:
  std::string MoveAway(const std::string& path) const {
    return "`mv " + path + " " + path + ".away" + then_start_;
  }

  void Add(const std::string& subject, std::string what, std::string fix) {
    found_.push_back({subject, std::move(what), std::move(fix)});
  }

  const std::string then_start_;
  std::vector<Obstacle> found_;
};

std::vector<Obstacle> TryStart(const config::NodeConfig* config, const config::Paths& paths,
                               const std::string& start) {
  StartSteps steps(start);
  if (config != nullptr) steps.Tls(config->api);
  steps.Folder(std::filesystem::path(paths.state_file).parent_path());
  steps.Folder(std::filesystem::path(paths.socket).parent_path());
  steps.Socket(paths.wake_socket);
  steps.Socket(paths.socket);
  if (config != nullptr) {
    steps.Port("metrics.listen", config->metrics.listen);
    steps.Port("api.listen", config->api.listen);
  }
  return steps.Take();
}

std::string HostName() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

}  // namespace

int DoctorWithoutDaemon(engine::Deps deps, const config::Paths& paths, std::ostream& out) {
  if (::geteuid() != 0) {
    log::Error("raild --doctor looks at what only root may see: run it as root");
    return 1;
  }
  deps.open_store = deps.read_store;  // opening it for writing would make it, or bring it to today's format
  const auto file = deps.load_config();
  const config::NodeConfig config = file.value_or(config::NodeConfig());
  const config::RaildService service = config::FindRaildService();
  inspect::StartFacts start{.runs = Runs(paths), .log = service.log, .start = service.start, .obstacles = {}};
  if (!start.runs) start.obstacles = TryStart(file ? &*file : nullptr, paths, start.start);

  engine::ViewPublisher views;
  if (const auto store = deps.open_store()) {
    engine::NodeStatus status(config, {HostName(), RAILCNI_VERSION, 0}, views);
    engine::RecordReader record(**store);
    status.Publish(record);
  }
  const inspect::Inspector inspector(config, paths, deps, views, UnixMs, inspect::kAnswerTime,
                                     RealHardware(paths));
  const v1::DoctorResponse found = ToMessage(inspector.DoctorWithoutRaild(std::move(start)));
  printing::PrintFindings(found, printing::Unfold::kCauses, out);
  out << "asked without raild, which alone knows BGP sessions, rules and remotes" << std::endl;
  return printing::FindsWrong(found) ? 1 : 0;
}

}  // namespace rail::raild
