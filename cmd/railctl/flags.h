// The command line of railctl, as values.
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
constexpr int kDone = 0;  // success; the check, doctor, status or trace has found nothing wrong
constexpr int kFailed =
    1;  // failure, or a finding: a check's problem, a doctor's warning, a packet that does not arrive
constexpr int kUsage = 2;        // the question is wrong: the command line, or a rail that does not exist
constexpr int kCannotAsk = 2;    // of status, where 1 means a finding: raild cannot be asked
constexpr int kNotMeasured = 3;  // of accept: something could not be measured, and nothing failed

enum class Command {
  kAttachments,
  kRails,
  kRemotes,
  kTenants,
  kFlows,
  kCounters,
  kTop,
  kBursts,
  kNode,
  kTopology,
  kJob,
  kNics,
  kGpus,
  kStatus,
  kDescribeAttachment,
  kDescribeRail,
  kCheck,
  kTrace,
  kDoctor,
  kLibs,
  kAccept,
  kAcceptShow,
  kAcceptDiff,
  kAcceptAgent,
  kHealth,
  kVersion,
  kCompletion
};
enum class Format { kTable, kWide, kJson, kDot };

struct Flags {
  Command command = Command::kNode;
  Format format = Format::kTable;
  std::string socket;         // raild's
  std::string fabric;         // railfabric's, "unix:/path", "/path" or "HOST:PORT"; "": raild is asked
  std::string node;           // of a fabric; "": all
  std::string unit;           // of a fabric; "": all
  std::string leaf;           // of a fabric; "": all
  std::string pod_namespace;  // "": all
  std::string pod;            // "": all; of get job: the job's name
  std::string ifname;         // "": all
  std::string rail;           // "": all
  std::string tenant;         // name or id; "": all
  bool watch = false;         // of get: then every change
  bool headers = true;        // of tables
  bool color = false;         // stdout is a terminal and nobody objects; main says so

  // To use TCP instead of a socket: raild's address, or that of `fabric`, and the three files.
  std::string server;  // "10.0.0.5:9443"; "": the socket
  std::string ca_file;
  std::string cert_file;
  std::string key_file;

  bool unfold = false;       // of doctor: also what follows from each cause
  bool ready = false;        // of health: also whether raild is ready
  bool client_only = false;  // of version: railctl's own alone
  std::string shell;         // of completion: "bash" or "zsh"

  uint32_t since_seconds = 0;  // of bursts; 0: all that is kept
  uint32_t most = 0;           // of bursts; 0: raild's default

  // For libraries.
  std::string nccl_version;       // "": the newest that raild knows
  std::string file = "libs.env";  // which of the pod's files

  // Of accept (cmd/railctl/accept/run.h has what each means).
  std::string stage;
  bool kubernetes = false;
  std::vector<std::string> nodes;
  std::vector<std::string> networks;
  bool plan = false;
  uint32_t restarts = 0;
  uint32_t failure = 0;
  uint32_t churn = 0;
  bool quick = false;
  bool resume = false;
  std::vector<std::string> only;
  std::string json_file;
  std::string junit_file;
  std::string page_file;
  std::vector<std::string> reports;  // of accept show: one; of accept diff: before, after
  std::string listen;                // of accept agent
  std::string raild;                 // of accept agent

  // For a trace.
  std::string destination;
  std::string protocol = "udp";
  uint32_t port = 0;  // 0: raild's default
  std::string as_address;
  std::string as_mac;
};

// The path of the socket that is asked; "": TCP is used.
std::string SocketOf(const Flags& flags);

struct Parsed {
  std::optional<Flags> flags;  // none: print `text` and exit
  std::string text;            // help (exit_code 0, for stdout) or an error (for stderr)
  int exit_code = kDone;
};

Parsed ParseFlags(std::vector<std::string> arguments, const std::string& default_socket);

}  // namespace rail::railctl
