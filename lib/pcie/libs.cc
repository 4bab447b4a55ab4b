#include "lib/pcie/libs.h"

#include <arpa/inet.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "lib/base/parse.h"
#include "lib/base/text.h"
#include "lib/base/utf8.h"

namespace rail::libs {
namespace {

// In quotes that no shell looks into.
std::string Quoted(const std::string& value) {
  std::string text = "'";
  for (const char c : value) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string OneLine(const std::string& text) {
  return WithoutControls(ValidUtf8(text), ' ');
}

std::string Missing(const std::vector<std::string>& problems) {
  std::string text;
  for (const std::string& problem : problems) text += "# missing: " + OneLine(problem) + "\n";
  return text;
}

std::string Comment(const Setting& setting) {
  return "# " + setting.name + ": " + (setting.leave ? "leave it alone: " : "") + OneLine(setting.reason) +
         "\n";
}

File ConfFile(const char* name, Library library, const std::vector<Setting>& settings,
              const std::vector<std::string>& problems) {
  File file{name, Missing(problems)};
  for (const Setting& setting : settings) {
    if (setting.library != library) continue;
    file.text += Comment(setting);
    if (!setting.leave) file.text += setting.name + "=" + OneLine(setting.value) + "\n";
  }
  return file;
}

bool IsOwn(const Port& port, const Gid& gid) {
  return gid.type == "RoCE v2" && port.own_gids.contains(gid.gid);
}

}  // namespace

Setting TrafficClass(const Pod& pod, Library library, const char* name, const char* unsaid) {
  Setting tc{.name = name, .value = {}, .reason = {}, .leave = true, .library = library};
  std::vector<uint8_t> values;
  for (const Port& port : pod.ports) {
    if (port.tos && std::ranges::count(values, *port.tos) == 0) values.push_back(*port.tos);
  }
  if (values.empty()) {
    tc.reason = std::string("node.json names no traffic class for RoCE. ") + unsaid;
  } else if (values.size() > 1) {
    tc.reason =
        "node.json gives the pod's rails different traffic classes, and the library has one for all: make "
        "them the same";
  } else {
    tc.leave = false;
    tc.value = std::to_string(values.front());
    tc.reason = fmt::format("the traffic class that node.json names for RoCE (DSCP {})", values.front() >> 2);
  }
  return tc;
}

std::string GidsInWords(const Pod& pod) {
  std::string words;
  for (const Port& port : pod.ports) {
    for (const Gid& gid : port.gids) {
      if (gid.type != "RoCE v2" || gid.gid != "::ffff:" + port.address) continue;
      Append(words, ", ", port.rdma + " " + std::to_string(gid.index));
    }
  }
  return words;
}

std::vector<Setting> Settings(const Pod& pod, Version version) {
  std::vector<Setting> all = NcclSettings(pod, version);
  for (std::vector<Setting> more : {UcxSettings(pod), LibfabricSettings(pod)})
    std::ranges::move(more, std::back_inserter(all));
  return all;
}

std::vector<File> Files(const std::vector<Setting>& settings, const std::vector<std::string>& problems,
                        const std::string& topology) {
  std::vector<File> files = {ConfFile("nccl.conf", Library::kNccl, settings, problems),
                             ConfFile("ucx.conf", Library::kUcx, settings, problems)};
  File& environment = files.emplace_back("libs.env", Missing(problems));
  for (const Setting& setting : settings) {
    environment.text += Comment(setting);
    if (!setting.leave)
      environment.text += "export " + setting.name + "=" + Quoted(OneLine(setting.value)) + "\n";
  }
  if (!topology.empty()) files.push_back({"topology.xml", topology});
  return files;
}

std::string FolderOf(const std::string& all, const std::string& device) {
  std::string name = device;
  std::ranges::replace(name, ':', '-');
  return all + "/" + name;
}

std::string GidLines(const Pod& pod) {
  std::string lines;
  for (const Port& port : pod.ports) {
    for (const Gid& gid : port.gids) {
      if (IsOwn(port, gid)) lines += fmt::format("{} {} {} {}\n", port.rdma, port.port, gid.index, gid.gid);
    }
  }
  return lines;
}

bool LacksGids(const Pod& pod) {
  return std::ranges::any_of(pod.ports, [](const Port& port) {
    std::set<std::string> there;
    for (const Gid& gid : port.gids) {
      if (IsOwn(port, gid)) there.insert(gid.gid);
    }
    return !port.rdma.empty() && there != port.own_gids;
  });
}

std::vector<std::string> MovedGids(const std::string& lines, const Port& now) {
  std::vector<std::string> moved;
  for (const std::string_view line : Split(lines, "\n")) {
    const std::vector<std::string_view> words = Words(line);
    if (words.size() != 4 || !now.own_gids.contains(std::string(words[3]))) continue;
    const auto entry = std::ranges::find_if(
        now.gids, [&](const Gid& gid) { return IsOwn(now, gid) && gid.gid == words[3]; });
    if (entry == now.gids.end() || now.rdma != words[0] || std::to_string(now.port) != words[1]) {
      moved.push_back(fmt::format("GID {} of {} is gone, it had index {}", words[3], words[0], words[2]));
    } else if (std::to_string(entry->index) != words[2]) {
      moved.push_back(fmt::format("GID {} of {} has index {} now, it had {}", words[3], words[0],
                                  entry->index, words[2]));
    }
  }
  return moved;
}

std::string GidText(const std::string& raw) {
  in6_addr gid{};
  if (::inet_pton(AF_INET6, raw.c_str(), &gid) != 1 || IN6_IS_ADDR_UNSPECIFIED(&gid)) return {};
  std::array<char, INET6_ADDRSTRLEN> text{};
  return ::inet_ntop(AF_INET6, &gid, text.data(), text.size());
}

std::vector<std::string> Problems(const Pod& pod) {
  std::vector<std::string> problems;
  for (const Port& port : pod.ports) {
    const std::string where = port.ifname + " on " + port.rail;
    if (port.rdma.empty()) {
      problems.push_back(where +
                         " has no RDMA device in the pod: NCCL sends over TCP there (`railctl doctor` says "
                         "why a device is missing)");
    } else if (std::ranges::none_of(port.gids, [&](const Gid& gid) {
                 return gid.gid == "::ffff:" + port.address || gid.gid == port.address;
               })) {
      problems.push_back(where + ": the GID table of " + port.rdma + " lacks the pod's address " +
                         port.address + ", so no queue pair can use it");
    }
  }
  return problems;
}

}  // namespace rail::libs
