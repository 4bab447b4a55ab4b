// The command line of railctl.
//
// Use:      const Parsed parsed = ParseFlags({argv + 1, argv + argc}, paths.socket);
//           if (!parsed.flags) { ...print parsed.text...; return parsed.exit_code; }
// Threads:  values
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rail::railctl {

// Exit codes, on which a script can rely.
constexpr int kDone = 0;  // success; the check, doctor or trace has found nothing wrong
constexpr int kFailed =
    1;  // failure, or a finding: a check's problem, a doctor's warning, a packet that does not arrive
constexpr int kUsage = 2;

enum class Command {
  kAttachments,
  kRails,
  kRemotes,
  kTenants,
  kFlows,
  kNode,
  kWatch,
  kCheck,
  kTrace,
  kDoctor,
  kHealth,
  kVersion
};
enum class Format { kTable, kJson };

struct Flags {
  Command command = Command::kNode;
  Format format = Format::kTable;
  std::string socket;         // raild's
  std::string pod_namespace;  // of attachments; "": all
  std::string rail;           // of attachments; "": all
  std::string pod;
  std::string ifname;

  // To use TCP instead of the socket; all four or none.
  std::string server;  // "10.0.0.5:9443"; "": the socket
  std::string ca_file;
  std::string cert_file;
  std::string key_file;

  bool unfold = false;  // of doctor: also what follows from each cause
  bool ready = false;   // of health: also whether raild is ready

  // For a trace.
  std::string destination;
  std::string protocol = "udp";
  uint32_t port = 0;  // 0: raild's default
  std::string as_address;
  std::string as_mac;
};

struct Parsed {
  std::optional<Flags> flags;  // none: print `text` and exit
  std::string text;            // help (exit_code 0, for stdout) or an error (for stderr)
  int exit_code = kDone;
};

Parsed ParseFlags(std::vector<std::string> arguments, const std::string& default_socket);

}  // namespace rail::railctl
