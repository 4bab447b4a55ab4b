#include "lib/frr/running_config.h"

#include <algorithm>

#include "lib/base/parse.h"

namespace rail::frr {
namespace {

// "4200000001", or "64086.59905" where the instance says `as-notation dot`.
std::optional<uint32_t> ParseAsn(std::string_view text) {
  const size_t dot = text.find('.');
  if (dot == std::string_view::npos) return Number<uint32_t>(text);
  const auto high = Number<uint32_t>(text.substr(0, dot)), low = Number<uint32_t>(text.substr(dot + 1));
  if (!high || !low || *high > 0xffff || *low > 0xffff) return std::nullopt;
  return *high << 16 | *low;
}

void ReadNetwork(std::string_view line, FamilyConfig& family) {
  const auto words = Words(line);
  const auto prefix = IpPrefix::Parse(words.size() > 1 ? words[1] : std::string_view{});
  if (!prefix || !prefix->is_host()) return;
  std::string& route_map = family.networks[prefix->address];
  for (size_t i = 2; i + 1 < words.size(); ++i) {
    if (words[i] == "route-map") route_map = words[i + 1];
  }
}

// "permit 10", "deny 65535". The line that removes an entry names it by these words.
bool IsEntry(std::string_view text) {
  const size_t space = text.find(' ');
  if (space == std::string_view::npos) return false;
  const std::string_view kind = text.substr(0, space);
  const std::string_view number = text.substr(space + 1);
  return (kind == "permit" || kind == "deny") && !number.empty() && number.size() <= 5 &&
         number.find_first_not_of("0123456789") == std::string_view::npos;
}

class Reader {
 public:
  void Line(std::string_view raw) {
    const size_t indent = raw.find_first_not_of(' ');
    if (indent == std::string_view::npos) return;
    std::string_view line = raw.substr(indent, raw.find_last_not_of(" \r") + 1 - indent);
    if (line.empty() || line.front() == '!') return;
    if (indent == 0) {
      Top(line);
    } else if (map_ != nullptr) {
      map_->emplace_back(line);
    } else if (instance_ != nullptr && bmp_ != nullptr && indent > 1) {
      bmp_->emplace_back(line);
    } else if (instance_ != nullptr) {
      Instance(line);
    }
  }

  RunningConfig Take() { return std::move(config_); }

 private:
  void Top(std::string_view line) {
    map_ = bmp_ = nullptr;
    instance_ = nullptr;
    in_family_ = false;
    family_ = nullptr;
    if (line.starts_with("router bgp ")) {
      const auto words = Words(line);
      if (words.size() < 3) return;
      instance_ = &config_;
      for (size_t i = 3; i < words.size(); ++i) {
        if (words[i] == "view") instance_ = nullptr;
        if (words[i] == "vrf" && i + 1 < words.size()) instance_ = &config_.vrfs[std::string(words[++i])];
      }
      if (instance_ != nullptr) instance_->asn = ParseAsn(words[2]);
    } else if (line.starts_with("route-map ")) {
      const std::string_view rest = line.substr(10);
      const size_t end = std::min(rest.find(' '), rest.size());
      const std::string_view entry = rest.substr(std::min(end + 1, rest.size()));
      if (IsEntry(entry)) map_ = &config_.route_maps[std::string(rest.substr(0, end))][std::string(entry)];
    } else if (line.starts_with("bgp large-community-list ") ||
               line.starts_with("bgp as-path access-list ") || line.starts_with("ip prefix-list ") ||
               line.starts_with("ipv6 prefix-list ")) {
      config_.lists.emplace_back(line);
    }
  }

  void Instance(std::string_view line) {
    const bool ends_block = bmp_ != nullptr && line == "exit";
    bmp_ = nullptr;
    if (ends_block) return;
    if (line.starts_with("bmp targets ")) {
      bmp_ = &instance_->bmp_targets[std::string(line.substr(12))];
    } else if (line.starts_with("address-family ")) {
      in_family_ = true;
      family_ = line == "address-family ipv4 unicast"   ? &instance_->ipv4
                : line == "address-family ipv6 unicast" ? &instance_->ipv6
                                                        : nullptr;
    } else if (line == "exit-address-family") {
      in_family_ = false;
      family_ = nullptr;
    } else if (!in_family_) {
      instance_->lines.emplace_back(line);
    } else if (family_ != nullptr && line.starts_with("network ")) {
      ReadNetwork(line, *family_);
    } else if (family_ != nullptr) {
      family_->lines.emplace_back(line);
    } else {
      instance_->other_families.emplace_back(line);
    }
  }

  RunningConfig config_;
  InstanceConfig* instance_ = nullptr;
  bool in_family_ = false;
  FamilyConfig* family_ = nullptr;
  std::vector<std::string>* map_ = nullptr;
  std::vector<std::string>* bmp_ = nullptr;
};

}  // namespace

const std::string* InstanceConfig::FindNetwork(const IpAddress& address) const {
  const auto& networks = Family(address.is_v6()).networks;
  const auto it = networks.find(address);
  return it == networks.end() ? nullptr : &it->second;
}

const InstanceConfig& RunningConfig::Of(const std::string& vrf) const {
  static const InstanceConfig none;
  if (vrf.empty()) return *this;
  const auto found = vrfs.find(vrf);
  return found == vrfs.end() ? none : found->second;
}

RunningConfig ParseRunningConfig(std::string_view text) {
  Reader reader;
  for (const std::string_view line : Split(text, "\n")) reader.Line(line);
  return reader.Take();
}

}  // namespace rail::frr
