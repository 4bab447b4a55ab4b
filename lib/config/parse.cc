#include <algorithm>
#include <charconv>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "lib/base/link_name.h"
#include "lib/base/pci_address.h"
#include "lib/base/strict_json.h"
#include "lib/config/document.h"
#include "lib/config/node_config.h"
#include "lib/config/parse_bursts.h"
#include "lib/config/parse_frontend.h"
#include "lib/config/parse_kubernetes.h"
#include "lib/config/parse_lossless.h"
#include "lib/config/parse_planes.h"
#include "lib/config/parse_rates.h"
#include "lib/config/parse_topology.h"
#include "lib/config/parse_vlans.h"

namespace rail::config {
namespace {

using nlohmann::json;

constexpr size_t kMaxLinkName = 15;     // IFNAMSIZ - 1
constexpr size_t kMaxSocketPath = 107;  // sockaddr_un
// The longest socket in a run folder is <run_dir>/<bridge>.mgmt.
constexpr size_t kMaxRunDir = kMaxSocketPath - 1 - kMaxLinkName - std::string_view(".mgmt").size();
constexpr size_t kMaxPath = 4095;

bool IsLowerOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

// [a-z0-9]([a-z0-9-]*[a-z0-9])? of 1..max bytes: what RFC 1123 calls a label.
bool IsLabel(std::string_view text, size_t max) {
  return !text.empty() && text.size() <= max && IsLowerOrDigit(text.front()) && IsLowerOrDigit(text.back()) &&
         std::ranges::all_of(text, [](char c) { return IsLowerOrDigit(c) || c == '-'; });
}

// A name that the kernel accepts for a link (dev_valid_name), of printable ASCII only.
bool IsLinkName(std::string_view text) {
  return !text.empty() && text.size() <= kMaxLinkName && text != "." && text != ".." &&
         !StandsForLinks(text) &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~' && c != '/' && c != ':'; });
}

bool IsPath(std::string_view text, size_t max) {
  return text.size() > 1 && text.size() <= max && text.front() == '/' &&
         text.find('\0') == std::string_view::npos;
}

// 10.0.0.5:9443, [::]:9443
bool IsListenAddress(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return false;
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  const auto address = IpAddress::Parse(host);
  uint16_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  return address && address->is_v6() == bracketed && error == std::errc() &&
         end == port.data() + port.size() && number != 0;
}

// Of IsLabel(text, 63).
constexpr std::string_view kLabelRule = "1 to 63 of a-z, 0-9 and '-', with no '-' at either end";

class Parser {
 public:
  Result<NodeConfig> Run(const json& document, std::string_view name) {
    NodeConfig node;
    JsonObject root(document, "", errors_);
    node_lossless_ = root.Object("lossless");
    ParseCluster(root, node.cluster);
    ParseRails(root, node.rails);
    ParseTenancy(root.Object("tenancy"), node.tenancy);
    ParseBgp(root, node.bgp);
    ParsePods(root.Object("pods"), node.pods);
    ParseOvs(root.Object("ovs"), node.ovs);
    ParseFrr(root.Object("frr"), node.frr);
    ParseApi(root.Object("api"), node.api);
    ParseMetrics(root.Object("metrics"), node.metrics);
    if (root.Has("rules")) {
      errors_.Add("rules",
                  "a node's own file has none: `raild --resolve-config` makes it of the file for all nodes");
    }
    ParseKubernetes(root.Object("kubernetes"), node, errors_);
    ParseBursts(root.Object("bursts"), node.bursts, errors_);
    ParseFrontend(root.Object("frontend"), node, errors_);
    ParseTopology(root.Object("topology"), node.topology, errors_);
    CheckVlans(node, errors_);
    CheckVrf(node, errors_);
    ParseRates(root.Object("rates"), node.rates, errors_);
    if (node.rates && node.tenancy.mode == TenancyMode::kOff)
      errors_.Add("rates", "has an effect only with tenants, and tenancy.mode is \"off\"");
    root.RejectUnknown();
    RAIL_TRY(errors_.ToStatus(name));
    return node;
  }
  const std::vector<JsonError>& problems() const { return errors_.all(); }

 private:
  using Accepts = std::function<bool(std::string_view)>;

  // The string at `key` of `object`, or `fallback`. If `accepts` refuses it, returns "" and adds an error that says
  // `rule`.
  std::string Text(JsonObject& object, std::string_view key, const Accepts& accepts, std::string_view rule,
                   std::optional<std::string> fallback = std::nullopt) {
    const size_t known = errors_.size();
    std::string text = fallback ? object.StringOr(key, *fallback) : object.String(key);
    if (errors_.size() != known) return {};
    if (accepts(text)) return text;
    errors_.AddValue(object.PathOf(key), DumpJson(text) + " must be " + std::string(rule));
    return {};
  }

  std::string LinkName(JsonObject& object, std::string_view key) {
    return Text(object, key, IsLinkName, "the name of a link: 1 to 15 bytes without '/', ':', '%' or space");
  }

  std::string Path(JsonObject& object, std::string_view key, size_t max, std::string fallback) {
    return Text(
        object, key, [max](std::string_view text) { return IsPath(text, max); },
        "an absolute path of at most " + std::to_string(max) + " bytes", std::move(fallback));
  }

  // Notes that `value` is used at `path`. Adds an error if another path uses it already. "" is in the errors already.
  void TakeOnce(std::map<std::string, std::string>& places, const std::string& value, const std::string& path,
                std::string_view rule) {
    if (value.empty()) return;
    const auto [place, taken] = places.emplace(value, path);
    if (!taken) {
      errors_.Add(path, DumpJson(value) + " is " + place->second + " already: " + std::string(rule));
    }
  }

  void TakeLink(const std::string& name, const std::string& path) {
    TakeOnce(links_, name, path, "a link or device has one place");
  }

  // A cluster without a name is what clusters were before names: it is let through only as a step on the way to one.
  void ParseCluster(JsonObject& root, Cluster& cluster) {
    const std::string rule(kLabelRule);
    cluster.aliases = root.StringsOr("cluster_aliases");
    const auto accepts = [&](std::string_view name) {
      return name.empty() ? !cluster.aliases.empty() : IsLabel(name, 63);
    };
    if (root.Has("cluster")) {
      cluster.name =
          Text(root, "cluster", accepts,
               "a name of your own for this cluster, which no other cluster on its fabric has: " + rule);
    } else {
      errors_.Add(
          "cluster",
          "is missing: give this cluster a name that no other cluster on its fabric has (" + rule + ")");
    }
    std::map<std::string, std::string> places = {{cluster.name, "cluster"}};
    for (size_t i = 0; i < cluster.aliases.size(); ++i) {
      const std::string place = "cluster_aliases[" + std::to_string(i) + "]";
      const std::string& alias = cluster.aliases[i];
      if (!alias.empty() && !IsLabel(alias, 63)) {
        errors_.AddValue(place,
                         DumpJson(alias) + " must be a name of this cluster: " + rule + ", or \"\" for none");
      } else if (const auto [taken, fresh] = places.emplace(alias, place); !fresh) {
        errors_.Add(place, DumpJson(alias) + " is " + taken->second + " already");
      }
    }
  }

  void ParseRails(JsonObject& root, std::vector<Rail>& rails) {
    const json* list = root.Array("rails");
    if (list == nullptr || list->empty()) {
      // A "rails" of another type is in the errors already.
      if (list != nullptr || !root.Has("rails")) errors_.Add("rails", "must list at least one rail");
      return;
    }
    for (size_t i = 0; i < list->size(); ++i) {
      const std::string path = "rails[" + std::to_string(i) + "]";
      JsonObject object((*list)[i], path, errors_);
      if ((*list)[i].is_object()) rails.push_back(ParseRail(object));
    }
    CheckPlaces(rails, errors_);
    std::ranges::sort(rails, {}, &Rail::index);
  }

  Rail ParseRail(JsonObject& object) {
    Rail rail;
    rail.name = Text(
        object, "name", [](std::string_view text) { return IsLabel(text, kMaxLinkName); },
        "1 to 15 of a-z, 0-9 and '-', with no '-' at either end");
    TakeOnce(rail_names_, rail.name, object.PathOf("name"), "every rail has its own name");

    const size_t known = errors_.size();
    rail.index = static_cast<uint32_t>(object.Uint("index", 0, kLastRailIndex));
    if (errors_.size() == known) {
      TakeOnce(indexes_, std::to_string(rail.index), object.PathOf("index"), "every rail has its own index");
    }

    rail.pf = LinkName(object, "pf");
    TakeLink(rail.pf, object.PathOf("pf"));
    rail.bridge = LinkName(object, "bridge");
    TakeLink(rail.bridge, object.PathOf("bridge"));
    rail.mtu = static_cast<uint32_t>(object.UintOr("mtu", 1500, 1280, 9600));

    if (const json* devices = object.Array("devices")) {
      for (size_t i = 0; i < devices->size(); ++i) {
        JsonObject entry((*devices)[i], object.PathOf("devices") + "[" + std::to_string(i) + "]", errors_);
        if ((*devices)[i].is_object()) rail.devices.push_back(ParseDevice(entry));
      }
    }
    ParseSriov(object, rail);
    ParsePrefixes(object, "accept", rail.accept);
    ParsePrefixes(object, "pods", rail.pods);
    rail.lossless =
        ParseLossless(node_lossless_, object.Object("lossless"), object.PathOf("lossless"), errors_);
    rail.place = ParsePlace(object, errors_);
    object.RejectUnknown();
    return rail;
  }

  // An empty list is refused: it could mean everything or nothing.
  void ParsePrefixes(JsonObject& object, const char* key, std::vector<IpPrefix>& prefixes) {
    const std::string path = object.PathOf(key);
    const size_t known = errors_.size();
    const std::vector<std::string> list = object.StringsOr(key);
    if (object.Has(key) && list.empty() && errors_.size() == known)
      errors_.Add(path, "must list at least one prefix (without the key, every address is accepted)");
    for (size_t i = 0; i < list.size(); ++i) {
      const auto prefix = IpPrefix::Parse(list[i]);
      if (prefix && prefix->HasNoHostBits()) {
        prefixes.push_back(*prefix);
      } else {
        errors_.AddValue(
            path + "[" + std::to_string(i) + "]",
            DumpJson(list[i]) + " must be a prefix without host bits: \"10.0.0.0/16\", \"fd00:1::/48\"");
      }
    }
  }

  void ParseSriov(JsonObject& object, Rail& rail) {
    rail.manage_sriov = object.BoolOr("manage_sriov", false);
    if (rail.manage_sriov) rail.num_vfs = static_cast<uint32_t>(object.Uint("num_vfs", 1, 1024));
    for (const char* key : {"num_vfs", "flow_steering_mode"}) {
      if (!rail.manage_sriov && object.Has(key)) {
        errors_.Add(object.PathOf(key), "has an effect only with \"manage_sriov\": true");
      }
    }
    const auto known = [](std::string_view mode) {
      return mode == "smfs" || mode == "dmfs" || mode == "hmfs";
    };
    rail.flow_steering = Text(object, "flow_steering_mode", known, "\"smfs\", \"dmfs\" or \"hmfs\"", "smfs");
  }

  DeviceEntry ParseDevice(JsonObject& object) {
    DeviceEntry entry;
    entry.device = Text(
        object, "device", [](std::string_view text) { return IsLinkName(text) || IsPciAddress(text); },
        "the name of a link (1 to 15 bytes without '/', ':', '%' or space) or a PCI address like "
        "0000:3b:00.2");
    TakeLink(entry.device, object.PathOf("device"));
    entry.representor = LinkName(object, "representor");
    TakeLink(entry.representor, object.PathOf("representor"));
    object.RejectUnknown();
    return entry;
  }

  void ParseTenancy(const json* value, Tenancy& tenancy) {
    const json empty = json::object();
    JsonObject object(value == nullptr ? empty : *value, "tenancy", errors_);
    const std::string mode = Text(
        object, "mode",
        [](std::string_view text) { return text == "namespace" || text == "off" || text == "vrf"; },
        "\"namespace\", \"off\" or \"vrf\"", "namespace");
    tenancy.mode = mode == "off"   ? TenancyMode::kOff
                   : mode == "vrf" ? TenancyMode::kVrf
                                   : TenancyMode::kNamespace;
    tenancy.cross_rail = object.BoolOr("cross_rail", true);
    if (!tenancy.cross_rail && tenancy.mode == TenancyMode::kOff)
      errors_.Add(object.PathOf("cross_rail"),
                  "false needs tenancy.mode \"namespace\": without it every address is let through");
    if (const json* tenants = object.Object("tenants")) {
      JsonObject map(*tenants, object.PathOf("tenants"), errors_);
      for (const auto& [name, unused] : tenants->items()) ParseTenant(map, name, tenancy.tenants[name]);
    }
    ParseVlans(object, tenancy, errors_);
    object.RejectUnknown();
  }

  void ParseTenant(JsonObject& map, const std::string& name, std::vector<std::string>& namespaces) {
    const std::string path = map.PathOf(name);
    if (!IsLabel(name, 63)) errors_.AddValue(path, "a tenant's name must be " + std::string(kLabelRule));
    const size_t known = errors_.size();
    namespaces = map.StringsOr(name);
    if (namespaces.empty() && errors_.size() == known) {
      errors_.Add(path, "must list at least one namespace");
    }
    for (size_t i = 0; i < namespaces.size(); ++i) {
      const std::string place = path + "[" + std::to_string(i) + "]";
      if (!IsLabel(namespaces[i], 63)) {
        errors_.AddValue(place, DumpJson(namespaces[i]) + " must be a namespace: " + std::string(kLabelRule));
      } else {
        TakeOnce(namespaces_, namespaces[i], place, "a namespace is in one tenant");
      }
    }
  }

  void ParseBgp(JsonObject& root, Bgp& bgp) {
    const json* value = root.Object("bgp");
    if (value == nullptr) {
      if (!root.Has("bgp")) errors_.Add("bgp", "is missing");
      return;
    }
    JsonObject object(*value, "bgp", errors_);
    bgp.manage = object.BoolOr("manage", true);
    bgp.asn = static_cast<uint32_t>(object.Uint("asn", 1, UINT32_MAX));
    bgp.community_asn = static_cast<uint32_t>(object.Uint("community_asn", 1, UINT32_MAX));
    if (object.Has("bmp_port")) bgp.bmp_port = static_cast<uint16_t>(object.Uint("bmp_port", 1, UINT16_MAX));
    bgp.max_prefixes = static_cast<uint32_t>(object.UintOr("max_prefixes", bgp.max_prefixes, 1, UINT32_MAX));
    const auto router_id = [](std::string_view text) {
      const auto address = IpAddress::Parse(text);
      return address && !address->is_v6() && !address->is_unspecified();
    };
    const std::string text = Text(object, "router_id", router_id, "an IPv4 address other than 0.0.0.0");
    if (!text.empty()) bgp.router_id = *IpAddress::Parse(text);
    object.RejectUnknown();
  }

  // A rule is looked at before those of main and default, 32766 and 32767.
  void ParsePods(const json* value, Pods& pods) {
    if (value == nullptr) return;
    constexpr uint32_t kRails = kLastRailIndex + 1;
    constexpr uint32_t kKernelsTables[] = {253, 255};
    JsonObject object(*value, "pods", errors_);
    pods.first_table =
        static_cast<uint32_t>(object.UintOr("first_table", pods.first_table, 1, UINT32_MAX - kLastRailIndex));
    if (pods.first_table <= kKernelsTables[1] && pods.first_table + kLastRailIndex >= kKernelsTables[0])
      errors_.Add(object.PathOf("first_table"),
                  "must leave out the kernel's own tables, 253 to 255: 1 to 153, or 256 and more");
    pods.first_rule =
        static_cast<uint32_t>(object.UintOr("first_rule", pods.first_rule, 1, 32766 - 2 * kRails));
    const size_t known = errors_.size();
    pods.ipam = object.StringsOr("ipam");
    if (object.Has("ipam") && pods.ipam.empty() && errors_.size() == known)
      errors_.Add(object.PathOf("ipam"),
                  "must name at least one plugin (without the key, every IPAM plugin may give addresses)");
    object.RejectUnknown();
  }

  void ParseOvs(const json* value, Ovs& ovs) {
    const json empty = json::object();
    JsonObject object(value == nullptr ? empty : *value, "ovs", errors_);
    static constexpr std::string_view kUnix = "unix:";
    const auto database = [](std::string_view text) {
      return text.starts_with(kUnix) && IsPath(text.substr(kUnix.size()), kMaxSocketPath);
    };
    const std::string db =
        Text(object, "db", database,
             "\"unix:\" and an absolute path of at most " + std::to_string(kMaxSocketPath) + " bytes",
             "unix:/run/openvswitch/db.sock");
    if (!db.empty()) ovs.db_socket = db.substr(kUnix.size());
    ovs.run_dir = Path(object, "run_dir", kMaxRunDir, "/run/openvswitch");
    ovs.manage_bridges = object.BoolOr("manage_bridges", true);
    if (object.Has("remove_foreign_flows"))
      ovs.remove_foreign_flows = object.BoolOr("remove_foreign_flows", false);
    ovs.datapath = Text(
        object, "datapath", [](std::string_view text) { return text == "system" || text == "netdev"; },
        "\"system\" or \"netdev\"", "system");
    object.RejectUnknown();
  }

  void ParseFrr(const json* value, Frr& frr) {
    const json empty = json::object();
    JsonObject object(value == nullptr ? empty : *value, "frr", errors_);
    frr.run_dir = Path(object, "run_dir", kMaxRunDir, "/run/frr");
    object.RejectUnknown();
  }

  // Every key is required: there is no listener without TLS, and none that accepts every client.
  void ParseApi(const json* value, Api& api) {
    if (value == nullptr) return;
    JsonObject object(*value, "api", errors_);
    api.listen = Text(object, "listen", IsListenAddress,
                      "an IP address and a port: \"10.0.0.5:9443\", \"[2001:db8::5]:9443\", \"[::]:9443\"");
    const auto path = [](std::string_view text) { return IsPath(text, kMaxPath); };
    const std::string rule = "an absolute path of at most " + std::to_string(kMaxPath) + " bytes";
    api.cert_file = Text(object, "cert_file", path, rule);
    api.key_file = Text(object, "key_file", path, rule);
    api.client_ca_file = Text(object, "client_ca_file", path, rule);
    object.RejectUnknown();
  }

  void ParseMetrics(const json* value, Metrics& metrics) {
    if (value == nullptr) return;
    JsonObject object(*value, "metrics", errors_);
    metrics.listen = Text(
        object, "listen", [](std::string_view text) { return text.empty() || IsListenAddress(text); },
        "an IP address and a port: \"127.0.0.1:9477\", \"[::1]:9477\"; \"\" for nowhere", "");
    metrics.pods = object.BoolOr("pods", false);
    object.RejectUnknown();
  }

  JsonErrors errors_;
  const json* node_lossless_ = nullptr;  // what holds for every rail that does not say otherwise
  // Value -> the path in the document where it is used.
  std::map<std::string, std::string> rail_names_;
  std::map<std::string, std::string> indexes_;
  std::map<std::string, std::string> links_;
  std::map<std::string, std::string> namespaces_;
};

}  // namespace

std::vector<JsonError> ProblemsOf(const json& document) {
  Parser parser;
  (void)parser.Run(document, "");
  return parser.problems();
}

Result<NodeConfig> Parse(std::string_view text) {
  RAIL_ASSIGN_AS(const json document, ParseJson(text), "node.json");
  return Parser().Run(document, "node.json");
}

Result<NodeConfig> Load(const std::string& path) {
  RAIL_ASSIGN_AS(const json document, ReadJsonFile(path), "read the node's configuration");
  return Parser().Run(document, path);
}

}  // namespace rail::config
