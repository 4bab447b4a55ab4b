#include "lib/frr/vty.h"

#include <algorithm>
#include <span>

#include "lib/base/timing.h"

namespace rail::frr {
namespace {

constexpr size_t kTrailer = 4;  // 00 00 00 <status>

constexpr uint8_t kSuccess = 0;
constexpr uint8_t kWarning = 1;
constexpr uint8_t kConfigFailed = 13;

// The daemon's words on one line, as a clause: "% Unknown command\n" -> "Unknown command".
std::string Words(std::string_view text, uint8_t status) {
  std::string words;
  for (const char c : text.substr(0, 400)) {
    const bool space = c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '%';
    if (space) {
      if (!words.empty() && words.back() != ' ') words += ' ';
    } else {
      words += c;
    }
  }
  while (!words.empty() && (words.back() == ' ' || words.back() == '.')) words.pop_back();
  return words.empty() ? "refused with status " + std::to_string(status) : words;
}

constexpr char kConfigure[] = "configure terminal", kEnd[] = "end";

Status CheckLines(const std::vector<ConfigLine>& lines) {
  for (const ConfigLine& line : lines)
    RAIL_TRY_AS(CheckLine(line.text), "\"" + line.text.substr(0, 64) + "\"");
  return {};
}

// What the status of a configuration line means.
Status Judge(const ConfigLine& line, uint8_t status, std::string_view text) {
  if (status == kSuccess || (status == kConfigFailed && line.on_missing == OnMissing::kAccept)) return {};
  return Fail(Code::kInvalid, line.text + ": " + Words(text, status));
}

// What the status of a `show` means.
Status Judge(const std::string& command, uint8_t status, std::string_view text) {
  if (status == kSuccess) return {};
  return Fail(status == kWarning ? Code::kNotFound : Code::kInvalid, command + ": " + Words(text, status));
}

}  // namespace

Result<bool> ReplyDecoder::Feed(std::string_view bytes) {
  if (trailer_ == 0) {
    const size_t nul = std::min(bytes.find('\0'), bytes.size());
    bytes_ += nul;
    if (bytes_ > max_bytes_) {
      return Fail(Code::kInternal, "the reply is larger than " + std::to_string(max_bytes_) + " bytes");
    }
    text_.append(bytes.substr(0, nul));
    bytes.remove_prefix(nul);
  }
  for (const char byte : bytes) {
    if (trailer_ == kTrailer) return Fail(Code::kInternal, "the reply goes on after its status");
    if (++trailer_ == kTrailer) {
      status_ = static_cast<uint8_t>(byte);
    } else if (byte != 0) {
      return Fail(Code::kInternal, "the reply has a NUL in its text");
    }
  }
  return trailer_ == kTrailer;
}

Status CheckLine(std::string_view line) {
  if (line.empty() || line.size() > kMaxLine) {
    return Fail(Code::kInvalid, "a command line has 1 to " + std::to_string(kMaxLine) +
                                    " bytes, this one has " + std::to_string(line.size()));
  }
  if (!std::ranges::all_of(line, [](char c) { return c >= 0x20 && c < 0x7f; })) {
    return Fail(Code::kInvalid, "a command line holds printable ASCII alone");
  }
  return {};
}

Status CheckWord(std::string_view word, std::string_view what) {
  const auto alnum = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  const auto allowed = [&](char c) { return alnum(c) || c == '.' || c == '_' || c == '-' || c == '@'; };
  if (word.empty() || word.size() > 63 || !alnum(word.front()) || !std::ranges::all_of(word, allowed)) {
    return Fail(Code::kInvalid,
                std::string(what) + ": 1 to 63 letters, digits, '.', '_', '-' or '@' expected");
  }
  return {};
}

Result<Vty> Vty::Open(const std::string& path, Deadline deadline) {
  const Timed timed(Part::kBgp);
  RAIL_ASSIGN(auto stream, UnixStream::Connect(path, deadline));
  Vty vty(std::move(stream));
  RAIL_ASSIGN(const Reply reply, vty.Ask("enable", deadline));
  if (reply.status != kSuccess)
    return Fail(Code::kPermission, path + ": enable: " + Words(reply.text, reply.status));
  return vty;
}

Status Vty::CheckUsable() const {
  if (!broken_) return {};
  return Fail(Code::kTransient, "the session with " + stream_.path() + " has failed before: open a new one");
}

Error Vty::Closed() const {
  return {Code::kTransient, "read from " + stream_.path() + ": the daemon closed the session", 0};
}

Result<Vty::Reply> Vty::Ask(std::string_view line, Deadline deadline) {
  const Timed timed(Part::kBgp);
  RAIL_TRY(CheckLine(line));
  RAIL_TRY(CheckUsable());
  std::string frame(line);
  frame += '\0';
  // Broken until the reply is complete: otherwise the rest of it would be taken for the next reply.
  broken_ = true;
  RAIL_TRY(stream_.Write(frame, deadline));
  ReplyDecoder decoder;
  std::vector<char> buffer(64 << 10);
  for (bool complete = false; !complete;) {
    RAIL_ASSIGN(const size_t n, stream_.Read(buffer, deadline));
    if (n == 0) return tl::make_unexpected(Closed());
    RAIL_ASSIGN_AS(complete, decoder.Feed({buffer.data(), n}), "read from " + stream_.path());
  }
  broken_ = false;
  return Reply{decoder.status(), decoder.TakeText()};
}

Result<std::string> Vty::Show(const std::string& command, Deadline deadline) {
  RAIL_ASSIGN_AS(Reply reply, Ask(command, deadline), command);
  RAIL_TRY(Judge(command, reply.status, reply.text));
  return std::move(reply.text);
}

Status Vty::Configure(const std::vector<ConfigLine>& lines, Deadline deadline) {
  RAIL_TRY(CheckLines(lines));
  if (lines.empty()) return {};
  const auto send = [&](const ConfigLine& line) -> Status {
    RAIL_ASSIGN_AS(const Reply reply, Ask(line.text, deadline), line.text);
    return Judge(line, reply.status, reply.text);
  };
  Status status = send({kConfigure});
  for (size_t i = 0; status && i < lines.size(); ++i) status = send(lines[i]);
  // Leave the configuration node even after a refused line: Show means something else there.
  if (!broken_) {
    const Status left = send({kEnd});
    if (!left) broken_ = true;
    if (status) return left;
  }
  return status;
}

Result<std::vector<Vty::Reply>> Vty::AskAll(const std::vector<ConfigLine>& lines, Deadline deadline) {
  const Timed timed(Part::kBgp);
  RAIL_TRY(CheckUsable());
  std::string frames;
  for (const ConfigLine& line : lines) frames += line.text + '\0';
  broken_ = true;
  RAIL_TRY(stream_.Write(frames, deadline));
  std::vector<Reply> replies;
  std::vector<char> buffer(4 << 10);
  ReplyDecoder decoder;
  while (replies.size() < lines.size()) {
    RAIL_ASSIGN(const size_t n, stream_.Read(buffer, deadline));
    if (n == 0) return tl::make_unexpected(Closed());
    for (const char& byte : std::span(buffer).first(n)) {
      RAIL_ASSIGN_AS(const bool complete, decoder.Feed({&byte, 1}), "read from " + stream_.path());
      if (!complete) continue;
      if (replies.size() == lines.size())
        return Fail(Code::kInternal, "read from " + stream_.path() + ": a reply that nobody has asked for");
      replies.push_back({decoder.status(), decoder.TakeText()});
      decoder = ReplyDecoder();
    }
  }
  broken_ = false;
  return replies;
}

Status Vty::ConfigureAtOnce(const std::vector<ConfigLine>& lines, Deadline deadline) {
  RAIL_TRY(CheckLines(lines));
  if (lines.empty()) return {};
  std::vector<ConfigLine> all{{kConfigure}};
  all.insert(all.end(), lines.begin(), lines.end());
  all.push_back({kEnd});
  RAIL_ASSIGN_AS(const std::vector<Reply> replies, AskAll(all, deadline), "configure");
  broken_ = replies.back().status != kSuccess;
  for (size_t i = 0; i < all.size(); ++i) RAIL_TRY(Judge(all[i], replies[i].status, replies[i].text));
  return {};
}

}  // namespace rail::frr
