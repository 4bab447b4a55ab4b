// The log of a program: one line for each message, on stderr. stdout belongs to CNI; the log never writes there.
//
// Use:      log::Init("raild", log::Level::kInfo);                    // first thing in main
//           log::Info("rail rail0: leaf {} at {}", peer, mac);
// Threads:  any thread
// Rule:     library code returns errors and does not log them; the verb, RPC or loop that handles an error logs it once.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>

namespace rail::log {

enum class Level { kDebug, kInfo, kWarning, kError };

// Replaces the process's logger. Before the first call, messages of warning and above go to stderr.
void Init(std::string_view program, Level level);

void Write(Level level, std::string_view message);

template <class... Args>
void Info(fmt::format_string<Args...> format, Args&&... args) {
  Write(Level::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void Warning(fmt::format_string<Args...> format, Args&&... args) {
  Write(Level::kWarning, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void Error(fmt::format_string<Args...> format, Args&&... args) {
  Write(Level::kError, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace rail::log
