#include "lib/cni/request.h"

namespace rail::cni {

std::map<std::string, std::string> ParseArgs(const std::string& args) {
  std::map<std::string, std::string> values;
  for (size_t start = 0; start < args.size();) {
    const size_t end = std::min(args.find(';', start), args.size());
    const std::string pair = args.substr(start, end - start);
    start = end + 1;
    if (pair.empty()) continue;
    const size_t equals = std::min(pair.find('='), pair.size());
    values[pair.substr(0, equals)] = equals < pair.size() ? pair.substr(equals + 1) : "";
  }
  return values;
}

}  // namespace rail::cni
