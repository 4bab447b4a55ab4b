#include "lib/config/cluster_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/config/values.h"

namespace rail::config {
namespace {

using nlohmann::json;

constexpr uint64_t kUsualBits = 16;  // of a node's address, where the file does not say

uint32_t NumberOf(const IpAddress& v4) {
  uint32_t number = 0;
  for (const char byte : v4.bytes()) number = number << 8 | static_cast<unsigned char>(byte);
  return number;
}

std::string AddressOf(uint32_t number) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(number >> shift & 0xff));
  return IpAddress::FromBytes(bytes)->ToString();
}

// Decimal digits only: no sign, no space.
Result<uint32_t> NumberIn(std::string_view text) {
  if (const auto number = ParseNumber(text, UINT32_MAX)) return static_cast<uint32_t>(*number);
  return Fail(Code::kInvalid, DumpJson(std::string(text)) + " is not a whole number from 0 to 4294967295");
}

Result<IpAddress> ParseIpv4(std::string_view text) {
  auto address = IpAddress::Parse(text);
  if (!address || address->is_v6())
    return Fail(Code::kInvalid, DumpJson(std::string(text)) + " is not an IPv4 address");
  return address;
}

// One of the two keys, written as an object.
class Derivation {
 public:
  Derivation(const json& value, std::string path, bool is_address, const NodeFacts& node, JsonErrors& errors)
      : value_(value),
        is_address_(is_address),
        node_(node),
        object_(value, std::move(path), errors),
        errors_(errors) {}

  // Nothing: it is in the errors why.
  std::optional<uint32_t> Run() {
    const size_t known = errors_.size();
    const std::optional<uint64_t> base = Base();
    const std::optional<uint32_t> own = Own(base.has_value());
    object_.RejectUnknown();
    if (!own || errors_.size() != known) return std::nullopt;
    const uint64_t sum = base.value_or(0) + *own;
    if (sum > UINT32_MAX) {
      Refuse("base", "with " + std::to_string(*own) + " of node " + node_.name + " it is " +
                         std::to_string(sum) + ", and 4294967295 is the largest");
      return std::nullopt;
    }
    return static_cast<uint32_t>(sum);
  }

 private:
  void Refuse(std::string_view key, const std::string& what) { errors_.Add(object_.PathOf(key), what); }

  std::optional<uint64_t> Base() {
    if (!object_.Has("base")) return std::nullopt;
    if (!is_address_) return object_.Uint("base", 0, UINT32_MAX);
    const size_t known = errors_.size();
    const std::string text = object_.String("base");
    if (errors_.size() != known) return 0;
    const auto address = ParseIpv4(text);
    if (address) return NumberOf(*address);
    Refuse("base", address.error().message);
    return 0;
  }

  // What the node itself says.
  std::optional<uint32_t> Own(bool has_base) {
    object_.Allow("from");
    const auto from = value_.find("from");
    if (from != value_.end() && *from == "node_ip") return FromIp(has_base);
    if (from != value_.end() && *from == "node_name") return FromName(has_base);
    if (from != value_.end() && from->is_object()) return FromLabel(*from, has_base);
    Refuse("from", R"(must be "node_ip", "node_name" or {"label": KEY})");
    return std::nullopt;
  }

  std::optional<uint32_t> FromIp(bool has_base) {
    uint64_t bits = 32;
    if (is_address_) {
      if (has_base) Refuse("base", "has no effect with \"node_ip\": the router's id is the node's address");
    } else {
      if (!has_base) Refuse("base", "is missing: what the node's address is added to");
      bits = object_.UintOr("bits", kUsualBits, 1, 32);
    }
    if (!node_.ip) {
      Refuse("from", "the address of node " + node_.name + " is not known");
    } else if (node_.ip->is_v6()) {
      Refuse("from", "node " + node_.name + " has the address " + node_.ip->ToString() +
                         R"(, and only an IPv4 address gives a number: use "node_name" or a label)");
    } else {
      return static_cast<uint32_t>(NumberOf(*node_.ip) & ((uint64_t{1} << bits) - 1));
    }
    return std::nullopt;
  }

  std::optional<uint32_t> FromName(bool has_base) {
    if (!has_base) Refuse("base", "is missing: what the number in the node's name is added to");
    const std::string pattern = object_.StringOr("pattern", "");
    const size_t star = pattern.find('*');
    if (star == std::string::npos || pattern.find('*', star + 1) != std::string::npos) {
      Refuse("pattern",
             R"(must be a node's name with one '*' where its number is: "gpu-*", "gpu-*.example.com")");
      return std::nullopt;
    }
    const std::string_view name = node_.name;
    const std::string_view before = std::string_view(pattern).substr(0, star);
    const std::string_view after = std::string_view(pattern).substr(star + 1);
    if (name.size() > before.size() + after.size() && name.starts_with(before) && name.ends_with(after)) {
      const auto number = NumberIn(name.substr(before.size(), name.size() - before.size() - after.size()));
      if (number) return *number;
    }
    Refuse("pattern", DumpJson(pattern) + " does not fit the node's name, " + node_.name +
                          ": the '*' stands for a whole number. A rule can set this key for such nodes");
    return std::nullopt;
  }

  std::optional<uint32_t> FromLabel(const json& from, bool has_base) {
    JsonObject object(from, object_.PathOf("from"), errors_);
    const std::string key = object.String("label");
    object.RejectUnknown();
    if (key.empty()) return std::nullopt;
    const std::string where = "label " + key + " of node " + node_.name;
    if (!node_.labels) {
      errors_.Add(object.PathOf("label"), "the labels of node " + node_.name + " are not known");
      return std::nullopt;
    }
    const auto label = node_.labels->find(key);
    if (label == node_.labels->end()) {
      errors_.Add(object.PathOf("label"), "node " + node_.name + " has no label " + key);
      return std::nullopt;
    }
    tl::expected<uint32_t, Error> number = NumberIn(label->second);
    if (is_address_ && !has_base) number = ParseIpv4(label->second).map(NumberOf);
    if (number) return *number;
    errors_.Add(object.PathOf("label"), where + ": " + number.error().message);
    return std::nullopt;
  }

  const json& value_;
  const bool is_address_;
  const NodeFacts& node_;
  JsonObject object_;
  JsonErrors& errors_;
};

}  // namespace

json* DerivedAt(json& document, const char* key) {
  const auto bgp = document.find("bgp");
  if (bgp == document.end() || !bgp->is_object()) return nullptr;
  const auto value = bgp->find(key);
  return value == bgp->end() || !value->is_object() ? nullptr : &*value;
}

void Derive(json& document, const NodeFacts& node, JsonErrors& errors) {
  if (json* asn = DerivedAt(document, "asn")) {
    if (const auto number = Derivation(*asn, "bgp.asn", false, node, errors).Run()) *asn = *number;
  }
  if (json* router_id = DerivedAt(document, "router_id")) {
    if (const auto number = Derivation(*router_id, "bgp.router_id", true, node, errors).Run())
      *router_id = AddressOf(*number);
  }
}

bool DerivesFromLabels(const json& document) {
  json copy = document;
  return std::ranges::any_of(std::initializer_list<const char*>{"asn", "router_id"}, [&](const char* key) {
    const json* value = DerivedAt(copy, key);
    return value != nullptr && value->contains("from") && (*value)["from"].is_object();
  });
}

}  // namespace rail::config
