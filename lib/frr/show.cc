#include "lib/frr/show.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "lib/base/parse.h"
#include "lib/base/strict_json.h"
#include "lib/base/utf8.h"

namespace rail::frr {
namespace {

using nlohmann::json;

constexpr JsonLimits kSmall{.max_bytes = size_t{16} << 20, .max_depth = 16};

Result<json> ParseObject(std::string_view text) {
  auto document = ParseJson(text, kSmall);
  if (!document) return Fail(Code::kInternal, document.error().message);
  if (!document->is_object()) return Fail(Code::kInternal, "the answer is not an object");
  return std::move(*document);
}

// The object under `key`, or nullptr.
const json* ObjectAt(const json& object, const std::string& key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_object() ? &*it : nullptr;
}

bool IsTrue(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_boolean() && it->get<bool>();
}

uint64_t NumberAt(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number_unsigned() ? it->get<uint64_t>() : 0;
}

std::string StringAt(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

constexpr size_t kMostName = 64;  // bytes: the hostname of a capability may have 255 (Linux has 64)
constexpr const char* kFamilies[] = {"ipv4Unicast", "ipv6Unicast"};

// A neighbor sends End-of-RIB when both sides do graceful restart, in every family that both support.
bool IsEndOfRibDue(const json& neighbor) {
  const json* capabilities = ObjectAt(neighbor, "neighborCapabilities");
  if (capabilities == nullptr || StringAt(*capabilities, "gracefulRestart") != "advertisedAndReceived")
    return false;
  const json* restart = ObjectAt(neighbor, "gracefulRestartInfo");
  const json* ended = restart == nullptr ? nullptr : ObjectAt(*restart, "endOfRibRecv");
  const json* families = ObjectAt(*capabilities, "multiprotocolExtensions");
  if (ended == nullptr || families == nullptr) return false;
  return std::ranges::any_of(kFamilies, [&](const char* family) {
    const json* both = ObjectAt(*families, family);
    return both != nullptr && IsTrue(*both, "advertisedAndReceived") && !IsTrue(*ended, family);
  });
}

// "0602": code and subcode, in hexadecimal. Only the ends by a NOTIFICATION have it.
std::optional<Notification> NotificationOf(const json& neighbor, const std::string& due_to) {
  const bool received = due_to == "BGP Notification received";
  const std::string code = StringAt(neighbor, "lastErrorCodeSubcode");
  if (code.size() != 4 || (!received && due_to != "BGP Notification send")) return std::nullopt;
  const auto both = Number<uint16_t>(code, 16);
  if (!both) return std::nullopt;
  return Notification{static_cast<uint8_t>(*both >> 8), static_cast<uint8_t>(*both & 0xff), received,
                      StringAt(neighbor, "lastNotificationReason")};
}

// What bgpd has kept of the OPEN that it has received.
std::optional<Leaf> LeafIn(const json& neighbor) {
  const auto router_id = IpAddress::Parse(StringAt(neighbor, "remoteRouterId"));
  const uint64_t asn = NumberAt(neighbor, "remoteAs");
  if (!router_id || asn == 0 || asn > UINT32_MAX) return std::nullopt;
  return Leaf{static_cast<uint32_t>(asn), *router_id,
              ValidUtf8(StringAt(neighbor, "hostname").substr(0, kMostName))};
}

// Adds the sessions of one instance's summary.
void AddSessions(const json& summary, std::map<std::string, Session>& sessions) {
  for (const char* family : kFamilies) {
    const json* section = ObjectAt(summary, family);
    const json* peers = section == nullptr ? nullptr : ObjectAt(*section, "peers");
    if (peers == nullptr) continue;
    for (const auto& [name, peer] : peers->items()) {
      const auto address = IpAddress::Parse(name);
      const bool link_local = address && address->is_link_local();
      if (!peer.is_object() || (StringAt(peer, "idType") != "interface" && !link_local)) continue;
      Session& session = sessions[name];
      session.interface = name;
      if (link_local) session.peer = *address;
      // A family that the peer did not negotiate has a state of its own; the session is up when one family
      // is.
      if (!session.established()) session.state = StringAt(peer, "state");
      session.uptime_ms = std::max(session.uptime_ms, NumberAt(peer, "peerUptimeMsec"));
      const auto received = static_cast<uint32_t>(NumberAt(peer, "pfxRcd"));
      session.prefixes_received += received;
      session.most_prefixes = std::max(session.most_prefixes, received);
      session.prefixes_sent += static_cast<uint32_t>(NumberAt(peer, "pfxSnt"));
    }
  }
}

std::vector<Session> ListOf(std::map<std::string, Session>& sessions) {
  std::vector<Session> list;
  for (auto& [name, session] : sessions) list.push_back(std::move(session));
  return list;
}

// What one instance's answer says of the neighbor of the session.
void AddNeighbor(const json& neighbors, Session& session) {
  const json* neighbor = ObjectAt(neighbors, session.interface);
  if (neighbor == nullptr) return;
  const auto address = IpAddress::Parse(StringAt(*neighbor, "bgpNeighborAddr"));
  if (address) session.peer = *address;  // "none" while no router advertisement has come
  session.end_of_rib_due = session.established() && IsEndOfRibDue(*neighbor);
  if (session.established()) {
    session.leaf = LeafIn(*neighbor);
    return;
  }
  session.shut_down = IsTrue(*neighbor, "adminShutDown");
  session.last_reset = StringAt(*neighbor, "lastResetDueTo");
  session.notification = NotificationOf(*neighbor, session.last_reset);
}

}  // namespace

Result<bool> DecodeInAdjRibOut(std::string_view text, const std::string& interface) {
  RAIL_ASSIGN_AS(const json prefix, ParseObject(text), "bgpd's answer about a prefix");
  const json* advertised = ObjectAt(prefix, "advertisedTo");
  if (advertised == nullptr || !advertised->contains(interface)) return false;
  const auto paths = prefix.find("paths");
  if (paths == prefix.end() || !paths->is_array()) return false;
  bool ours = false;
  for (const json& path : *paths) {
    if (!path.is_object()) continue;
    if (IsTrue(path, "processScheduled")) return false;
    if (IsTrue(path, "removed") || !(IsTrue(path, "sourced") || IsTrue(path, "local"))) continue;
    const json* best = ObjectAt(path, "bestpath");
    ours = ours || (best != nullptr && IsTrue(*best, "overall"));
  }
  return ours;
}

Result<std::optional<std::string>> DecodeElsewhere(std::string_view text) {
  RAIL_ASSIGN_AS(const json prefix, ParseObject(text), "bgpd's answer about a prefix");
  const auto paths = prefix.find("paths");
  if (paths == prefix.end() || !paths->is_array()) return std::nullopt;
  for (const json& path : *paths) {
    if (!path.is_object() || IsTrue(path, "removed") || IsTrue(path, "stale")) continue;
    if (IsTrue(path, "sourced") || IsTrue(path, "local")) continue;
    const json* as_path = ObjectAt(path, "aspath");
    return as_path == nullptr ? "" : StringAt(*as_path, "string");
  }
  return std::nullopt;
}

Result<std::set<std::string>> DecodeUsedLinks(std::string_view text) {
  RAIL_ASSIGN_AS(const json prefix, ParseObject(text), "bgpd's answer about a prefix");
  std::set<std::string> links;
  const auto paths = prefix.find("paths");
  if (paths == prefix.end() || !paths->is_array()) return links;
  for (const json& path : *paths) {
    if (!path.is_object() || !IsTrue(path, "valid") || IsTrue(path, "removed")) continue;
    const json* best = ObjectAt(path, "bestpath");
    const json* peer = ObjectAt(path, "peer");
    const bool used = IsTrue(path, "multipath") || (best != nullptr && IsTrue(*best, "overall"));
    const std::string link = peer == nullptr ? "" : StringAt(*peer, "interface");
    if (used && !link.empty()) links.insert(link);
  }
  return links;
}

Result<std::vector<Session>> DecodeSessions(std::string_view text) {
  RAIL_ASSIGN_AS(const json summary, ParseObject(text), "bgpd's summary");
  std::map<std::string, Session> sessions;
  AddSessions(summary, sessions);
  return ListOf(sessions);
}

Result<std::vector<Session>> DecodeAllSessions(std::string_view text) {
  RAIL_ASSIGN_AS(const json all, ParseObject(text), "bgpd's summary of all instances");
  std::map<std::string, Session> sessions;
  for (const auto& [vrf, summary] : all.items()) {
    if (summary.is_object()) AddSessions(summary, sessions);
  }
  return ListOf(sessions);
}

Status DecodeAllNeighbors(std::string_view text, std::vector<Session>& sessions) {
  RAIL_ASSIGN_AS(const json all, ParseObject(text), "bgpd's answer about all neighbors");
  std::map<std::string_view, Session*> by_interface;
  for (Session& session : sessions) by_interface.emplace(session.interface, &session);
  for (const auto& [vrf, neighbors] : all.items()) {
    if (!neighbors.is_object()) continue;
    for (const auto& [interface, neighbor] : neighbors.items()) {
      const auto session = by_interface.find(interface);
      if (session != by_interface.end()) AddNeighbor(neighbors, *session->second);
    }
  }
  return {};
}

Result<std::optional<IpAddress>> DecodeIdentifier(std::string_view text) {
  RAIL_ASSIGN_AS(const json summary, ParseObject(text), "bgpd's summary");
  for (const char* family : kFamilies) {
    const json* section = ObjectAt(summary, family);
    const auto id =
        section == nullptr ? Fail(Code::kNotFound, "") : IpAddress::Parse(StringAt(*section, "routerId"));
    if (id) return std::optional(*id);
  }
  return std::optional<IpAddress>();
}

Result<uint64_t> DecodeTableVersion(std::string_view text) {
  RAIL_ASSIGN_AS(const json summary, ParseObject(text), "bgpd's summary");
  uint64_t version = 0;
  for (const char* family : kFamilies) {
    const json* section = ObjectAt(summary, family);
    // Not a plain sum: a smaller number in one family must not cancel a larger one in the other.
    version =
        version * 0x9e3779b97f4a7c15 + (section == nullptr ? 0 : NumberAt(*section, "tableVersion") + 1);
  }
  return version;
}

Result<std::string> DecodeState(std::string_view text, const std::string& interface) {
  RAIL_ASSIGN_AS(const json neighbors, ParseObject(text), "bgpd's answer about a neighbor");
  const json* neighbor = ObjectAt(neighbors, interface);
  if (neighbor == nullptr) return Fail(Code::kNotFound, "bgpd has no neighbor " + interface);
  std::string state = StringAt(*neighbor, "bgpState");
  if (state.empty()) return Fail(Code::kInternal, "bgpd's answer about a neighbor has no state");
  return state;
}

Status DecodeNeighbor(std::string_view text, Session& session) {
  RAIL_ASSIGN_AS(const json neighbors, ParseObject(text), "bgpd's answer about a neighbor");
  AddNeighbor(neighbors, session);
  return {};
}

Result<std::vector<IpPrefix>> DecodeAdvertised(std::string_view text) {
  std::vector<IpPrefix> prefixes;
  RAIL_ASSIGN(const json document, ParseObject(text));
  const json* routes = ObjectAt(document, "advertisedRoutes");
  if (routes == nullptr) return prefixes;
  for (const auto& [key, route] : routes->items()) {
    if (const auto prefix = IpPrefix::Parse(key)) prefixes.push_back(*prefix);
  }
  return prefixes;
}

}  // namespace rail::frr
