// The command line of railctl.
//
// Use:      const Parsed parsed = ParseFlags({argv + 1, argv + argc}, paths.socket);
//           if (!parsed.flags) { ...print parsed.text...; return parsed.exit_code; }
// Threads:  values
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace rail::railctl {

// What a caller's script can rely on.
constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kUsage = 2;

enum class Command { kAttachments, kRails, kRemotes, kNode, kWatch, kHealth, kVersion };
enum class Format { kTable, kJson };

struct Flags {
  Command command = Command::kNode;
  Format format = Format::kTable;
  std::string socket;         // raild's
  std::string pod_namespace;  // of attachments; "": all
  std::string rail;           // the same
};

struct Parsed {
  std::optional<Flags> flags;  // else print `text` and end
  std::string text;            // help (exit_code 0, for stdout) or what is wrong (for stderr)
  int exit_code = kDone;
};

Parsed ParseFlags(std::vector<std::string> arguments, const std::string& default_socket);

}  // namespace rail::railctl
