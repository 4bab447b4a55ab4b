#include "lib/cni/request.h"

#include <algorithm>
#include <string_view>

#include "lib/base/parse.h"

namespace rail::cni {

std::map<std::string, std::string> ParseArgs(const std::string& args) {
  std::map<std::string, std::string> values;
  for (const std::string_view pair : Split(args, ";")) {
    if (pair.empty()) continue;
    const size_t equals = std::min(pair.find('='), pair.size());
    values[std::string(pair.substr(0, equals))] = equals < pair.size() ? pair.substr(equals + 1) : "";
  }
  return values;
}

}  // namespace rail::cni
