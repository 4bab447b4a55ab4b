#include "cmd/railctl/accept/progress.h"

#include "lib/base/text.h"

namespace rail::accept {
namespace {

constexpr size_t kWidth = 118;  // of a terminal's line

}  // namespace

void Progress::Draw(const std::string& what) {
  constexpr size_t kBar = 20;
  const size_t full = kBar * done_ / groups_;
  std::string line = "[" + std::string(full, '#') + std::string(kBar - full, '-') + "] " + what;
  if (!failed_.empty()) line += "; failed: " + failed_;
  line.resize(kWidth, ' ');
  err_ << '\r' << line << std::flush;
}

void Progress::Begin(const std::string& group) {
  group_ = group;
  Say("");
}

void Progress::Say(const std::string& what) {
  if (moving_) Draw(group_ + (what.empty() ? "" : ": " + what));
}

void Progress::End(const v1::AcceptReport& report) {
  ++done_;
  size_t passed = 0;
  size_t all = 0;
  for (const auto& check : report.checks()) {
    if (check.group() != group_) continue;
    ++all;
    if (check.verdict() == v1::AcceptReport::PASS) ++passed;
    if (check.verdict() == v1::AcceptReport::FAIL) Append(failed_, ", ", check.id());
  }
  if (moving_) {
    Draw(group_);
    if (done_ == groups_) err_ << '\n';
  } else {
    err_ << group_ << ": " << passed << " of " << all << " passed" << std::endl;
  }
}

}  // namespace rail::accept
