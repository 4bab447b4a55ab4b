#include "lib/engine/repair/origin.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "lib/base/folder.h"
#include "lib/base/strict_json.h"
#include "lib/base/whole_file.h"

namespace rail::engine {
namespace {

using nlohmann::json;

constexpr uint64_t kVersion = 1;
constexpr uint64_t kMost = UINT32_MAX;

json ToJson(const sriov::NicState& nic) {
  json text = {
      {"address", nic.address}, {"vfs", nic.vfs}, {"steering", nic.steering}, {"autoprobe", nic.autoprobe}};
  if (nic.mode) text["mode"] = *nic.mode == netlink::EswitchMode::kSwitchdev ? "switchdev" : "legacy";
  return text;
}

json ToJson(const qos::Before& before) {
  json dscp = json::object();
  for (const auto& [number, priorities] : before.dscp) dscp[std::to_string(number)] = priorities;
  json text = {{"dscp", dscp}};
  if (before.pfc) text["pfc"] = *before.pfc;
  return text;
}

json ToJson(const frr::BaseBefore& bgp) {
  json text = {{"known", bgp.known},
               {"interfaces", bgp.interfaces},
               {"lines", bgp.lines},
               {"ipv4", bgp.ipv4},
               {"ipv6", bgp.ipv6}};
  if (bgp.asn) text["asn"] = *bgp.asn;
  return text;
}

// Calls `each` for every entry of the object at `key`.
template <class Each>
void ForEach(JsonObject& object, std::string_view key, Each each) {
  const json* entries = object.Object(key);
  if (entries == nullptr) return;
  for (const auto& [name, value] : entries->items()) each(name, value, object.PathOf(key) + "." + name);
}

sriov::NicState ReadNic(const json& value, const std::string& path, JsonErrors& errors) {
  JsonObject object(value, path, errors);
  sriov::NicState nic;
  nic.address = object.String("address");
  nic.vfs = static_cast<uint32_t>(object.Uint("vfs", 0, kMost));
  nic.steering = object.String("steering");
  nic.autoprobe = object.String("autoprobe");
  if (object.Has("mode")) {
    const std::string mode = object.String("mode");
    if (mode != "switchdev" && mode != "legacy")
      errors.Add(object.PathOf("mode"), "is no mode of an eSwitch");
    nic.mode = mode == "switchdev" ? netlink::EswitchMode::kSwitchdev : netlink::EswitchMode::kLegacy;
  }
  object.RejectUnknown();
  return nic;
}

qos::Before ReadQos(const json& value, const std::string& path, JsonErrors& errors) {
  JsonObject object(value, path, errors);
  qos::Before before;
  if (object.Has("pfc")) before.pfc = static_cast<uint8_t>(object.Uint("pfc", 0, UINT8_MAX));
  ForEach(object, "dscp", [&](const std::string& dscp, const json& priorities, const std::string& where) {
    if (dscp.empty() || dscp.size() > 2 || dscp.find_first_not_of("0123456789") != std::string::npos)
      return errors.Add(where, "is no DSCP");
    std::vector<uint8_t>& list = before.dscp[static_cast<uint16_t>(std::stoul(dscp))];
    if (!priorities.is_array()) return errors.Add(where, "is no list");
    for (const json& priority : priorities) {
      if (!priority.is_number_unsigned() || priority.get<uint64_t>() > UINT8_MAX)
        return errors.Add(where, "holds something that is no priority");
      list.push_back(priority.get<uint8_t>());
    }
  });
  object.RejectUnknown();
  return before;
}

frr::BaseBefore ReadBgp(const json& value, JsonErrors& errors) {
  JsonObject object(value, "bgp", errors);
  frr::BaseBefore bgp;
  bgp.known = object.BoolOr("known", false);
  if (object.Has("asn")) bgp.asn = static_cast<uint32_t>(object.Uint("asn", 0, kMost));
  bgp.interfaces = object.StringsOr("interfaces");
  bgp.lines = object.StringsOr("lines");
  bgp.ipv4 = object.StringsOr("ipv4");
  bgp.ipv6 = object.StringsOr("ipv6");
  object.RejectUnknown();
  return bgp;
}

std::string NextHopsFile(const std::string& path) {
  return std::filesystem::path(path).parent_path() / "zebra-next-hops";
}

}  // namespace

std::string OriginText(const OriginRecord& record) {
  json text = {{"version", kVersion}, {"bridges", json::object()}, {"nics", json::object()}};
  for (const auto& [name, entry] : record.adopted) text["bridges"][name] = json::parse(entry, nullptr, false);
  for (const auto& [uplink, states] : record.nics) {
    text["nics"][uplink] = json::array();
    for (const sriov::NicState& nic : states) text["nics"][uplink].push_back(ToJson(nic));
  }
  // Without an entry it is not written: an older version refuses a key that it does not know.
  for (const auto& [uplink, before] : record.qos) text["qos"][uplink] = ToJson(before);
  if (!record.rate_parents.empty()) text["rate_parents"] = record.rate_parents;
  if (record.bgp) text["bgp"] = ToJson(*record.bgp);
  // Not in the record of a node that has none: a version that does not know the key takes that record.
  for (const IpPrefix& address : record.loopback) text["loopback"].push_back(address.ToString());
  text["left_pods"] = json::array();
  for (const LeftPod& pod : record.left_pods) {
    text["left_pods"].push_back({{"name", pod.name},
                                 {"netns", pod.netns_path},
                                 {"device", pod.identity.device},
                                 {"inode", pod.identity.inode},
                                 {"boot", pod.identity.boot}});
  }
  return text.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

Result<OriginRecord> ParseOrigin(std::string_view text) {
  RAIL_ASSIGN(const json document, ParseJson(text));
  JsonErrors errors;
  JsonObject object(document, "", errors);
  const uint64_t version = object.Uint("version", 0, UINT64_MAX);
  if (errors.empty() && version > kVersion)
    return Fail(Code::kUnsupported, "a newer version of RailCNI has written it (format " +
                                        std::to_string(version) + "): use that version");
  OriginRecord record;
  ForEach(object, "bridges", [&](const std::string& name, const json& value, const std::string& path) {
    JsonObject bridge(value, path, errors);  // with what it had before, which nobody restores any more
    if (!bridge.BoolOr("known", true) || bridge.BoolOr("existed", true)) record.adopted[name] = value.dump();
  });
  ForEach(object, "nics", [&](const std::string& uplink, const json& value, const std::string& path) {
    if (!value.is_array()) return errors.Add(path, "is no list");
    for (const json& nic : value) record.nics[uplink].push_back(ReadNic(nic, path, errors));
  });
  ForEach(object, "qos", [&](const std::string& uplink, const json& value, const std::string& path) {
    record.qos[uplink] = ReadQos(value, path, errors);
  });
  ForEach(object, "rate_parents", [&](const std::string& port, const json& value, const std::string& path) {
    if (!value.is_string()) return errors.Add(path, "is no text");
    record.rate_parents[port] = value.get<std::string>();
  });
  if (const json* bgp = object.Has("bgp") ? object.Object("bgp") : nullptr)
    record.bgp = ReadBgp(*bgp, errors);
  for (const std::string& word : object.StringsOr("loopback")) {
    const auto address = IpPrefix::Parse(word);
    if (!address) errors.Add("loopback", address.error().message);
    if (address) record.loopback.push_back(*address);
  }
  if (const json* pods = object.Array("left_pods")) {
    for (const json& value : *pods) {
      JsonObject pod(value, "left_pods", errors);
      record.left_pods.push_back(
          {pod.String("name"),
           pod.String("netns"),
           {pod.Uint("device", 0, UINT64_MAX), pod.Uint("inode", 0, UINT64_MAX), pod.StringOr("boot", "")}});
      pod.RejectUnknown();
    }
  }
  object.RejectUnknown();
  RAIL_TRY(errors.ToStatus("the record of what was there before"));
  return record;
}

Result<OriginRecord> ReadOrigin(const std::string& path) {
  const auto document = ReadJsonFile(path);
  if (!document && document.error().code != Code::kNotFound) return tl::make_unexpected(document.error());
  auto record = document ? ParseOrigin(document->dump()) : OriginRecord();
  if (!record) return FailWrapped(record.error(), path);
  std::error_code error;
  record->next_hops = std::filesystem::exists(NextHopsFile(path), error);
  return record;
}

Status WriteOrigin(const std::string& path, const OriginRecord& record) {
  // It is missing on a node that has never had state.db under this root.
  RAIL_TRY(MakeFolder(std::filesystem::path(path).parent_path().string(), 0750));
  return WriteWhole(path, OriginText(record), 0600);
}

Result<OriginRecord*> Origin::Record() {
  if (!record_) {
    RAIL_ASSIGN_AS(record_, ReadOrigin(path_), "record what was there before");
  }
  return &*record_;
}

// What is not on the disk is not kept in memory either.
Status Origin::Change(const std::function<Status(OriginRecord&)>& change) {
  const std::scoped_lock lock(mutex_);
  RAIL_ASSIGN(const OriginRecord* record, Record());
  OriginRecord next = *record;
  RAIL_TRY(change(next));
  if (next == *record) return {};
  RAIL_TRY_AS(WriteOrigin(path_, next), "record what was there before");
  record_ = std::move(next);
  return {};
}

bool Origin::IsAdopted(const std::string& name) {
  const auto record = Read();
  return !record || record->adopted.contains(name);
}

Result<OriginRecord> Origin::Read() {
  const std::scoped_lock lock(mutex_);
  RAIL_ASSIGN(const OriginRecord* record, Record());
  return *record;
}

Status Origin::Nic(const std::string& uplink,
                   const std::function<Result<std::vector<sriov::NicState>>()>& look) {
  return Change([&](OriginRecord& next) -> Status {
    if (next.nics.contains(uplink)) return {};
    RAIL_ASSIGN(next.nics[uplink], look());
    return {};
  });
}

Status Origin::Qos(const std::string& uplink, const qos::Before& before) {
  return Change([&](OriginRecord& next) -> Status {
    qos::Merge(next.qos[uplink], before);
    return {};
  });
}

Status Origin::ForgetQos(const std::string& uplink) {
  return Change([&](OriginRecord& next) -> Status {
    next.qos.erase(uplink);
    return {};
  });
}

Status Origin::RateParent(const std::string& port, const std::string& parent) {
  return Change([&](OriginRecord& next) -> Status {
    if (parent.empty())
      next.rate_parents.erase(port);
    else
      next.rate_parents[port] = parent;
    return {};
  });
}

Status Origin::Bgp(const std::vector<std::string>& interfaces,
                   const std::function<Result<frr::BaseBefore>()>& look) {
  return Change([&](OriginRecord& next) -> Status {
    const auto is_recorded = [&](const std::string& interface) {
      return std::ranges::find(next.bgp->interfaces, interface) != next.bgp->interfaces.end();
    };
    if (next.bgp && std::ranges::all_of(interfaces, is_recorded)) return {};
    RAIL_ASSIGN(const frr::BaseBefore seen, look());
    if (next.bgp)
      frr::Merge(*next.bgp, seen);
    else
      next.bgp = seen;
    return {};
  });
}

Status Origin::LoopbackAdded(const IpPrefix& address) {
  return Change([&](OriginRecord& next) -> Status {
    if (std::ranges::find(next.loopback, address) == next.loopback.end()) next.loopback.push_back(address);
    return {};
  });
}

Status Origin::LoopbackGone(const IpPrefix& address) {
  return Change([&](OriginRecord& next) -> Status {
    std::erase(next.loopback, address);
    return {};
  });
}

// The file itself is the record. A key of origin.json would keep an earlier version from reading the rest.
Status Origin::NextHops() {
  const std::scoped_lock lock(mutex_);
  RAIL_ASSIGN(OriginRecord * record, Record());
  if (record->next_hops) return {};
  RAIL_TRY(MakeFolder(std::filesystem::path(path_).parent_path().string(), 0750));
  RAIL_TRY(WriteWhole(NextHopsFile(path_), "", 0600));
  record->next_hops = true;
  return {};
}

}  // namespace rail::engine
