#include "lib/fabric/text.h"

#include <fmt/core.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <chrono>

#include "lib/base/text.h"

namespace rail::fabric {

using google::protobuf::util::TimeUtil;

std::string Some(size_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string ListOf(const std::vector<std::string>& names) {
  constexpr size_t kShown = 3;
  const size_t shown = std::min(names.size(), kShown);
  const std::string text =
      Join(std::vector<std::string>(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown)), ", ");
  return shown == names.size() ? text : fmt::format("{} and {} more", text, names.size() - shown);
}

std::string TimeText(int64_t unix_ms, int64_t now_ms) {
  using namespace std::chrono;
  const sys_time<milliseconds> time{milliseconds(unix_ms)};
  const sys_days day = floor<days>(time);
  const hh_mm_ss clock{floor<minutes>(time - day)};
  const std::string text = fmt::format("{:02}:{:02} UTC", clock.hours().count(), clock.minutes().count());
  if (day == floor<days>(sys_time<milliseconds>{milliseconds(now_ms)})) return text;
  const year_month_day date{day};
  return fmt::format("{:04}-{:02}-{:02} {}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), text);
}

std::string SinceText(int64_t unix_ms, int64_t now_ms) {
  return unix_ms == 0 ? "" : " since " + TimeText(unix_ms, now_ms);
}

google::protobuf::Timestamp Stamp(int64_t unix_ms) {
  return TimeUtil::MillisecondsToTimestamp(unix_ms);
}

int64_t UnixMsOf(const google::protobuf::Timestamp& time) {
  return TimeUtil::TimestampToMilliseconds(time);
}

}  // namespace rail::fabric
