// One configuration session with an FRR daemon: a command line goes out, its text and status come back.
//
// Use:      RAIL_ASSIGN(Vty vty, Vty::Open("/run/frr/bgpd.vty", deadline));
//           RAIL_ASSIGN(std::string text, vty.Show("show running-config", deadline));
//           RAIL_TRY(vty.Configure({{"router bgp 65001"}, {"no neighbor r9", OnMissing::kAccept}}, deadline));
// Threads:  one at a time
// Owns:     the connection. After a failure of the connection (kTransient) every call fails: open a new one
// Source:   FRRouting doc/developer/vtysh.rst "Protocol"; statuses: lib/command.h
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/socket.h"

namespace rail::frr {

constexpr size_t kMaxLine = 4000;  // bytes; the daemon executes what follows byte 4096 as a new command
constexpr size_t kMaxReply = size_t{256} << 20;

// Decodes a reply as it comes in: text without NUL, then 00 00 00 <status>. Looks at each byte once.
class ReplyDecoder {
 public:
  explicit ReplyDecoder(size_t max_bytes = kMaxReply) : max_bytes_(max_bytes) {}

  // True once the reply is complete. Errors: kInternal a NUL inside the text, bytes after the status, too
  // large.
  Result<bool> Feed(std::string_view bytes);

  uint8_t status() const { return status_; }  // meaningful once complete
  // The text, without the status.
  std::string TakeText() { return std::exchange(text_, {}); }

 private:
  size_t max_bytes_;
  size_t bytes_ = 0;
  std::string text_;
  size_t trailer_ = 0;  // bytes of the trailer seen
  uint8_t status_ = 0;
};

// Whether `line` may be sent: 1..kMaxLine bytes of printable ASCII (no newline, no NUL). Errors: kInvalid.
Status CheckLine(std::string_view line);

// One word of a command line that comes from elsewhere (an interface's name): letters, digits, '.', '_', '-',
// '@', 1..63 of them, the first one a letter or digit. Errors: kInvalid, naming `what`.
Status CheckWord(std::string_view word, std::string_view what);

enum class OnMissing { kFail, kAccept };

struct ConfigLine {
  std::string text;
  // kAccept: "no X" for an X that is not there (status 13) is a success.
  OnMissing on_missing = OnMissing::kFail;
};

class Vty {
 public:
  // Connects and enters the enable node. Errors: kTransient nobody listens; kNotFound no socket; kPermission.
  static Result<Vty> Open(const std::string& path, Deadline deadline);

  // The text that `command` prints. Errors: kNotFound the daemon warns in its words (status 1: no such instance,
  // neighbor, ...); kInvalid it refuses; kTransient. May be repeated.
  Result<std::string> Show(const std::string& command, Deadline deadline);

  // Sends `lines` from the configuration node and waits for each reply. Stops at the first line that is refused; the
  // lines before it stay in force. Sends nothing when one of the lines is malformed. Errors:
  // kInvalid "<line>: <the daemon's words>"; kTransient.
  Status Configure(const std::vector<ConfigLine>& lines, Deadline deadline);

  // Sends `lines` in one round trip. The daemon has all lines before it answers the first, so it also executes the lines after a
  // refused one. Errors: as Configure, for the first refused line.
  Status ConfigureAtOnce(const std::vector<ConfigLine>& lines, Deadline deadline);

 private:
  struct Reply {
    uint8_t status = 0;
    std::string text;
  };

  explicit Vty(UnixStream stream) : stream_(std::move(stream)) {}
  Result<Reply> Ask(std::string_view line, Deadline deadline);
  Status CheckUsable() const;
  Error Closed() const;  // the daemon has ended the session
  Result<std::vector<Reply>> AskAll(const std::vector<ConfigLine>& lines, Deadline deadline);

  UnixStream stream_;
  bool broken_ = false;
};

}  // namespace rail::frr
