#include "cmd/raild/modes.h"

#include <fmt/core.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "cmd/raild/workers/node_labels.h"
#include "lib/base/whole_file.h"
#include "lib/engine/repair/removal.h"
#include "lib/event/wake.h"

namespace rail::raild {
namespace {

namespace fs = std::filesystem;

void Say(const std::string& line) {
  std::puts(("raild --remove: " + line).c_str());
  std::fflush(stdout);
}

int Refuse(const std::string& why) {
  Say("refused, nothing was changed: " + why);
  return kRefused;
}

// Where node.json is kept from the moment at which no plugin shall find it, so that a removal can go on later.
std::string KeptConfig(const config::Paths& paths) {
  return fs::path(paths.origin_file).parent_path() / "node.json";
}

bool Exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

std::string ConfigFile(const config::Paths& paths) {
  return Exists(paths.config_file) ? paths.config_file : KeptConfig(paths);
}

Status Copy(const std::string& from, const std::string& to, mode_t mode) {
  std::ifstream in(from, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  if (!in) return Fail(Code::kInternal, "read " + from);
  return WriteWhole(to, text.str(), mode);
}

// A plugin that starts from now on finds no node.json and changes nothing.
Status HideConfig(const config::Paths& paths) {
  if (!Exists(paths.config_file)) return {};
  RAIL_TRY(Copy(paths.config_file, KeptConfig(paths), 0600));
  std::error_code error;
  if (!fs::remove(paths.config_file, error) && error)
    return FailErrno(error.value(), "remove " + paths.config_file);
  return {};
}

// Whether a folder of which RailCNI is not the only owner can go.
bool IsOurFile(const fs::path& file) {
  const std::string name = file.filename().string();
  return name == "node.json" || name == "node.json.new" || name.starts_with(".node.json.railcni-");
}

// The folder stays while it is a mount, as in a container: it is empty then.
void RemoveEmpty(const fs::path& folder, std::vector<std::string>& stays) {
  std::error_code error;
  if (!fs::exists(folder, error)) return;
  if (fs::remove(folder, error)) return;
  stays.push_back(folder.string() + ": " + error.message());
}

// The record goes last.
std::vector<std::string> RemoveFiles(const config::Paths& paths) {
  std::vector<std::string> stays;
  std::error_code error;
  const fs::path etc = fs::path(paths.config_file).parent_path();
  for (const fs::directory_entry& entry : fs::directory_iterator(etc, error)) {
    if (IsOurFile(entry.path())) fs::remove(entry.path(), error);
  }
  const fs::path state = fs::path(paths.state_file).parent_path();
  for (const fs::path& folder : {fs::path(paths.socket).parent_path(), state}) {
    std::vector<fs::path> last;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
      if (entry.path() == paths.origin_file || entry.path() == KeptConfig(paths)) {
        last.push_back(entry.path());
      } else {
        fs::remove_all(entry.path(), error);
      }
    }
    for (const fs::path& file : last) fs::remove(file, error);
    RemoveEmpty(folder, stays);
  }
  RemoveEmpty(etc, stays);
  return stays;
}

int Tell(const engine::Removed& removed) {
  for (const std::string& line : removed.done) Say("removed or restored: " + line);
  for (const std::string& line : removed.told) Say("stays: " + line);
  for (const std::string& line : removed.left) Say("LEFT: " + line);
  for (const std::string& pod : removed.waiting)
    Say("LEFT: pod " + pod +
        " has lost its network and still has its sandbox: delete it; the plugins must stay for its DEL");
  return removed.left.empty() && removed.waiting.empty() ? kRemoved : kSomeIsLeft;
}

// Where this is no pod with the rights for it, a person has to.
void RemoveNodesLabels(const config::NodeConfig& config, const config::Paths& paths) {
  const kubernetes::OurLabels ours = kubernetes::ReadOurLabels(paths.labels_file);
  if (ours.empty()) return;
  const auto node = NodeName();
  const Status removed = [&]() -> Status {
    if (!node) return tl::make_unexpected(node.error());
    RAIL_ASSIGN(const kubernetes::Endpoint endpoint,
                kubernetes::FindEndpoint(config.kubernetes, kubernetes::Environment::OfProcess()));
    kubernetes::Client client(endpoint, std::string("raild/") + RAILCNI_VERSION);
    return RemoveLabels(client, *node, paths.labels_file);
  }();
  std::string words;
  for (const auto& [key, values] : ours) words += " " + key + "-";
  if (removed) return Say("removed or restored: labels of the node:" + words);
  Say("stays: labels of the node (" + removed.error().message + "): `kubectl label node " +
      node.value_or("NODE") + words + "`");
}

}  // namespace

int Remove(engine::Deps deps, const config::Paths& paths, bool force) {
  const bool anything = Exists(ConfigFile(paths)) || Exists(paths.state_file) || Exists(paths.origin_file);
  if (!anything) {
    for (const std::string& folder : RemoveFiles(paths)) Say("stays: " + folder);
    Say("nothing of RailCNI is on this node");
    return kRemoved;
  }
  auto config = config::Load(ConfigFile(paths));
  if (!config)
    return Refuse(config.error().message +
                  ": it says where Open vSwitch and bgpd are; put it back, then try again");
  // raild has it while it runs; as long as this has it, no raild can start.
  const auto alone = event::WakeSocket::Bind(paths.wake_socket);
  if (!alone)
    return Refuse(
        alone.error().message +
        ": does raild run? Stop it (`systemctl stop raild`, or delete its DaemonSet), then try again");
  const auto store = deps.open_store();
  if (!store) return Refuse(store.error().message);
  deps.load_config = [file = ConfigFile(paths)] { return config::Load(file); };
  engine::Removal removal(*config, deps, **store, paths.origin_file);

  const auto refuse_live = [&](const std::vector<std::string>& live) {
    for (const std::string& pod : live) Say("lives: " + pod);
    return Refuse(fmt::format(
        "{} attachments live: drain the node, or say --force, and they lose their network", live.size()));
  };
  auto live = removal.Live();
  if (!live) return Refuse(live.error().message);
  if (!live->empty() && !force) return refuse_live(*live);
  const bool was_here = Exists(paths.config_file);
  if (const Status hidden = HideConfig(paths); !hidden) return Refuse(hidden.error().message);
  // An ADD that had read node.json before may have recorded its pod since.
  live = removal.Live();
  if (live && !live->empty() && !force) {
    const Status shown = was_here ? Copy(KeptConfig(paths), paths.config_file, 0644) : Status();
    if (!shown) return Refuse(shown.error().message);
    return refuse_live(*live);
  }
  const int status = Tell(removal.Run());
  const auto now = (*store)->List();
  if (status != kRemoved || !now || !now->empty()) {
    Say("not all is removed: what is left is in " + fs::path(paths.origin_file).parent_path().string() +
        "; say `raild --remove` again when its cause is gone");
    return kSomeIsLeft;
  }
  RemoveNodesLabels(*config, paths);
  for (const std::string& folder : RemoveFiles(paths)) Say("stays: " + folder);
  Say("nothing of RailCNI is left on this node");
  return kRemoved;
}

}  // namespace rail::raild
