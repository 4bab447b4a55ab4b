#include "lib/printing/color.h"

#include <unistd.h>

#include <cstdlib>
#include <map>
#include <string_view>

namespace rail::printing {
namespace {

constexpr const char* kRed = "\x1b[31m";
constexpr const char* kYellow = "\x1b[33m";
constexpr const char* kGreen = "\x1b[32m";
constexpr const char* kOff = "\x1b[0m";

const std::map<std::string_view, const char*>& Colors() {
  static const std::map<std::string_view, const char*> colors = {
      {"CRITICAL", kRed},      {"DROPPED", kRed},
      {"NoBridge", kRed},      {"NoCarrier", kRed},
      {"NoSession", kRed},     {"NoLeaf", kRed},
      {"NoDevice", kRed},      {"RecordLost", kRed},
      {"missing", kRed},       {"failed", kRed},
      {"contested", kRed},     {"duplicate", kRed},
      {"NOT_SERVING", kRed},   {"WARNING", kYellow},
      {"DOUBTFUL", kYellow},   {"RulesDiffer", kYellow},
      {"Pending", kYellow},    {"Adding", kYellow},
      {"Deleting", kYellow},   {"withdrawn", kYellow},
      {"unknown", kYellow},    {"Unseen", kYellow},
      {"ForeignFlows", kRed},  {"software", kYellow},
      {"Ready", kGreen},       {"ok", kGreen},
      {"Established", kGreen}, {"announced", kGreen},
      {"REACHES", kGreen},     {"SERVING", kGreen},
      {"hardware", kGreen},    {"fail", kRed},
      {"worse", kRed},         {"could-not-measure", kYellow},
      {"pass", kGreen},        {"better", kGreen}};
  return colors;
}

}  // namespace

std::string Painter::operator()(const std::string& word) const {
  if (!color_) return word;
  const auto found = Colors().find(word);
  return found == Colors().end() ? word : found->second + word + kOff;
}

bool ColorWanted() {
  const char* no = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && (no == nullptr || *no == '\0') && terminal != nullptr &&
         std::string_view(terminal) != "dumb";
}

}  // namespace rail::printing
