#include "lib/kubernetes/lines.h"

#include <utility>

namespace rail::kubernetes {
namespace {

constexpr size_t kMaxLine = size_t{4} << 20;  // an object of the API server has 1.5 MB at most

}  // namespace

Status Lines::Add(std::string_view bytes, const std::function<Status(const std::string& line)>& take) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    rest_ += bytes.substr(0, end);
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
    if (rest_.size() > kMaxLine) return Fail(Code::kInvalid, "an event of the API server does not end");
    if (end == std::string_view::npos) break;
    const std::string line = std::exchange(rest_, {});
    if (!line.empty()) RAIL_TRY(take(line));
  }
  return {};
}

}  // namespace rail::kubernetes
