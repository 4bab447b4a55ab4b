#include "cmd/railctl/accept/echo.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>

#include "cmd/railctl/accept/echo_socket.h"
#include "lib/base/address.h"

namespace rail::accept {
namespace {

// How long the next datagram waits for the answer of the last, when nothing else says it.
constexpr auto kStall = std::chrono::milliseconds(20);

double Microseconds(Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

// The value below which `percent` of `sorted` are, or the largest.
double Percentile(const std::vector<double>& sorted, size_t percent) {
  return sorted.empty() ? 0 : sorted[((sorted.size() * percent + 99) / 100) - 1];
}

// One call of Echo.
class Exchange {
 public:
  Exchange(Fd socket, const Wake& end, uint32_t datagrams, size_t payload)
      : socket_(std::move(socket)), end_(end), sent_(datagrams), datagram_(payload) {}

  Status Run(std::chrono::microseconds pause, std::chrono::milliseconds patience);
  v1::EchoResponse Answer();

 private:
  struct Datagram {
    Deadline at;
    enum class State { kNotSent, kSent, kAnswered } state = State::kNotSent;
  };

  // Reads answers until `enough` of them are there, or until `until`.
  template <class Enough>
  Status ReadUntil(Deadline until, const Enough& enough);
  void Read();
  void Note(const EchoHeader& answer);
  Status Send(uint32_t sequence);
  bool newest_is_answered() const {
    return newest_ == nullptr || newest_->state == Datagram::State::kAnswered;
  }
  bool too_large() const { return error_ == EMSGSIZE; }

  const Fd socket_;
  const Wake& end_;
  std::vector<Datagram> sent_;
  std::vector<char> datagram_;
  std::vector<double> round_trips_;  // microseconds
  const Datagram* newest_ = nullptr;
  uint32_t count_ = 0;      // of those that were sent
  Deadline last_answer_{};  // or the beginning
  Clock::duration silence_{};
  int error_ = 0;  // of send(2)
};

Status Exchange::Run(std::chrono::microseconds pause, std::chrono::milliseconds patience) {
  const Deadline start = Clock::now();
  last_answer_ = start;
  for (uint32_t i = 0; i < sent_.size() && !too_large(); ++i) {
    if (pause.count() == 0) {
      RAIL_TRY(ReadUntil(After(kStall), [&] { return newest_is_answered(); }));
    } else {
      RAIL_TRY(ReadUntil(start + i * pause, [] { return false; }));
    }
    RAIL_TRY(Send(i));
  }
  RAIL_TRY(ReadUntil(After(patience), [&] { return round_trips_.size() == count_; }));
  if (!newest_is_answered()) silence_ = std::max(silence_, Clock::now() - last_answer_);
  return {};
}

template <class Enough>
Status Exchange::ReadUntil(Deadline until, const Enough& enough) {
  for (;;) {
    Read();
    if (end_.given()) return CallEnded();
    if (enough() || Clock::now() >= until) return {};
    std::array<pollfd, 2> events = {{PollIn(end_), {.fd = socket_.get(), .events = POLLIN, .revents = 0}}};
    RAIL_TRY(WaitFor(events, until));
  }
}

// An error that the socket has (of an ICMP message) ends with its being read.
void Exchange::Read() {
  EchoHeader answer;
  ssize_t size = 0;
  while ((size = ::recv(socket_.get(), &answer, sizeof answer, 0)) >= 0 || errno != EAGAIN) {
    if (size == sizeof answer) Note(answer);
  }
}

void Exchange::Note(const EchoHeader& answer) {
  if (answer.sequence >= sent_.size()) return;
  Datagram& datagram = sent_[answer.sequence];
  if (datagram.state != Datagram::State::kSent ||
      answer != AnswerTo(Question(answer.sequence, datagram.at.time_since_epoch().count())))
    return;
  const auto now = Clock::now();
  datagram.state = Datagram::State::kAnswered;
  round_trips_.push_back(Microseconds(now - datagram.at));
  silence_ = std::max(silence_, now - std::exchange(last_answer_, now));
}

// What the kernel refuses is not sent again: `error_` says why. A full queue of the socket is waited for.
Status Exchange::Send(uint32_t sequence) {
  Datagram& datagram = sent_[sequence];
  for (;;) {
    datagram.at = Clock::now();
    const EchoHeader header = Question(sequence, datagram.at.time_since_epoch().count());
    std::memcpy(datagram_.data(), &header, sizeof header);
    if (::send(socket_.get(), datagram_.data(), datagram_.size(), 0) >= 0) {
      datagram.state = Datagram::State::kSent;
      newest_ = &datagram;
      ++count_;
      return {};
    }
    if (errno == ECONNREFUSED || errno == EINTR) continue;  // of a datagram before this
    if (errno != EAGAIN) {
      error_ = errno;
      return {};
    }
    std::array<pollfd, 2> events = {{PollIn(end_), {.fd = socket_.get(), .events = POLLOUT, .revents = 0}}};
    RAIL_TRY(WaitFor(events, {}));
  }
}

v1::EchoResponse Exchange::Answer() {
  std::ranges::sort(round_trips_);
  v1::EchoResponse response;
  response.set_sent(count_);
  response.set_received(static_cast<uint32_t>(round_trips_.size()));
  response.set_p50_us(Percentile(round_trips_, 50));
  response.set_p99_us(Percentile(round_trips_, 99));
  response.set_max_us(Percentile(round_trips_, 100));
  response.set_longest_silence_ms(Microseconds(silence_) / 1000);
  if (error_ != 0) response.set_refused(std::strerror(error_));
  return response;
}

Status Check(const v1::EchoRequest& request) {
  RAIL_TRY(InRange("port", request.port(), 1, 65'535));
  RAIL_TRY(InRange("datagrams", request.datagrams(), 1, 100'000));
  RAIL_TRY(InRange("bytes", request.bytes(), 64, 9600));
  RAIL_TRY(InRange("pause_us", request.pause_us(), 0, 1'000'000));
  return InRange("patience_ms", request.patience_ms(), 1, 60'000);
}

}  // namespace

Result<v1::EchoResponse> Echo(const v1::EchoRequest& request, const Wake& end) {
  RAIL_TRY(Check(request));
  RAIL_ASSIGN_AS(const IpAddress address, IpAddress::Parse(request.address()), "address");
  RAIL_ASSIGN(const int index, InterfaceIndex("interface", request.interface()));
  const int family = address.is_v6() ? AF_INET6 : AF_INET;
  RAIL_ASSIGN(Fd socket, OpenUdp(family, request.interface()));
  const auto peer = ToSocketAddress(family, address.bytes(), static_cast<uint16_t>(request.port()), index);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&peer), sizeof peer) != 0) {
    v1::EchoResponse response;
    response.set_refused(std::strerror(errno));
    return response;
  }
  Exchange exchange(std::move(socket), end, request.datagrams(),
                    request.bytes() - (address.is_v6() ? kIpv6AndUdp : kIpv4AndUdp));
  RAIL_TRY(exchange.Run(std::chrono::microseconds(request.pause_us()),
                        std::chrono::milliseconds(request.patience_ms())));
  return exchange.Answer();
}

}  // namespace rail::accept
