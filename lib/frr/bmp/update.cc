#include "lib/frr/bmp/update.h"

#include <algorithm>
#include <bitset>
#include <string>

#include "lib/frr/bmp/bytes.h"

namespace rail::bmp {
namespace {

constexpr size_t kMarkerSize = 16;
constexpr uint8_t kOpen = 1, kUpdate = 2;  // RFC 4271 section 4.1
constexpr uint16_t kAfiIpv4 = 1, kAfiIpv6 = 2;
constexpr uint8_t kSafiUnicast = 1;

// RFC 4271 sections 4.3 and 5, RFC 4760, RFC 8092
constexpr uint8_t kOptional = 0x80, kTransitive = 0x40, kExtendedLength = 0x10;
constexpr uint8_t kOrigin = 1, kAsPath = 2, kMpReach = 14, kMpUnreach = 15, kLargeCommunity = 32;
constexpr uint8_t kMultiprotocol = 1;  // a capability
constexpr uint8_t kCapabilities = 2;   // an optional parameter of OPEN
constexpr size_t kLargeCommunitySize = 12;

std::optional<Family> FamilyOf(uint16_t afi, uint8_t safi) {
  if (safi != kSafiUnicast) return std::nullopt;
  if (afi == kAfiIpv4) return Family::kIpv4;
  if (afi == kAfiIpv6) return Family::kIpv6;
  return std::nullopt;
}

// The body of a message of `type`.
Result<Bytes> Body(std::string_view message, uint8_t type, const char* name) {
  Bytes bytes(message);
  bytes.Raw(kMarkerSize);
  const uint16_t length = bytes.U16();
  const uint8_t found = bytes.U8();
  if (!bytes.ok() || length != message.size())
    return Fail(Code::kInvalid, "a BGP message whose length is not what its header says");
  if (found != type) {
    return Fail(Code::kInvalid,
                "a BGP message of type " + std::to_string(found) + " where " + name + " was expected");
  }
  return bytes;
}

// NLRI: a length in bits, then the bytes that hold so many bits. Appends only host prefixes. False: malformed.
bool ReadPrefixes(Bytes bytes, Family family, std::vector<IpAddress>& hosts) {
  const uint8_t bits = family == Family::kIpv4 ? 32 : 128;
  while (!bytes.empty()) {
    const uint8_t length = bytes.U8();
    if (length > bits) return false;
    const std::string_view prefix = bytes.Raw((length + 7U) / 8);
    if (!bytes.ok()) return false;
    if (length != bits) continue;
    if (const auto address = IpAddress::FromBytes(prefix)) hosts.push_back(*address);
  }
  return true;
}

AsSize Other(AsSize size) {
  return size == AsSize::kTwo ? AsSize::kFour : AsSize::kTwo;
}

// The AS numbers. Nothing: the attribute is not made of whole segments with AS numbers of that size.
std::optional<std::vector<uint32_t>> AsPath(Bytes bytes, AsSize as_size) {
  std::vector<uint32_t> numbers;
  while (!bytes.empty()) {
    const uint8_t type = bytes.U8();
    const uint8_t count = bytes.U8();
    for (int i = 0; i < count; ++i) numbers.push_back(as_size == AsSize::kTwo ? bytes.U16() : bytes.U32());
    if (!bytes.ok() || type < 1 || type > 4 || count == 0) return std::nullopt;  // 3, 4: RFC 5065
  }
  return numbers;
}

// Compares the flags as RFC 7606 section 3 (c) demands, for the attributes that are read here.
bool HasRightFlags(uint8_t type, uint8_t flags) {
  const uint8_t kind = flags & (kOptional | kTransitive);
  switch (type) {
    case kOrigin:
    case kAsPath: return kind == kTransitive;
    case kLargeCommunity: return kind == (kOptional | kTransitive);
    default: return true;
  }
}

class UpdateReader {
 public:
  explicit UpdateReader(AsSize as_size) : as_size_(as_size) {}

  Result<Update> Read(Bytes body) {
    Bytes withdrawn = body.Take(body.U16());
    Bytes attributes = body.Take(body.U16());
    if (!body.ok()) return Fail(Code::kInvalid, "a BGP UPDATE that is shorter than its fields");
    const bool empty = withdrawn.empty() && attributes.empty() && body.empty();
    if (!ReadPrefixes(withdrawn, Family::kIpv4, update_.withdrawn) ||
        !ReadPrefixes(body, Family::kIpv4, update_.announced)) {
      return Fail(Code::kInvalid, "a BGP UPDATE with a prefix that is longer than an address");
    }
    RAIL_TRY(Attributes(attributes));
    if (empty) update_.end_of_rib = Family::kIpv4;
    if (update_.treated_as_withdraw) {
      update_.withdrawn.insert(update_.withdrawn.end(), update_.announced.begin(), update_.announced.end());
      update_.announced.clear();
      update_.communities.clear();
    }
    return std::move(update_);
  }

 private:
  Status Attributes(Bytes bytes) {
    std::bitset<256> seen;
    size_t count = 0;
    bool only_mp_unreach = false;
    while (!bytes.empty()) {
      const uint8_t flags = bytes.U8();
      const uint8_t type = bytes.U8();
      const size_t length = (flags & kExtendedLength) != 0 ? bytes.U16() : bytes.U8();
      const Bytes value = bytes.Take(length);
      if (!bytes.ok()) {
        // RFC 7606 section 4: the rest of the attributes is unknown; the prefixes outside of the attributes are known.
        update_.treated_as_withdraw = true;
        return {};
      }
      ++count;
      const bool repeated = seen.test(type);
      seen.set(type);
      if (repeated) {
        if (type == kMpReach || type == kMpUnreach)
          return Fail(Code::kInvalid, "a BGP UPDATE with two attributes of prefixes of the same kind");
        continue;  // RFC 7606 section 3 (g): the first one counts
      }
      if (!HasRightFlags(type, flags)) {
        update_.treated_as_withdraw = true;
        continue;
      }
      if (type == kMpUnreach) only_mp_unreach = value.left() == 3;
      RAIL_TRY(Attribute(type, value));
    }
    if (only_mp_unreach && count == 1 && update_.announced.empty() && update_.withdrawn.empty())
      update_.end_of_rib = unreach_family_;
    return {};
  }

  Status Attribute(uint8_t type, Bytes value) {
    switch (type) {
      case kOrigin:
        if (value.left() != 1 || value.U8() > 2) update_.treated_as_withdraw = true;
        return {};
      case kAsPath:
        // bgpd does not always set the flag for the size of an AS number: if one size does not fit, try the other.
        if (auto path = AsPath(value, as_size_)) {
          update_.as_path = std::move(*path);
        } else if (auto other = AsPath(value, Other(as_size_))) {
          update_.as_path = std::move(*other);
        } else {
          update_.treated_as_withdraw = true;
        }
        return {};
      case kLargeCommunity: LargeCommunities(value); return {};
      case kMpReach: return MpReach(value);
      case kMpUnreach: return MpUnreach(value);
      default: return {};
    }
  }

  void LargeCommunities(Bytes value) {
    if (value.empty() || value.left() % kLargeCommunitySize != 0) {
      update_.treated_as_withdraw = true;  // RFC 8092 section 5
      return;
    }
    while (!value.empty()) {
      tenancy::LargeCommunity community;
      community.asn = value.U32();
      community.first = value.U32();
      community.second = value.U32();
      update_.communities.push_back(community);
    }
    std::ranges::sort(update_.communities);
    const auto repeated = std::ranges::unique(update_.communities);
    update_.communities.erase(repeated.begin(), repeated.end());
  }

  Status MpReach(Bytes value) {
    const auto family = ReadFamily(value);
    value.Raw(value.U8());  // the next hop, not used: the switch sends everything to the leaf
    value.U8();             // reserved
    if (!value.ok()) return Fail(Code::kInvalid, "a BGP UPDATE with a malformed MP_REACH_NLRI");
    if (family && !ReadPrefixes(value, *family, update_.announced))
      return Fail(Code::kInvalid, "a BGP UPDATE with a malformed prefix in MP_REACH_NLRI");
    return {};
  }

  Status MpUnreach(Bytes value) {
    unreach_family_ = ReadFamily(value);
    if (!value.ok()) return Fail(Code::kInvalid, "a BGP UPDATE with a malformed MP_UNREACH_NLRI");
    if (unreach_family_ && !ReadPrefixes(value, *unreach_family_, update_.withdrawn))
      return Fail(Code::kInvalid, "a BGP UPDATE with a malformed prefix in MP_UNREACH_NLRI");
    return {};
  }

  static std::optional<Family> ReadFamily(Bytes& value) {
    const uint16_t afi = value.U16();
    return FamilyOf(afi, value.U8());
  }

  const AsSize as_size_;
  Update update_;
  std::optional<Family> unreach_family_;
};

}  // namespace

Result<Update> DecodeUpdate(std::string_view message, AsSize as_size) {
  RAIL_ASSIGN(const Bytes body, Body(message, kUpdate, "an UPDATE"));
  return UpdateReader(as_size).Read(body);
}

Result<std::vector<Family>> DecodeOpenFamilies(std::string_view message) {
  RAIL_ASSIGN(Bytes body, Body(message, kOpen, "an OPEN"));
  body.Raw(1 + 2 + 2 + 4);  // version, AS, hold time, identifier
  size_t length = body.U8();
  bool wide = false;
  if (length == 255 && body.left() >= 3) {  // RFC 9072
    wide = body.U8() == 255;
    length = body.U16();
  }
  Bytes parameters = body.Take(length);
  std::vector<Family> families;
  bool any = false;
  while (parameters.ok() && !parameters.empty()) {
    const uint8_t type = parameters.U8();
    Bytes capabilities = parameters.Take(wide ? parameters.U16() : parameters.U8());
    if (type != kCapabilities) continue;
    while (capabilities.ok() && !capabilities.empty()) {
      const uint8_t code = capabilities.U8();
      Bytes value = capabilities.Take(capabilities.U8());
      if (code != kMultiprotocol || value.left() != 4) continue;
      any = true;
      const uint16_t afi = value.U16();
      value.U8();
      const auto family = FamilyOf(afi, value.U8());
      if (family && std::ranges::find(families, *family) == families.end()) families.push_back(*family);
    }
    if (!capabilities.ok()) return Fail(Code::kInvalid, "a BGP OPEN with a malformed capability");
  }
  if (!body.ok() || !parameters.ok())
    return Fail(Code::kInvalid, "a BGP OPEN that is shorter than its fields");
  if (!any) families.push_back(Family::kIpv4);
  return families;
}

}  // namespace rail::bmp
