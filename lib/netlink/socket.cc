#include "lib/netlink/socket.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netlink/errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "lib/netlink/decode.h"

namespace rail::netlink {
namespace {

constexpr int kDumpAttempts = 5;
// The kernel answers while the request is being sent; it is silent only if there is a bug.
constexpr timeval kSilence{10, 0};

void SetOption(int fd, int option) {
  const int on = 1;
  // A kernel without one of these options still works: its errors have no text, and we filter its dumps.
  (void)::setsockopt(fd, SOL_NETLINK, option, &on, sizeof on);
}

tl::unexpected<Error> Refused(const Verdict& verdict, std::string_view doing) {
  Error error = ErrnoError(verdict.sys_errno, doing);
  if (!verdict.text.empty()) error.message += " (kernel: " + verdict.text + ")";
  return tl::make_unexpected(std::move(error));
}

Status SendTo(int fd, const void* bytes, size_t size, std::string_view doing) {
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  while (::sendto(fd, bytes, size, 0, reinterpret_cast<const sockaddr*>(&kernel), sizeof kernel) < 0) {
    if (errno != EINTR) return FailErrno(errno, doing);
  }
  return {};
}

}  // namespace

void FreeMessage::operator()(nl_msg* message) const {
  nlmsg_free(message);
}
void Socket::Free::operator()(nl_sock* socket) const {
  nl_socket_free(socket);
}

Result<Socket> Socket::Open(int protocol) {
  Socket socket(nl_socket_alloc());
  if (socket.socket_ == nullptr) return FailErrno(ENOMEM, "open a netlink socket");
  errno = 0;
  if (const int rc = nl_connect(socket.socket_.get(), protocol); rc < 0) {
    if (errno == EPROTONOSUPPORT) {
      return Fail(Code::kUnsupported,
                  "open a netlink socket: this kernel has no netlink protocol " + std::to_string(protocol));
    }
    if (errno != 0) return FailErrno(errno, "open a netlink socket");
    return Fail(Code::kInternal, std::string("open a netlink socket: ") + nl_geterror(rc));
  }
  const int fd = nl_socket_get_fd(socket.socket_.get());
  SetOption(fd, NETLINK_EXT_ACK);
  SetOption(fd, NETLINK_CAP_ACK);
  SetOption(fd, NETLINK_GET_STRICT_CHK);
  if (::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kSilence, sizeof kSilence) != 0) {
    return FailErrno(errno, "set the time limit of a netlink socket");
  }
  return socket;
}

Status Socket::Send(nl_msg* message, std::string_view doing) {
  nlmsghdr* header = nlmsg_hdr(message);
  header->nlmsg_seq = nl_socket_use_seq(socket_.get());
  header->nlmsg_pid = nl_socket_get_local_port(socket_.get());
  header->nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
  return SendTo(nl_socket_get_fd(socket_.get()), header, header->nlmsg_len, doing);
}

Result<Socket::Ending> Socket::Receive(uint32_t sequence, std::string_view doing, const Reader& reader) {
  bool interrupted = false;
  for (;;) {
    sockaddr_nl from{};
    socklen_t from_size = sizeof from;
    const ssize_t n = ::recvfrom(nl_socket_get_fd(socket_.get()), buffer_.data(), buffer_.size(), MSG_TRUNC,
                                 reinterpret_cast<sockaddr*>(&from), &from_size);
    if (n < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN) return Fail(Code::kTransient, std::string(doing) + ": the kernel does not answer");
      return FailErrno(errno, doing);
    }
    if (static_cast<size_t>(n) > buffer_.size()) {
      return Fail(Code::kInternal,
                  std::string(doing) + ": the kernel's answer has " + std::to_string(n) + " bytes");
    }
    if (from.nl_pid != 0) continue;  // not the kernel

    std::string_view rest(buffer_.data(), static_cast<size_t>(n));
    while (rest.size() >= sizeof(nlmsghdr)) {
      nlmsghdr header;
      std::memcpy(&header, rest.data(), sizeof header);
      if (header.nlmsg_len < sizeof header || header.nlmsg_len > rest.size()) break;
      const std::string_view message = rest.substr(0, header.nlmsg_len);
      rest.remove_prefix(std::min<size_t>(rest.size(), NLMSG_ALIGN(header.nlmsg_len)));
      if (header.nlmsg_seq != sequence) continue;  // the answer to an earlier request that was given up

      interrupted = interrupted || (header.nlmsg_flags & NLM_F_DUMP_INTR) != 0;
      if (const auto verdict = DecodeVerdict(message)) {
        if (verdict->sys_errno == EINTR && header.nlmsg_type == NLMSG_DONE) return Ending::kInterrupted;
        if (verdict->sys_errno != 0) return Refused(*verdict, doing);
        if (interrupted) return Ending::kInterrupted;
        return header.nlmsg_type == NLMSG_DONE ? Ending::kDone : Ending::kAcknowledged;
      }
      if (reader) reader(message);
    }
  }
}

Status Socket::Request(nl_msg* message, std::string_view doing, const Reader& reader) {
  RAIL_TRY(Send(message, doing));
  const auto ending = Receive(nlmsg_hdr(message)->nlmsg_seq, doing, reader);
  if (!ending) return tl::make_unexpected(ending.error());
  return {};
}

Status Socket::Dump(nl_msg* message, std::string_view doing, const Reader& reader,
                    const std::function<void()>& restart) {
  nlmsg_hdr(message)->nlmsg_flags |= NLM_F_DUMP;
  for (int attempt = 0; attempt < kDumpAttempts; ++attempt) {
    if (attempt > 0) restart();
    RAIL_TRY(Send(message, doing));
    RAIL_ASSIGN(const Ending ending, Receive(nlmsg_hdr(message)->nlmsg_seq, doing, reader));
    if (ending == Ending::kDone) return {};
  }
  return Fail(Code::kTransient, std::string(doing) + ": the list changed while it was read, " +
                                    std::to_string(kDumpAttempts) + " times in a row; try again");
}

Status Socket::Batch(std::span<char> requests, size_t count, std::string_view doing, const Reader& reader) {
  const uint32_t sequence = nl_socket_use_seq(socket_.get());
  for (size_t at = 0; at + sizeof(nlmsghdr) <= requests.size();) {
    auto* header = reinterpret_cast<nlmsghdr*>(requests.data() + at);
    header->nlmsg_seq =
        sequence;  // the same for all: it tells them from answers to an earlier batch that was given up
    header->nlmsg_pid = nl_socket_get_local_port(socket_.get());
    header->nlmsg_flags |= NLM_F_REQUEST;
    at += NLMSG_ALIGN(header->nlmsg_len);
  }
  const int fd = nl_socket_get_fd(socket_.get());
  RAIL_TRY(SendTo(fd, requests.data(), requests.size(), doing));

  constexpr size_t kPlace = kBufferSize / kMostInBatch;
  std::array<iovec, kMostInBatch> places{};
  std::array<mmsghdr, kMostInBatch> answers{};
  for (size_t i = 0; i < kMostInBatch; ++i) {
    places[i] = {.iov_base = buffer_.data() + i * kPlace, .iov_len = kPlace};
    answers[i].msg_hdr.msg_iov = &places[i];
    answers[i].msg_hdr.msg_iovlen = 1;
  }
  for (size_t read = 0; read < count;) {
    const int n = ::recvmmsg(fd, answers.data(), static_cast<unsigned>(std::min(count - read, kMostInBatch)),
                             MSG_WAITFORONE, nullptr);
    if (n < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN) return Fail(Code::kTransient, std::string(doing) + ": the kernel does not answer");
      return FailErrno(errno, doing);
    }
    for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
      const std::string_view message(buffer_.data() + i * kPlace, answers[i].msg_len);
      nlmsghdr header;
      if (message.size() < sizeof header) continue;
      std::memcpy(&header, message.data(), sizeof header);
      if (header.nlmsg_seq != sequence || header.nlmsg_len > message.size()) continue;
      ++read;
      reader(message.substr(0, header.nlmsg_len));
    }
  }
  return {};
}

}  // namespace rail::netlink
