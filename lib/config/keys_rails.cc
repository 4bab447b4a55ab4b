#include <nlohmann/json.hpp>
#include <tuple>

#include "lib/base/pci_address.h"
#include "lib/config/keys.h"
#include "lib/config/values.h"

namespace rail::config {

// For Changes().
static bool operator==(const DeviceEntry& a, const DeviceEntry& b) {
  return std::tie(a.device, a.representor) == std::tie(b.device, b.representor);
}

namespace {

using nlohmann::json;
using enum Takes;

constexpr uint64_t kMostPriority = 7;  // IEEE 802.1Q: three bits
constexpr uint64_t kMostDscp = 63;     // RFC 2474: six bits
constexpr int kEcnBits = 2;            // RFC 3168: below the DSCP

// [3], [3, 4], []
void ReadPriorities(Section& in, const Key& key, std::set<uint8_t>& priorities) {
  const json* list = in.object.Array(key.name);
  for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
    const json& value = (*list)[i];
    const bool right = value.is_number_unsigned() && value.get<uint64_t>() <= kMostPriority;
    if (right && priorities.insert(value.get<uint8_t>()).second) continue;
    in.AddValue(std::string(key.name) + "[" + std::to_string(i) + "]",
                DumpJson(value) +
                    (right ? " is in this list already" : " must be a priority, a whole number from 0 to 7"));
  }
}

void ReadPfc(Section& in, const Key& key, std::optional<std::set<uint8_t>>& pfc) {
  ReadPriorities(in, key, pfc.emplace());
}

void ReadDscpMap(Section& in, const Key& key, std::map<uint8_t, uint8_t>& map) {
  const json* entries = in.object.Object(key.name);
  if (entries == nullptr) return;
  JsonObject inner(*entries, in.PathOf(key.name), in.file.errors);
  for (const auto& [text, unused] : entries->items()) {
    const auto dscp = ParseNumber(text, kMostDscp);
    if (!dscp || text != std::to_string(*dscp)) {
      in.file.errors.Add(inner.PathOf(text), "is no DSCP, a whole number from 0 to 63");
    } else if (inner.Has(text)) {
      map[static_cast<uint8_t>(*dscp)] = static_cast<uint8_t>(inner.Uint(text, 0, kMostPriority));
    }
  }
}

// What contradicts itself would be a finding that nothing mends.
void CheckLossless(Section& in, const Key&, Lossless& wanted) {
  if (in.file.errors.size() != in.errors_before) return;
  const bool pcp = wanted.trust == Trust::kPcp;
  if (pcp && !wanted.dscp_to_priority.empty())
    in.Add("dscp_to_priority", "has no effect with \"trust\": \"pcp\"");
  if (wanted.manage_qos && wanted.trust == Trust::kDscp && wanted.dscp_to_priority.empty())
    in.Add("manage_qos",
           "true with \"trust\": \"dscp\" needs dscp_to_priority: an uplink trusts DSCP as soon as its table "
           "has an entry");
  for (const uint8_t priority : wanted.ecn) {
    if (wanted.pfc && !wanted.pfc->contains(priority))
      in.Add("ecn", "names priority " + std::to_string(priority) + ", which is not in pfc");
  }
  if (!wanted.tos || !wanted.pfc || pcp) return;
  const auto mapped = wanted.dscp_to_priority.find(static_cast<uint8_t>(*wanted.tos >> kEcnBits));
  if (mapped != wanted.dscp_to_priority.end() && !wanted.pfc->contains(mapped->second))
    in.Add("tos", std::to_string(*wanted.tos) + " is DSCP " + std::to_string(mapped->first) +
                      ", which dscp_to_priority gives priority " + std::to_string(mapped->second) +
                      ", and that is not in pfc");
}

constexpr std::string_view kTrusts[] = {"dscp", "pcp"};  // in the order of Trust
constexpr Key kLosslessRows[] = {
    Row<&Lossless::trust>("trust", "not checked", kAtOnce, OneOf(kTrusts),
                          "what gives a packet its priority"),
    Row<&Lossless::pfc>("pfc", "not checked", kAtOnce, ReadBy<ReadPfc>(),
                        "priorities 0..7 that pause, and no others"),
    Row<&Lossless::ecn>("ecn", "[]", kAtOnce, ReadBy<ReadPriorities>(),
                        "priorities 0..7, also in `pfc`, with DCQCN on at both points"),
    Row<&Lossless::dscp_to_priority>("dscp_to_priority", "{}", kAtOnce, ReadBy<ReadDscpMap>(),
                                     "DSCP (`\"0\"`..`\"63\"`) -> priority 0..7; others are not checked"),
    Row<&Lossless::tos>(
        "tos", "not checked", kAtOnce, Range(0, UINT8_MAX),
        "DSCP * 4 + ECN bits, of rdma_cm's connections. Its DSCP must lead to a priority in `pfc`"),
    Row<&Lossless::manage_qos>(
        "manage_qos", "false", kAtOnce, {},
        "raild sets and keeps `pfc`, `dscp_to_priority` and `trust`; `false` again, or `raild --remove`, "
        "puts back what was there. Trust `\"dscp\"` then needs `dscp_to_priority`"),
};

// An empty list is refused: it could mean everything or nothing.
void ReadPrefixes(Section& in, const Key& key, std::vector<IpPrefix>& prefixes) {
  constexpr char kNone[] = "must list at least one prefix (without the key, every address is accepted)";
  for (const auto& [text, at, shown] : in.Texts(key.name, 1, SIZE_MAX, kNone)) {
    const auto prefix = IpPrefix::Parse(text);
    if (prefix && prefix->HasNoHostBits()) {
      prefixes.push_back(*prefix);
    } else {
      in.AddValue(at, shown + " must be a prefix without host bits: \"10.0.0.0/16\", \"fd00:1::/48\"");
    }
  }
}

constexpr std::string_view kOneLink = "a link or device has one place";
constexpr Rule kUplink =
    Text(IsLinkName, "the name of a link: 1 to 15 bytes without '/', ':', '%' or space", kOneLink);
constexpr Rule kDevice = Text(
    [](std::string_view text) { return IsLinkName(text) || IsPciAddress(text); },
    "the name of a link (1 to 15 bytes without '/', ':', '%' or space) or a PCI address like 0000:3b:00.2",
    kOneLink);
constexpr Rule kRailName =
    Text([](std::string_view text) { return IsLabel(text) && text.size() <= 15; },
         "1 to 15 of a-z, 0-9 and '-', with no '-' at either end", "every rail has its own name");

constexpr Key kDeviceRows[] = {
    Row<&DeviceEntry::device>("device", kRequired, kAtOnce, kDevice, ""),
    Row<&DeviceEntry::representor>("representor", kRequired, kAtOnce, kUplink, ""),
};
constexpr KeyTable kDeviceKeys{kDeviceRows};

void CheckRail(Section& in, const Key&, Rail& rail) {
  if (rail.manage_sriov && !in.object.Has("num_vfs")) in.Add("num_vfs", "is missing");
  for (const char* key : {"num_vfs", "flow_steering_mode"}) {
    if (!rail.manage_sriov && in.object.Has(key))
      in.Add(key, "has an effect only with \"manage_sriov\": true");
  }
  if (rail.place.nic_planes == 3) in.AddValue("nic_planes", "must be 1, 2 or 4");
  if (in.object.Has("plane") && !in.object.Has("rail"))
    in.Add("plane", "needs \"rail\": the number of the rail that the planes have in common");
  if (in.object.Has("plane") && rail.place.nic_planes != 1)
    in.Add("nic_planes",
           "an uplink is one plane of its rail (\"plane\"), or its NIC makes the planes of one uplink: not "
           "both");

  // The rail's keys take the place of the node's, key by key; an error is in the section that says it.
  const auto node = in.file.document.find("lossless");
  const bool has_node = node != in.file.document.end() && node->is_object();
  const json* own = in.object.Object("lossless");
  if (!has_node && own == nullptr) return;
  json merged = has_node ? *node : json::object();
  if (own != nullptr) {
    for (const auto& [key, value] : own->items()) {
      if (!value.is_null()) merged[key] = value;
    }
  }
  ReadKeys(kLosslessKeys, merged, own == nullptr ? "lossless" : in.PathOf("lossless"),
           &rail.lossless.emplace(), in.file);
}

constexpr std::string_view kSteering[] = {"smfs", "dmfs", "hmfs"};
constexpr Key kRailRows[] = {
    Row<&Rail::name>("name", kRequired, kRestart, kRailName, ""),
    Row<&Rail::index>("index", kRequired, kRestart, Range(0, kLastRailIndex, "every rail has its own index"),
                      ""),
    Row<&Rail::place, &Place::rail>(
        "rail", "the index", kAtOnce, Range(0, 99),
        "the rail to people and NCCL, one for all its [planes](README.md#planes)"),
    Row<&Rail::place, &Place::plane>("plane", "0", kAtOnce, Range(0, 12), "needs `rail`; unique in the rail"),
    Row<&Rail::place, &Place::nic_planes>("nic_planes", "1", kAtOnce, Range(1, 4),
                                          "not 3: planes inside the NIC; not together with `plane`"),
    Row<&Rail::pf>("pf", kRequired, kRestart, kUplink, "the uplink"),
    Row<&Rail::bridge>("bridge", kRequired, kRestart, kUplink, "the OVS bridge"),
    Row<&Rail::mtu>("mtu", "1500", kRestart, Range(1280, 9600), "bytes; an RDMA path MTU of 4096 needs 4192"),
    Row<&Rail::pods>(
        "pods", "every address", kAtOnce, ReadBy<ReadPrefixes>(),
        "prefixes as in `accept`: the node's block, as in the leaf's filter. ADD fails for other addresses"),
    Row<&Rail::devices>("devices", "[]", kAtOnce, Of(kDeviceKeys, "[]"),
                        "devices of backend `netdev`, and VFs whose representor the kernel does not name"),
    Row<&Rail::manage_sriov>(
        "manage_sriov", "false", kRestart, {},
        "raild prepares the NIC ([lib/sriov](../sriov)): `num_vfs` VFs in switchdev mode, each with a MAC "
        "address, a node GUID and its driver. `false`: others do (sriov-network-operator)"),
    Row<&Rail::num_vfs>("num_vfs", "with `manage_sriov`: required", kRestart, Range(1, 1024), ""),
    Row<&Rail::flow_steering>("flow_steering_mode", "\"smfs\"", kRestart, OneOf(kSteering),
                              "the devlink parameter, where the driver has it"),
    Row<&Rail::accept>(
        "accept", "every address", kAtOnce, ReadBy<ReadPrefixes>(),
        "prefixes without host bits, IPv4 or IPv6 (longest /32, /128), at least one: what this rail's leaf "
        "may announce, also of other rails where it passes them on. The rest is refused, and health says so"),
    // Read by CheckRail, also where it is absent.
    Row<&Rail::lossless>("lossless", "the node's", kAtOnce, {.read = [](Section&, const Key&, void*) {}},
                         "keys as in the node's `lossless`, which these replace, each whole"),
};

}  // namespace

const KeyTable kLosslessKeys{kLosslessRows, By<CheckLossless>()};
const KeyTable kRailKeys{kRailRows, By<CheckRail>()};

}  // namespace rail::config
