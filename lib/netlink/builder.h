// Builds a netlink request. The clients of this folder use it.
//
// Use:      Builder message(RTM_NEWLINK, 0, body);
//           message.Uint32(IFLA_MTU, 4200);
//           RAIL_TRY(Run(socket, message, "set the MTU of link 7"));
// Threads:  one at a time
// Owns:     the message
// Source:   netlink(7), libnl's attr.h and msg.h
#pragma once

#include <netlink/attr.h>
#include <netlink/msg.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/base/address.h"
#include "lib/netlink/socket.h"

namespace rail::netlink {

// A message under construction, of at most 4096 bytes. Ours are small, so running out of space is a bug; Check() reports it.
class Builder {
 public:
  Builder(int type, int flags) : message_(nlmsg_alloc_simple(type, flags)) { ok_ = message_ != nullptr; }
  template <class Body>
  Builder(int type, int flags, const Body& body) : Builder(type, flags) {
    if (!ok_ || nlmsg_append(message_.get(), Writable(&body), sizeof body, NLMSG_ALIGNTO) < 0) ok_ = false;
  }

  Builder& Bytes(int type, std::string_view bytes) {
    ok_ = ok_ && nla_put(message_.get(), type, static_cast<int>(bytes.size()), bytes.data()) >= 0;
    return *this;
  }
  // The bytes of a number, or of a struct of the kernel's.
  template <class T>
  Builder& Struct(int type, const T& value) {
    return Bytes(type, {reinterpret_cast<const char*>(&value), sizeof value});
  }
  Builder& Uint64(int type, uint64_t value) { return Struct(type, value); }
  Builder& Uint32(int type, uint32_t value) { return Struct(type, value); }
  Builder& Uint16(int type, uint16_t value) { return Struct(type, value); }
  Builder& Uint8(int type, uint8_t value) { return Struct(type, value); }
  Builder& String(int type, std::string_view text) { return Bytes(type, std::string(text) + '\0'); }
  Builder& Mac(int type, const MacAddress& mac) {
    return Bytes(type, {reinterpret_cast<const char*>(mac.bytes.data()), mac.bytes.size()});
  }
  Builder& Ip(int type, const IpAddress& address) { return Bytes(type, address.bytes()); }

  nlattr* Nest(int type) { return ok_ ? nla_nest_start(message_.get(), type | NLA_F_NESTED) : nullptr; }
  void EndNest(nlattr* nest) {
    if (nest != nullptr) nla_nest_end(message_.get(), nest);
  }

  Status Check(std::string_view doing) const {
    if (ok_) return {};
    return FailErrno(ENOBUFS, std::string(doing) + ": build the request");
  }
  nl_msg* get() const { return message_.get(); }

 private:
  static void* Writable(const void* data) { return const_cast<void*>(data); }

  Message message_;
  bool ok_ = true;
};

// Sends `message` and waits until the kernel acknowledges it.
inline Status Run(Socket& socket, const Builder& message, std::string_view doing) {
  RAIL_TRY(message.Check(doing));
  return socket.Request(message.get(), doing);
}

// Sends `message` and decodes the answer. Nothing: `decode` makes nothing of it.
template <class Decode>
auto Ask(Socket& socket, const Builder& message, std::string_view doing, const Decode& decode)
    -> Result<std::invoke_result_t<Decode, std::string_view>> {
  RAIL_TRY(message.Check(doing));
  std::invoke_result_t<Decode, std::string_view> answer;
  RAIL_TRY(socket.Request(message.get(), doing, [&](std::string_view bytes) { answer = decode(bytes); }));
  return answer;
}

// Runs a dump and decodes it. Leaves out messages of which `decode` makes nothing.
template <class Decode>
auto List(Socket& socket, const Builder& message, std::string_view doing, const Decode& decode)
    -> Result<std::vector<typename std::invoke_result_t<Decode, std::string_view>::value_type>> {
  RAIL_TRY(message.Check(doing));
  std::vector<typename std::invoke_result_t<Decode, std::string_view>::value_type> values;
  RAIL_TRY(socket.Dump(
      message.get(), doing,
      [&](std::string_view bytes) {
        if (auto value = decode(bytes)) values.push_back(std::move(*value));
      },
      [&] { values.clear(); }));
  return values;
}

}  // namespace rail::netlink
