#include "lib/frr/zebra.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "lib/base/socket.h"
#include "lib/frr/base_removal.h"
#include "lib/frr/running_config.h"
#include "lib/frr/vty.h"

namespace rail::frr {
namespace {

constexpr char kOwn[] = "no zebra nexthop kernel enable";
constexpr char kShared[] = "zebra nexthop kernel enable";

}  // namespace

bool DaemonRuns(const std::string& run_dir, const std::string& daemon) {
  return UnixStream::Connect(run_dir + "/" + daemon + ".vty", Clock::now()).has_value();
}

std::string DecodeVersion(std::string_view text) {
  constexpr std::string_view kName = "FRRouting ";
  const size_t at = text.find(kName);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + kName.size());
  return std::string(text.substr(0, std::min(text.size(), text.find_first_not_of("0123456789."))));
}

Result<std::string> ZebraVersion(const std::string& run_dir, Deadline deadline) {
  RAIL_ASSIGN(Vty zebra, Vty::Open(run_dir + "/zebra.vty", deadline));
  RAIL_ASSIGN(const std::string text, zebra.Show("show version", deadline));
  return DecodeVersion(text);
}

bool LosesNextHops(const std::string& version) {
  unsigned major = 0, minor = 0;
  const char* const end = version.data() + version.size();
  const auto [dot, error] = std::from_chars(version.data(), end, major);
  if (error != std::errc()) return false;
  if (dot != end) std::from_chars(dot + 1, end, minor);
  return major < 9 || (major == 9 && minor < 1) || (major == 10 && minor >= 2) || major > 10;
}

Result<bool> OwnNextHops(const std::string& run_dir, const std::function<Status()>& before,
                         Deadline deadline) {
  RAIL_ASSIGN(Vty zebra, Vty::Open(run_dir + "/zebra.vty", deadline));
  RAIL_ASSIGN(const std::string version, zebra.Show("show version", deadline));
  if (!LosesNextHops(DecodeVersion(version))) return false;
  RAIL_ASSIGN(const std::string running, zebra.Show("show running-config", deadline));
  if (running.starts_with(kOwn) || running.find(std::string("\n") + kOwn) != std::string::npos) return false;
  RAIL_TRY(before());
  RAIL_TRY(zebra.Configure({{kOwn, OnMissing::kFail}}, deadline));
  return true;
}

Result<std::vector<std::string>> RemoveOursFromZebra(const std::string& run_dir, bool next_hops,
                                                     Deadline deadline) {
  std::vector<std::string> lines;
  if (!DaemonRuns(run_dir, "zebra")) return lines;
  RAIL_ASSIGN(Vty zebra, Vty::Open(run_dir + "/zebra.vty", deadline));
  RAIL_ASSIGN(const std::string text, zebra.Show("show running-config", deadline));
  lines = PlanListRemoval(ParseRunningConfig(text));
  if (next_hops) lines.emplace_back(kShared);
  std::vector<ConfigLine> config;
  for (const std::string& line : lines) config.push_back({line, OnMissing::kAccept});
  RAIL_TRY(zebra.ConfigureAtOnce(config, deadline));
  return lines;
}

}  // namespace rail::frr
