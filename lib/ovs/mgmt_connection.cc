#include "lib/ovs/mgmt_connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "lib/base/timing.h"
#include "lib/ovs/shim.h"
#include "lib/ovs/text.h"

namespace rail::ovs {
namespace {

constexpr size_t kHeader = 8;
constexpr size_t kPiece = 64 << 10;
// With more changes than this, reading all rules costs less than looking at each change.
constexpr size_t kMostChanges = 10'000;

uint16_t Be16(std::string_view b, size_t at) {
  return static_cast<uint16_t>(static_cast<uint8_t>(b[at]) << 8 | static_cast<uint8_t>(b[at + 1]));
}

uint32_t XidOf(const std::vector<uint64_t>& message) {
  const auto* b = reinterpret_cast<const uint8_t*>(message.data());
  return uint32_t{b[4]} << 24 | uint32_t{b[5]} << 16 | uint32_t{b[6]} << 8 | uint32_t{b[7]};
}

// The bytes or the error that an encoder of the shim returns.
template <class Encode>
Result<std::string> Encoded(Encode encode) {
  rail_bytes bytes{};
  if (const auto error = TakeText(encode(&bytes)); !error.empty()) return Fail(Code::kInvalid, error);
  std::string all(bytes.data, bytes.size);
  std::free(bytes.data);
  return all;
}

}  // namespace

Result<std::unique_ptr<MgmtConnection>> MgmtConnection::Connect(const std::string& path, Deadline deadline) {
  const Timed timed(Part::kOpenFlow);
  RAIL_ASSIGN(auto socket, UnixStream::Connect(path, deadline));
  std::unique_ptr<MgmtConnection> connection(new MgmtConnection(std::move(socket)));
  RAIL_TRY_AS(connection->Handshake(deadline), "agree on OpenFlow 1.5 with " + path);
  return connection;
}

Result<std::unique_ptr<OpenFlow>> MgmtConnection::Open(const std::string& path, Deadline deadline) {
  RAIL_ASSIGN(auto connection, Connect(path, deadline));
  return connection;
}

Result<std::unique_ptr<MgmtConnection>> MgmtConnection::OpenWatched(const std::string& path,
                                                                    Deadline deadline) {
  RAIL_ASSIGN(auto connection, Connect(path, deadline));
  RAIL_TRY_AS(connection->Watch(deadline), "watch the rules of " + path);
  return connection;
}

Status MgmtConnection::Watch(Deadline deadline) {
  RAIL_TRY(Ask([](uint32_t xid, rail_bytes* out) { return rail_encode_flow_monitor(xid, out); },
               RAIL_FLOW_UPDATE, [](const std::vector<uint64_t>&, size_t) -> Result<bool> { return true; },
               deadline));
  watched_ = true;
  told_ = false;
  changes_ = {.unknown = true, .cookies = {}, .foreign_cookies = {}, .others = {}};
  return {};
}

Status MgmtConnection::TakeIn() {
  const Sink nobody_asked = [](const std::vector<uint64_t>&, size_t) -> Result<bool> { return false; };
  std::vector<char> buffer(kPiece);
  for (;;) {
    pollfd p{socket_.fd(), POLLIN, 0};
    if (::poll(&p, 1, 0) <= 0) break;
    RAIL_ASSIGN(const size_t got, socket_.Read(buffer, Clock::now()));
    if (got == 0) return Fail(Code::kTransient, socket_.path() + ": closed by ovs-vswitchd");
    in_.append(buffer.data(), got);
    bool done = false;
    RAIL_TRY(TakeMessages(nobody_asked, done));
  }
  if (!out_.empty()) RAIL_TRY(socket_.Write(std::exchange(out_, {}), After(std::chrono::seconds(1))));
  return {};
}

Result<RuleChanges> MgmtConnection::Changes() {
  if (!watched_) return RuleChanges{.unknown = true, .cookies = {}, .foreign_cookies = {}, .others = {}};
  RAIL_TRY(TakeIn());
  told_ = false;
  return std::exchange(changes_, {});
}

Status MgmtConnection::TakeUpdate(const std::vector<uint64_t>& message) {
  const auto ours = CookieMatch::Ours();
  bool paused = false;
  const auto error = TakeText(rail_decode_flow_update(
      message.data(), ours.value, ours.mask,
      [](void* context, rail_rule_change change, const rail_rule* rule) {
        auto& changes = *static_cast<RuleChanges*>(context);
        if (rule->match == nullptr) {
          changes.cookies.insert(rule->cookie);
          return;
        }
        changes.foreign_cookies.insert(rule->cookie);
        if (change != RAIL_RULE_REMOVED) {
          changes.others.push_back({rule->table, rule->priority, rule->cookie, rule->match, ""});
        }
      },
      &changes_, &paused));
  if (!error.empty()) return Fail(Code::kInternal, socket_.path() + ": " + error);
  if (paused ||
      changes_.cookies.size() + changes_.foreign_cookies.size() + changes_.others.size() > kMostChanges)
    changes_ = {.unknown = true, .cookies = {}, .foreign_cookies = {}, .others = {}};
  told_ = told_ || !changes_.empty();
  return {};
}

Status MgmtConnection::Handshake(Deadline deadline) {
  const uint32_t xid = NextXid();
  bool said = false;
  const Source hello = [&]() -> Result<std::string> {
    if (std::exchange(said, true)) return std::string();
    return Encoded([&](rail_bytes* out) { return rail_encode_hello(xid, out); });
  };
  // The switch sends its hello at once, and an error after our hello if it does not support 1.5. A features reply would show
  // that both sides agree, but so does the answer to the first request: do not wait for more here.
  return Converse(
      hello,
      [](const std::vector<uint64_t>& message, size_t size) -> Result<bool> {
        switch (rail_message_type(message.data(), size)) {
          case RAIL_HELLO:
            if (reinterpret_cast<const uint8_t*>(message.data())[0] >= 6) return true;
            return Fail(Code::kUnsupported,
                        "the bridge does not speak OpenFlow 1.5; add OpenFlow15 to its protocols column, or "
                        "clear that");
          case RAIL_ERROR: return Fail(Code::kUnsupported, TakeText(rail_error_text(message.data())));
          default: return false;
        }
      },
      deadline);
}

Status MgmtConnection::Converse(const Source& source, const Sink& sink, Deadline deadline) {
  const Timed timed(Part::kOpenFlow);
  if (broken_)
    return Fail(Code::kTransient,
                socket_.path() + ": a call before this one failed, so the connection is closed");
  broken_ = true;
  out_.clear();
  bool more = true;
  bool done = false;
  std::vector<char> buffer(kPiece);
  while (!done || more || !out_.empty()) {
    if (more && out_.size() < kPiece) {
      RAIL_ASSIGN(std::string piece, source());
      more = !piece.empty();
      out_ += piece;
      if (more && out_.size() < kPiece) continue;
    }
    // Read while writing: a switch that answers every rule with an error stops reading when nobody reads its
    // answers.
    pollfd p{socket_.fd(), static_cast<short>(out_.empty() ? POLLIN : POLLIN | POLLOUT), 0};
    const int n = ::poll(&p, 1, PollTimeout(deadline));
    if (n < 0 && errno != EINTR) return FailErrno(errno, "wait for " + socket_.path());
    if (n <= 0) {
      if (Clock::now() < deadline) continue;
      return Fail(Code::kTransient, socket_.path() + ": no answer in time: is ovs-vswitchd running?");
    }
    if ((p.revents & POLLOUT) != 0) {
      const ssize_t sent = ::send(socket_.fd(), out_.data(), out_.size(), MSG_NOSIGNAL);
      if (sent > 0) out_.erase(0, static_cast<size_t>(sent));
      if (sent < 0 && errno != EAGAIN && errno != EINTR)
        return FailErrno(errno, "write to " + socket_.path());
    }
    if ((p.revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
      RAIL_ASSIGN(const size_t got, socket_.Read(buffer, deadline));
      if (got == 0) {
        return Fail(Code::kTransient,
                    socket_.path() + ": closed by ovs-vswitchd: was it restarted, or the bridge removed?");
      }
      in_.append(buffer.data(), got);
      RAIL_TRY(TakeMessages(sink, done));
    }
  }
  broken_ = false;
  return {};
}

Status MgmtConnection::TakeMessages(const Sink& sink, bool& done) {
  size_t at = 0;
  while (in_.size() - at >= kHeader) {
    const size_t size = Be16(in_, at + 2);
    if (size < kHeader)
      return Fail(Code::kInternal,
                  socket_.path() + ": not OpenFlow: a message of " + std::to_string(size) + " bytes");
    if (in_.size() - at < size) break;
    // The decoders read 64-bit fields in place.
    std::vector<uint64_t> message((size + 7) / 8);
    std::memcpy(message.data(), in_.data() + at, size);
    at += size;
    if (rail_message_type(message.data(), size) == RAIL_ECHO_REQUEST) {
      RAIL_ASSIGN(std::string reply,
                  Encoded([&](rail_bytes* out) { return rail_encode_echo_reply(message.data(), out); }));
      out_ += reply;
      continue;
    }
    if (rail_message_type(message.data(), size) == RAIL_FLOW_UPDATE) RAIL_TRY(TakeUpdate(message));
    RAIL_ASSIGN(const bool last, sink(message, size));
    done = done || last;
  }
  in_.erase(0, at);
  return {};
}

Status MgmtConnection::Ask(const std::function<char*(uint32_t xid, rail_bytes* out)>& encode,
                           rail_message answer, const Sink& reply, Deadline deadline) {
  const uint32_t xid = NextXid();
  bool asked = false;
  return Converse(
      [&]() -> Result<std::string> {
        if (std::exchange(asked, true)) return std::string();
        return Encoded([&](rail_bytes* out) { return encode(xid, out); });
      },
      [&](const std::vector<uint64_t>& message, size_t size) -> Result<bool> {
        if (XidOf(message) != xid) return false;
        const rail_message type = rail_message_type(message.data(), size);
        if (type == answer) return reply(message, size);
        if (type == RAIL_ERROR) return Fail(Code::kUnsupported, TakeText(rail_error_text(message.data())));
        return Fail(Code::kInternal, "an answer of another kind came");
      },
      deadline);
}

Status MgmtConnection::ForEach(CookieMatch which, const EachRule& each, Deadline deadline) {
  const Sink reply = [&](const std::vector<uint64_t>& message, size_t) -> Result<bool> {
    bool more = false;
    const auto error = TakeText(rail_decode_flow_reply(
        message.data(),
        [](void* context, const rail_rule* r, uint64_t packets, uint64_t bytes) {
          (*static_cast<const EachRule*>(context))(
              {{r->table, r->priority, r->cookie, r->match, r->actions}, packets, bytes});
        },
        const_cast<EachRule*>(&each), &more));
    if (!error.empty()) return Fail(Code::kInternal, error);
    return !more;
  };
  RAIL_TRY_AS(
      Ask([&](uint32_t xid,
              rail_bytes* out) { return rail_encode_flow_request(xid, which.value, which.mask, out); },
          RAIL_FLOW_STATS, reply, deadline),
      "list the rules of " + socket_.path());
  return {};
}

Result<uint64_t> MgmtConnection::Count(CookieMatch which, Deadline deadline) {
  uint64_t count = 0;
  const Sink reply = [&](const std::vector<uint64_t>& message, size_t) -> Result<bool> {
    const auto error = TakeText(rail_decode_aggregate_reply(message.data(), &count));
    if (!error.empty()) return Fail(Code::kInternal, error);
    return true;
  };
  RAIL_TRY_AS(
      Ask([&](uint32_t xid,
              rail_bytes* out) { return rail_encode_aggregate_request(xid, which.value, which.mask, out); },
          RAIL_AGGREGATE_STATS, reply, deadline),
      "count the rules of " + socket_.path());
  return count;
}

Status MgmtConnection::Commit(const Change& change, Deadline deadline) {
  if (change.empty()) return {};
  const uint32_t bundle = NextXid();
  const uint32_t open_xid = NextXid();
  const size_t by_cookie = change.remove_by_cookie.size();
  const size_t removes = change.remove.size();
  const size_t count = by_cookie + removes + change.add.size();
  const uint32_t first_xid = xid_ + 1;
  xid_ += static_cast<uint32_t>(count);
  const uint32_t commit_xid = NextXid();

  const auto describe = [&](size_t i) {
    if (i < by_cookie) return "remove all of cookie " + Hex(change.remove_by_cookie[i].value);
    if (i < by_cookie + removes) return "remove \"" + ToText(change.remove[i - by_cookie]) + "\"";
    return "add \"" + ToText(change.add[i - by_cookie - removes]) + "\"";
  };

  size_t next = 0;  // 0: open, 1..count: the messages, count + 1: commit
  const Source source = [&]() -> Result<std::string> {
    if (next > count + 1) return std::string();
    const size_t step = next++;
    if (step == 0) {
      return Encoded([&](rail_bytes* out) {
        return rail_encode_bundle_control(open_xid, bundle, RAIL_BUNDLE_OPEN, out);
      });
    }
    if (step == count + 1) {
      return Encoded([&](rail_bytes* out) {
        return rail_encode_bundle_control(commit_xid, bundle, RAIL_BUNDLE_COMMIT, out);
      });
    }
    const size_t i = step - 1;
    const uint32_t xid = first_xid + static_cast<uint32_t>(i);
    auto message = Encoded([&](rail_bytes* out) {
      if (i < by_cookie) {
        const CookieMatch& cookie = change.remove_by_cookie[i];
        return rail_encode_bundle_remove_by_cookie(xid, bundle, cookie.value, cookie.mask, out);
      }
      if (i < by_cookie + removes) {
        const rail_rule rule = View(change.remove[i - by_cookie]);
        return rail_encode_bundle_remove(xid, bundle, &rule, out);
      }
      const rail_rule rule = View(change.add[i - by_cookie - removes]);
      return rail_encode_bundle_add(xid, bundle, &rule, out);
    });
    if (!message) return FailWrapped(message.error(), describe(i));
    return message;
  };
  const Sink sink = [&](const std::vector<uint64_t>& message, size_t size) -> Result<bool> {
    const uint32_t xid = XidOf(message);
    const rail_message type = rail_message_type(message.data(), size);
    if (type == RAIL_ERROR) {
      const std::string error = TakeText(rail_error_text(message.data()));
      const uint32_t i = xid - first_xid;
      if (i < count) return Fail(Code::kInvalid, describe(i) + ": " + error);
      return Fail(Code::kInvalid, "the switch refused the bundle: " + error);
    }
    return type == RAIL_BUNDLE_REPLY && xid == commit_xid;
  };
  RAIL_TRY_AS(Converse(source, sink, deadline), "change the rules of " + socket_.path());
  return {};
}

}  // namespace rail::ovs
