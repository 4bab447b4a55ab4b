// What the other end of a link says of itself in a frame of LLDP: which switch it is, and which port.
//
// Use:      RAIL_ASSIGN(const lldp::Neighbour neighbour, lldp::Parse(frame));
// Threads:  pure functions
// Source:   IEEE 802.1AB-2016, clauses 8.2 (TLVs), 8.5 (chassis, port, time to live, port description, system name)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/base/error.h"

namespace rail::lldp {

constexpr uint16_t kEtherType = 0x88cc;
constexpr size_t kMostFrame = 1536;  // bytes; a longer one is none of LLDP's

struct Neighbour {
  std::string chassis;           // "00:1c:73:0a:0b:0c", an address, or what the switch calls itself
  std::string port;              // "swp3", "Ethernet3/1", or a MAC address
  std::string port_description;  // "": it says none, as system_name
  std::string system_name;       // "leaf3"
  uint16_t ttl = 0;              // s, for which this holds; 0: it is about to go
  bool operator==(const Neighbour&) const = default;
};

// `frame`: from its destination address on. Text has no control characters, and is of the length that the frame gives it, at most 255
// bytes. Errors: kInvalid, with what is wrong: no frame of LLDP, a field that is missing, twice, out of order or too short, or a field that
// ends after the frame.
Result<Neighbour> Parse(std::string_view frame);

}  // namespace rail::lldp
