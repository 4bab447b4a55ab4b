// Messages as a router would send them, built field by field from the RFCs, for tests.
//
// Use:      const std::string bytes = BmpRoutes(peer, BgpUpdate({.announced = {"10.0.3.7/32"}, .communities = {tenant, rail}}));
// Threads:  pure functions
// Source:   RFC 4271, 4760, 8092 (BGP); RFC 7854 (BMP)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/frr/bmp/message.h"

namespace rail::bmp::testing {

std::string FromHex(std::string_view hex);

std::string U8(uint8_t value);
std::string U16(uint16_t value);
std::string U32(uint32_t value);

// A BGP message of `type` around `body`.
std::string BgpMessage(uint8_t type, std::string_view body);
// One path attribute; the length field is as wide as `flags` says.
std::string Attribute(uint8_t flags, uint8_t type, std::string_view value);
// "10.0.3.7/32" as NLRI.
std::string Nlri(const std::vector<std::string>& prefixes);

struct UpdateParts {
  std::vector<std::string> announced;  // both families; IPv6 goes into MP_REACH_NLRI
  std::vector<std::string> withdrawn;
  std::vector<tenancy::LargeCommunity> communities;
};
std::string BgpUpdate(const UpdateParts& parts);
std::string BgpEndOfRib(Family family);
// With one multiprotocol capability for each family.
std::string BgpOpen(const std::vector<Family>& families);

std::string BmpMessage(uint8_t type, std::string_view body);
std::string BmpPeerHeader(const Peer& peer, int64_t since_ms = 0, uint8_t more_flags = 0, uint8_t type = 0);
std::string BmpPeerUp(const Peer& peer, int64_t since_ms = 0,
                      const std::vector<Family>& families = {Family::kIpv4});
std::string BmpPeerDown(const Peer& peer, uint8_t reason = 4);
std::string BmpRoutes(const Peer& peer, std::string_view update, uint8_t more_flags = 0);

}  // namespace rail::bmp::testing
