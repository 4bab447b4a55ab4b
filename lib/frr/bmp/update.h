// The parts of a BGP UPDATE that raild learns remotes from: prefixes and their large communities.
//
// Use:      RAIL_ASSIGN(const Update update, DecodeUpdate(message));        // `message` begins with the BGP header
// Threads:  pure functions
// Source:   RFC 4271 section 4.3, RFC 4760 (both families), RFC 8092 (large communities), RFC 4724 section 2 (End-of-RIB),
//           RFC 7606 (what an error costs), RFC 8654 (length), RFC 8950 (no NEXT_HOP: next hops are not read)
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "lib/base/address.h"
#include "lib/base/error.h"
#include "lib/tenancy/tenancy.h"

namespace rail::bmp {

enum class Family : uint8_t { kIpv4, kIpv6 };  // unicast; other families are skipped

struct Update {
  // Host prefixes only (/32, /128), in the order of the message. An address in both lists counts as announced.
  std::vector<IpAddress> announced;
  std::vector<IpAddress> withdrawn;
  std::vector<tenancy::LargeCommunity> communities;  // of every announced prefix; no duplicates
  std::vector<uint32_t> as_path;                     // its AS numbers, with those of its sets
  std::optional<Family> end_of_rib;
  // A path attribute is malformed, so the announced prefixes count as withdrawn.
  bool treated_as_withdraw = false;
  bool operator==(const Update&) const = default;
};

// Whether an AS number in the message's AS_PATH has 2 bytes (RFC 6793: an old speaker) or 4.
enum class AsSize : uint8_t { kTwo = 2, kFour = 4 };

// Errors: kInvalid not an UPDATE, or its prefixes cannot be read: nothing can be learned from it.
Result<Update> DecodeUpdate(std::string_view message, AsSize as_size = AsSize::kFour);

// The families that one OPEN message offers (RFC 4760 section 8); IPv4 if it offers none. Errors: kInvalid.
Result<std::vector<Family>> DecodeOpenFamilies(std::string_view message);

}  // namespace rail::bmp
