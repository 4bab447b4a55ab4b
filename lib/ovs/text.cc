#include "lib/ovs/text.h"

#include <fmt/core.h>

#include <cstdlib>
#include <tuple>

namespace rail::ovs {

std::string TakeText(char* text) {
  if (text == nullptr) return {};
  std::string taken(text);
  std::free(text);
  return taken;
}

rail_rule View(const Rule& rule) {
  return {rule.table, rule.priority, rule.cookie, rule.match.c_str(), rule.actions.c_str()};
}

std::string Hex(uint64_t value) {
  return fmt::format("0x{:x}", value);
}

std::string ToText(const Rule& rule) {
  return fmt::format("table={},priority={},cookie=0x{:x}{}{} actions={}", rule.table, rule.priority,
                     rule.cookie, rule.match.empty() ? "" : ",", rule.match, rule.actions);
}

bool InDumpOrder(const Rule& a, const Rule& b) {
  return std::tie(a.table, b.priority, a.match, a.cookie) < std::tie(b.table, a.priority, b.match, b.cookie);
}

}  // namespace rail::ovs
