#include "lib/frr/config_lines.h"

#include <algorithm>
#include <sstream>

namespace rail::frr {

bool Has(const std::vector<std::string>& lines, std::string_view line) {
  return std::ranges::find(lines, line) != lines.end();
}

const std::string* Starting(const std::vector<std::string>& lines, std::string_view prefix) {
  const auto it =
      std::ranges::find_if(lines, [&](const std::string& line) { return line.starts_with(prefix); });
  return it == lines.end() ? nullptr : &*it;
}

std::set<std::string> Words(const std::string& line) {
  std::istringstream in(line);
  std::set<std::string> words;
  for (std::string word; in >> word;) words.insert(word);
  return words;
}

std::vector<std::string> MapLines(const RunningConfig& running, const std::string& name,
                                  const RouteMap& wanted) {
  const auto found = running.route_maps.find(name);
  const RouteMap have = found == running.route_maps.end() ? RouteMap() : found->second;
  const auto has = [](const std::vector<std::string>& clauses, const std::string& clause) {
    return std::ranges::any_of(clauses,
                               [&](const std::string& other) { return Words(other) == Words(clause); });
  };
  const std::string map = "route-map " + name + " ";
  std::vector<std::string> removed;
  std::vector<std::string> made;
  std::set<std::string> kept;
  for (const auto& [entry, clauses] : have) {
    const auto want = wanted.find(entry);
    const bool right = want != wanted.end() && std::ranges::all_of(clauses, [&](const std::string& clause) {
                         return has(want->second, clause);
                       });
    if (right) {
      kept.insert(entry);
    } else {
      removed.push_back("no " + map + entry);
    }
  }
  for (const auto& [entry, clauses] : wanted) {
    std::vector<std::string> missing = clauses;
    if (kept.contains(entry))
      std::erase_if(missing, [&](const std::string& clause) { return has(have.at(entry), clause); });
    if (kept.contains(entry) && missing.empty()) continue;
    const bool closed =
        !have.empty() && !kept.contains(entry) && entry.starts_with("permit ") && !clauses.empty();
    made.push_back(map + (closed ? "deny" + entry.substr(entry.find(' ')) : entry));
    made.insert(made.end(), missing.begin(), missing.end());
    if (closed) made.push_back(map + entry);
  }
  std::vector<std::string> lines;
  if (!removed.empty()) lines.push_back(map + "deny 65535");
  lines.insert(lines.end(), removed.begin(), removed.end());
  lines.insert(lines.end(), made.begin(), made.end());
  if (!removed.empty()) lines.push_back("no " + map + "deny 65535");
  return lines;
}

void AddFamily(std::vector<std::string>& lines, bool v6, const std::vector<std::string>& inner) {
  if (inner.empty()) return;
  lines.emplace_back(v6 ? "address-family ipv6 unicast" : "address-family ipv4 unicast");
  lines.insert(lines.end(), inner.begin(), inner.end());
  lines.emplace_back("exit-address-family");
}

void AddNeighbor(std::vector<std::string>& lines, const InstanceConfig& instance,
                 const std::string& neighbor) {
  if (Starting(instance.lines, neighbor + " interface") == nullptr) lines.push_back(neighbor + " interface");
  const bool timers = std::ranges::any_of(instance.lines, [&](const std::string& line) {
    return line.starts_with(neighbor + " timers ") && !line.starts_with(neighbor + " timers connect");
  });
  if (!timers) lines.push_back(neighbor + " timers 3 9");
  if (Starting(instance.lines, neighbor + " timers connect ") == nullptr)
    lines.push_back(neighbor + " timers connect 1");
}

void AddActivation(std::vector<std::string>& lines, const InstanceConfig& instance, bool v6,
                   const std::string& neighbor) {
  // bgpd does not print its defaults: ipv4 is active unless configured otherwise, ipv6 is not.
  const bool active = v6 ? Has(instance.lines, "bgp default ipv6-unicast")
                         : !Has(instance.lines, "no bgp default ipv4-unicast");
  const std::vector<std::string>& family = instance.Family(v6).lines;
  if (active ? Has(family, "no " + neighbor + " activate") : !Has(family, neighbor + " activate"))
    lines.push_back(neighbor + " activate");
}

const std::string* OtherNeighbor(const InstanceConfig& instance, const std::string& neighbor) {
  const std::string* line = Starting(instance.lines, neighbor + " interface");
  const bool is_ours = line == nullptr || *line == neighbor + " interface" ||
                       *line == neighbor + " interface remote-as external";
  return is_ours ? nullptr : line;
}

std::vector<std::string> ListLines(const RunningConfig& running, const std::string& kind,
                                   const std::vector<std::string>& entries) {
  std::vector<std::string> want;
  for (const std::string& entry : entries)
    want.push_back(kind + " seq " + std::to_string(5 * (want.size() + 1)) + " permit " + entry);
  const auto is_other = [&](const std::string& line) {
    return line.starts_with(kind + " ") && !Has(want, line);
  };
  const bool other = std::ranges::any_of(running.lists, is_other);
  std::vector<std::string> lines;
  if (other) lines.push_back("no " + kind);
  for (const std::string& line : want) {
    if (other || !Has(running.lists, line)) lines.push_back(line);
  }
  return lines;
}

}  // namespace rail::frr
