#include "lib/frr/bmp/message.h"

#include <algorithm>
#include <array>

#include "lib/frr/bmp/bytes.h"

namespace rail::bmp {
namespace {

constexpr uint8_t kVersion = 3;
constexpr size_t kCommonHeader = 6;
constexpr size_t kBgpHeader = 19;  // RFC 4271 section 4.1

// RFC 7854 section 4.1
enum MessageType : uint8_t {
  kRouteMonitoring = 0,
  kStatistics = 1,
  kPeerDown = 2,
  kPeerUp = 3,
  kInitiation = 4,
  kTermination = 5,
  kRouteMirroring = 6
};

// Section 4.2; O: RFC 8671
constexpr uint8_t kFlagV6 = 0x80, kFlagPostPolicy = 0x40, kFlagTwoByteAs = 0x20, kFlagOut = 0x10;
// RFC 7854 section 4.2, RFC 9069
enum PeerType : uint8_t { kGlobalInstance = 0, kRdInstance = 1, kLocalInstance = 2, kLocRib = 3 };

struct PeerHeader {
  uint8_t type = 0;
  uint8_t flags = 0;
  Peer peer;
  int64_t since_ms = 0;
  bool IsOf(Instance from) const {
    const bool vrf = from == Instance::kVrf;
    return type == kGlobalInstance || (vrf && (type == kRdInstance || type == kLocalInstance));
  }
};

// 16 bytes that hold an IPv4 address in the last four of them.
IpAddress ReadAddress(Bytes& bytes, bool v6) {
  std::string_view raw = bytes.Raw(16);
  if (!v6 && raw.size() == 16) raw.remove_prefix(12);
  return IpAddress::FromBytes(raw).value_or(IpAddress());
}

PeerHeader ReadPeerHeader(Bytes& bytes) {
  PeerHeader header;
  header.type = bytes.U8();
  header.flags = bytes.U8();
  header.peer.distinguisher = bytes.U64();
  header.peer.address = ReadAddress(bytes, (header.flags & kFlagV6) != 0);
  header.peer.asn = bytes.U32();
  header.peer.bgp_id = bytes.U32();
  const int64_t seconds = bytes.U32();
  const int64_t microseconds = bytes.U32();
  header.since_ms = seconds * 1000 + microseconds / 1000;
  return header;
}

// The BGP message that comes next, by the length in its header.
std::string_view ReadBgpMessage(Bytes& bytes) {
  Bytes ahead = bytes;
  ahead.Raw(16);
  const uint16_t length = ahead.U16();
  return bytes.Raw(ahead.ok() ? std::max(size_t{length}, kBgpHeader) : bytes.left() + 1);
}

Message Of(Message::Kind kind, std::string reason = "") {
  Message message;
  message.kind = kind;
  message.reason = std::move(reason);
  return message;
}

Message Malformed(const std::string& reason) {
  return Of(Message::Kind::kMalformed, reason);
}

// bgpd puts a bare header in place of an OPEN that it has not kept (after a connection collision). The header names no family, so
// routes of any family may come.
Result<std::vector<Family>> ReadOpenFamilies(Bytes& bytes) {
  const std::string_view open = ReadBgpMessage(bytes);
  if (open.size() == kBgpHeader) return std::vector{Family::kIpv4, Family::kIpv6};
  return DecodeOpenFamilies(open);
}

Message ReadPeerUp(const PeerHeader& header, Bytes bytes) {
  Message up = Of(Message::Kind::kPeerUp);
  up.peer = header.peer;
  up.since_ms = header.since_ms;
  up.local = ReadAddress(bytes, (header.flags & kFlagV6) != 0);
  up.local_port = bytes.U16();
  up.remote_port = bytes.U16();
  const auto sent = ReadOpenFamilies(bytes);
  const auto received = ReadOpenFamilies(bytes);
  if (!bytes.ok()) return Malformed("a Peer Up that is shorter than its fields");
  if (!sent) return Malformed("Peer Up: " + sent.error().message);
  if (!received) return Malformed("Peer Up: " + received.error().message);
  for (const Family family : *sent) {
    if (std::ranges::find(*received, family) != received->end()) up.families.push_back(family);
  }
  return up;
}

Message ReadRoutes(const PeerHeader& header, Bytes bytes) {
  const auto as_size = (header.flags & kFlagTwoByteAs) != 0 ? AsSize::kTwo : AsSize::kFour;
  auto update = DecodeUpdate(bytes.Raw(bytes.left()), as_size);
  if (!update) return Malformed("Route Monitoring: " + update.error().message);
  // bgpd sends End-of-RIB as pre-policy and as post-policy, whichever of them is monitored.
  const bool post_policy = (header.flags & kFlagPostPolicy) != 0;
  if (post_policy) return Of(update->end_of_rib ? Message::Kind::kOther : Message::Kind::kPostPolicy);
  Message routes = Of(Message::Kind::kRoutes);
  routes.peer = header.peer;
  routes.update = std::move(*update);
  return routes;
}

std::string ReadTerminationReason(Bytes bytes) {
  constexpr std::array<const char*, 5> kReasons{"closed by an administrator", "unspecified",
                                                "out of resources", "a redundant connection",
                                                "closed by an administrator for good"};
  while (bytes.ok() && !bytes.empty()) {
    const uint16_t type = bytes.U16();
    Bytes value = bytes.Take(bytes.U16());
    const uint16_t reason = value.U16();
    if (type == 1 && value.ok() && reason < kReasons.size()) return kReasons[reason];
  }
  return "no reason given";
}

}  // namespace

std::string Peer::ToString() const {
  return address.ToString() + " (AS " + std::to_string(asn) + ")";
}

Result<Message> Decode(std::string_view message, Instance from) {
  Bytes bytes(message);
  const uint8_t version = bytes.U8();
  const uint32_t length = bytes.U32();
  const uint8_t type = bytes.U8();
  if (!bytes.ok() || version != kVersion || length != message.size())
    return Fail(Code::kInvalid, "not a message of BMP version 3");
  switch (type) {
    case kInitiation: return Of(Message::Kind::kStarted);
    case kTermination: return Of(Message::Kind::kEnded, ReadTerminationReason(bytes));
    case kRouteMonitoring:
    case kPeerDown:
    case kPeerUp: break;
    default:
      return Of(Message::Kind::kOther);  // statistics, mirrored messages; section 4: skip unknown types
  }
  PeerHeader header = ReadPeerHeader(bytes);
  if (!bytes.ok()) return Malformed("a message that is shorter than the header of its peer");
  if ((header.flags & kFlagOut) != 0 || header.type == kLocRib) return Of(Message::Kind::kOther);
  if (!header.IsOf(from)) {
    // Its routes are passed over in silence: the Peer Up before them has been reported.
    if (type != kPeerUp) return Of(Message::Kind::kOther);
    return Malformed("a session with " + header.peer.ToString() + " of peer type " +
                     std::to_string(header.type) + ", which is no session of this instance");
  }
  if (from == Instance::kVrf) header.peer.distinguisher = 0;
  if (type == kPeerUp) return ReadPeerUp(header, bytes);
  if (type == kRouteMonitoring) return ReadRoutes(header, bytes);
  Message down = Of(Message::Kind::kPeerDown);
  down.peer = header.peer;
  return down;
}

void Framer::Feed(std::string_view bytes) {
  buffer_.erase(0, at_);
  at_ = 0;
  buffer_.append(bytes);
}

Result<bool> Framer::Next(Message& message) {
  Bytes header(std::string_view(buffer_).substr(at_));
  if (header.empty()) return false;
  if (header.U8() != kVersion) return Fail(Code::kInvalid, "not BMP version 3");
  const uint32_t length = header.U32();
  if (!header.ok()) return false;
  if (length < kCommonHeader || length > kMaxMessage)
    return Fail(Code::kInvalid, "a BMP message of " + std::to_string(length) + " bytes");
  if (buffer_.size() - at_ < length) return false;
  RAIL_ASSIGN(message, Decode(std::string_view(buffer_).substr(at_, length), from_));
  at_ += length;
  return true;
}

}  // namespace rail::bmp
