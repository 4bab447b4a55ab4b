#include "lib/base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

#include "lib/base/utf8.h"

namespace rail::log {
namespace {

std::shared_ptr<spdlog::logger> MakeLogger(const std::string& program) {
  auto logger = std::make_shared<spdlog::logger>(program, std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %n %l: %v");
  logger->set_level(spdlog::level::warn);
  return logger;
}

std::shared_ptr<spdlog::logger>& Logger() {
  static std::shared_ptr<spdlog::logger> logger = MakeLogger("railcni");
  return logger;
}

spdlog::level::level_enum LevelOf(Level level) {
  switch (level) {
    case Level::kDebug: return spdlog::level::debug;
    case Level::kInfo: return spdlog::level::info;
    case Level::kWarning: return spdlog::level::warn;
    case Level::kError: return spdlog::level::err;
  }
  return spdlog::level::err;
}

}  // namespace

void Init(std::string_view program, Level level) {
  Logger() = MakeLogger(std::string(program));
  Logger()->set_level(LevelOf(level));
}

// A message may contain text from outside. Control characters become spaces, so that it stays on one line.
void Write(Level level, std::string_view message) {
  Logger()->log(LevelOf(level), fmt::string_view("{}"), WithoutControls(message, ' '));
}

}  // namespace rail::log
