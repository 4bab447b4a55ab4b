// Ethernet frames made by hand, as a pod sends them, or as it must not.
//
// Use:      std::string frame = Ethernet({.source = mac, .target = gateway}, Ip(mine, theirs, kUdp, Udp(mine, theirs, 4791, payload)));
// Threads:  pure functions
// Source:   RFC 826 (ARP), 791, 8200, 768, 9293 (TCP), 4861 (ND); IEEE 802.1Q
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/base/address.h"

namespace rail::accept {

constexpr uint16_t kRocePort = 4791;
constexpr uint16_t kExperiment = 0x88B5;  // EtherType for local experiments
constexpr uint16_t kBgpPort = 179;
constexpr uint8_t kTcp = 6;
constexpr uint8_t kUdp = 17;
constexpr uint8_t kIcmpV6 = 58;

constexpr MacAddress kBroadcast{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

// What follows an Ethernet header: EtherType and bytes.
struct Packet {
  uint16_t type = 0;
  std::string bytes;
};

struct Link {
  MacAddress source;
  MacAddress target;
  std::optional<uint16_t> vlan;  // 802.1Q tag, 0..4095
};

std::string Ethernet(const Link& link, const Packet& packet);

// Both addresses are of one family. `tos`: DSCP and ECN.
Packet Ip(const IpAddress& source, const IpAddress& target, uint8_t protocol, const std::string& payload,
          uint8_t tos = 0);
std::string Udp(const IpAddress& source, const IpAddress& target, uint16_t port, const std::string& payload);
// The segment with which a connection begins, and what each answer to it has in a row: addresses and ports.
std::string TcpSyn(const IpAddress& source, const IpAddress& target, uint16_t port);
std::string AnswerMark(const IpAddress& source, const IpAddress& target, uint16_t port);
// `body`: after the checksum.
std::string IcmpV6(const IpAddress& source, const IpAddress& target, uint8_t type, const std::string& body);

// Who has `wanted`? tell `sender`. `trailer`: after the packet, where nobody reads.
Packet ArpRequest(const MacAddress& sender_mac, const IpAddress& sender, const IpAddress& wanted,
                  const std::string& trailer);
// fe80::/64 with the interface identifier of a MAC address (EUI-64).
IpAddress LinkLocal(const MacAddress& mac);

// The TOS byte, or the traffic class, of a frame; nothing: it is not IP, or cut before it.
std::optional<uint8_t> TosOf(const std::string& frame);
// Whether a TCP segment refuses a connection (RST); else it begins one. Of IPv4 and IPv6 without options.
bool IsRefusal(const std::string& frame);

}  // namespace rail::accept
