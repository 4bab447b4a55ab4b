#include "lib/config/parse_frontend.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

namespace rail::config {
namespace {

constexpr size_t kMaxLinkName = 15;  // IFNAMSIZ - 1
constexpr size_t kMostLinks = 8;
constexpr size_t kMostAddresses = 16;

// A link's name that is also a word of bgpd's configuration.
bool IsLinkName(std::string_view text) {
  const auto alnum = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !text.empty() && text.size() <= kMaxLinkName && alnum(text.front()) &&
         std::ranges::all_of(text, [&](char c) { return alnum(c) || c == '.' || c == '_' || c == '-'; });
}

bool Overlap(const IpPrefix& a, const IpPrefix& b) {
  return a.length <= b.length ? a.Contains(b.address) : b.Contains(a.address);
}

class Section {
 public:
  Section(const nlohmann::json& value, NodeConfig& node, JsonErrors& errors)
      : object_(value, "frontend", errors), node_(node), errors_(errors) {}

  void Run() {
    Links();
    Addresses();
    Accept();
    node_.frontend.bfd = object_.BoolOr("bfd", false);
    if (!node_.bgp.manage)
      errors_.Add("frontend", "needs bgp.manage true: raild keeps the neighbors of these links in bgpd");
    object_.RejectUnknown();
  }

 private:
  // The strings at `key`, `least` to `most` of them.
  std::vector<std::string> Texts(std::string_view key, size_t least, size_t most) {
    const size_t known = errors_.size();
    std::vector<std::string> texts = object_.StringsOr(key);
    if (errors_.size() == known && (texts.size() < least || texts.size() > most)) {
      errors_.Add(object_.PathOf(key), "must list " + std::to_string(least) + " to " + std::to_string(most) +
                                           ", and lists " + std::to_string(texts.size()));
    }
    return texts;
  }

  std::string At(std::string_view key, size_t i) const {
    return object_.PathOf(key) + "[" + std::to_string(i) + "]";
  }

  void Links() {
    const auto links = Texts("links", 2, kMostLinks);
    std::set<std::string> seen;
    for (size_t i = 0; i < links.size(); ++i) {
      const std::string& link = links[i];
      const std::string path = At("links", i);
      const auto uses = [&](const Rail& rail) { return rail.pf == link || rail.bridge == link; };
      const auto rail = std::ranges::find_if(node_.rails, uses);
      if (!IsLinkName(link)) {
        errors_.AddValue(
            path, DumpJson(link) + " must be a link's name: 1 to 15 of letters, digits, '.', '_', '-'");
      } else if (rail != node_.rails.end()) {
        errors_.Add(path, DumpJson(link) + " belongs to rail " + rail->name +
                              ": what is announced on one must never go out on the other");
      } else if (!seen.insert(link).second) {
        errors_.Add(path, DumpJson(link) + " is there twice");
      }
    }
    node_.frontend.links = links;
  }

  void Addresses() {
    const auto texts = Texts("addresses", 1, kMostAddresses);
    for (size_t i = 0; i < texts.size(); ++i) {
      const std::string path = At("addresses", i);
      const auto prefix = IpPrefix::Parse(texts[i]);
      if (!prefix || !prefix->is_host() || !prefix->address.is_routed_unicast()) {
        errors_.AddValue(
            path, DumpJson(texts[i]) + " must be an address of this node, as /32 or /128: \"192.0.2.11/32\"");
        continue;
      }
      auto& addresses = node_.frontend.addresses;
      if (std::ranges::find(addresses, prefix->address) != addresses.end())
        errors_.Add(path, DumpJson(texts[i]) + " is there twice");
      NotOfARail(*prefix, path);
      addresses.push_back(prefix->address);
    }
  }

  void Accept() {
    auto& accept = node_.frontend.accept;
    if (!object_.Has("accept")) {
      object_.Allow("accept");
      for (const char* text : {"0.0.0.0/0", "::/0"}) accept.push_back(*IpPrefix::Parse(text));
      return;
    }
    const auto texts = Texts("accept", 1, 64);
    for (size_t i = 0; i < texts.size(); ++i) {
      const std::string path = At("accept", i);
      const auto prefix = IpPrefix::Parse(texts[i]);
      if (!prefix || !prefix->HasNoHostBits()) {
        errors_.AddValue(path,
                         DumpJson(texts[i]) + " must be a prefix without host bits, like \"10.1.0.0/16\"");
      } else if (std::ranges::find(accept, *prefix) != accept.end()) {
        errors_.Add(path, DumpJson(texts[i]) + " is there twice");
      } else {
        if (prefix->length > 0) NotOfARail(*prefix, path);
        accept.push_back(*prefix);
      }
    }
  }

  void NotOfARail(const IpPrefix& prefix, const std::string& path) {
    for (const Rail& rail : node_.rails) {
      for (const IpPrefix& of_rail : rail.accept) {
        if (of_rail.length > 0 && Overlap(prefix, of_rail))
          errors_.Add(path, prefix.ToString() + " overlaps with " + of_rail.ToString() + " of rails[" +
                                rail.name + "].accept: rails and front end share no address");
      }
    }
  }

  JsonObject object_;
  NodeConfig& node_;
  JsonErrors& errors_;
};

}  // namespace

void ParseFrontend(const nlohmann::json* value, NodeConfig& node, JsonErrors& errors) {
  if (value != nullptr) Section(*value, node, errors).Run();
}

}  // namespace rail::config
