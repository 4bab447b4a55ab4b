#include "lib/kubelet/prepared_claims.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "lib/base/folder.h"
#include "lib/base/strict_json.h"
#include "lib/base/whole_file.h"
#include "lib/kubelet/cdi.h"

namespace rail::kubelet {
namespace {

using nlohmann::json;
using Devices = PreparedClaims::Devices;
using Holding = PreparedClaims::Holding;

struct Record {
  Holding holding;
  bool has_devices = false;  // they could be read
  std::string boot;
  json cdi;  // null: no request has edits
};

bool IsSame(const AllocatedDevice& a, const AllocatedDevice& b) {
  return a.pool == b.pool && a.device == b.device;
}

std::string ToText(const ClaimName& claim) {
  return claim.pod_namespace + "/" + claim.name + " (" + claim.uid + ")";
}

Status RemoveAll(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) return FailErrno(error.value(), "remove " + path);
  return {};
}

Status Check(const ClaimName& claim, const Devices& devices) {
  std::vector<std::pair<std::string, const char*>> names = {
      {claim.uid, "-"}, {claim.pod_namespace, "-"}, {claim.name, "-."}};
  for (const AllocatedDevice& each : devices) {
    names.insert(names.end(), {{each.request, "-/"}, {each.pool, "-./"}, {each.device, "-"}});
    if (std::ranges::count_if(devices, [&](const auto& other) { return IsSame(each, other); }) > 1)
      return Fail(Code::kInvalid, "device " + each.pool + "/" + each.device + " stands twice in it");
  }
  for (const auto& [name, between] : names) {
    if (!IsName(name, between)) return Fail(Code::kInvalid, "\"" + name + "\" cannot be a name in a claim");
  }
  if (devices.empty()) return Fail(Code::kInvalid, "it has no device of this driver");
  return {};
}

json ToJson(const Record& record) {
  const auto& [claim, prepared, problem] = record.holding;
  json devices = json::array();
  for (const auto& [of, names] : prepared)
    devices.push_back(
        {{"request", of.request}, {"pool", of.pool}, {"device", of.device}, {"cdi_names", names}});
  return {{"format", 1},        {"namespace", claim.pod_namespace},
          {"name", claim.name}, {"uid", claim.uid},
          {"devices", devices}, {"boot", record.boot},
          {"cdi", record.cdi},  {"pod_claim", claim.pod_claim}};
}

// What is wrong is the holding's problem.
Record FromJson(const Result<json>& document, const std::string& path) {
  Record record;
  auto& [claim, prepared, problem] = record.holding;
  claim.uid = std::filesystem::path(path).stem();
  JsonErrors errors;
  if (document) {
    JsonObject object(*document, "", errors);
    const json* devices = object.Array("devices");
    if (devices == nullptr || devices->empty()) errors.Add("devices", "is missing");
    for (size_t i = 0; devices != nullptr && i < devices->size(); ++i) {
      JsonObject device((*devices)[i], "devices[" + std::to_string(i) + "]", errors);
      prepared.push_back({{device.String("request"), device.String("pool"), device.String("device")},
                          device.StringsOr("cdi_names")});
    }
    record.has_devices = errors.empty();
    object.Uint("format", 1, 1);
    claim.pod_namespace = object.String("namespace");
    claim.name = object.String("name");
    if (object.String("uid") != claim.uid) errors.Add("uid", "is not that of the file's name");
    record.boot = object.StringOr("boot", "");
    claim.pod_claim = object.StringOr("pod_claim", "");
    if (const json* cdi = object.Object("cdi")) record.cdi = *cdi;
  }
  const Status read = document ? errors.ToStatus(path) : tl::make_unexpected(document.error());
  if (!read)
    problem = "a claim's record is damaged, and nobody else gets its devices: " + read.error().message +
              ": delete the claim's pod, or the file when no pod has the claim";
  return record;
}

Result<std::vector<Record>> Load(const std::string& folder) {
  RAIL_ASSIGN(const auto names, NamesIn(folder));
  std::vector<Record> records;
  for (const std::string& name : names) {
    if (name.starts_with('.') || !name.ends_with(".json")) continue;
    const std::string path = folder + "/" + name;
    const auto document = ReadJsonFile(path);
    if (document || document.error().code != Code::kNotFound)  // else it went meanwhile
      records.push_back(FromJson(document, path));
  }
  return records;
}

Result<std::optional<ClaimName>> HolderIn(const std::vector<Record>& records, const AllocatedDevice& device) {
  for (const Record& record : records) {
    for (const PreparedDevice& each : record.holding.devices)
      if (IsSame(each.device, device)) return record.holding.claim;
  }
  const auto unclear = std::ranges::find(records, false, &Record::has_devices);
  if (unclear != records.end()) return Fail(Code::kDamaged, unclear->holding.problem);
  return std::nullopt;
}

Result<Record> Make(const ClaimName& claim, const Devices& devices, const PreparedClaims::Edits& edits,
                    const std::string& boot) {
  Record record{.holding = {.claim = claim}, .boot = boot};
  std::set<std::string> known;
  for (const AllocatedDevice& each : devices) {
    PreparedDevice& prepared = record.holding.devices.emplace_back(each);
    if (!known.insert(each.request).second) continue;
    Devices together = devices;
    std::erase_if(together, [&](const AllocatedDevice& other) { return other.request != each.request; });
    RAIL_ASSIGN(const Allocation allocation, edits(each.request, together));
    RAIL_ASSIGN(prepared.cdi_names, AddCdiDevice(record.cdi, claim.uid, each.request, allocation));
  }
  return record;
}

}  // namespace

Result<FileLock> PreparedClaims::Lock(Deadline until) const {
  return FileLock::Wait(options_.folder + "/.lock", FileLock::Kind::kAlone, until);
}

Result<PreparedClaims> PreparedClaims::Open(const Options& options, Deadline until) {
  const std::string doing = "make the prepared claims in " + options.folder + " whole";
  RAIL_TRY_AS(MakeFolder(options.folder, 0750), doing);
  RAIL_TRY_AS(MakeFolder(options.cdi_folder, 0755), doing);
  PreparedClaims claims(options);
  RAIL_ASSIGN_AS(const FileLock lock, claims.Lock(until), doing);
  RAIL_TRY_AS(claims.MakeWhole(), doing);
  return claims;
}

Status PreparedClaims::MakeWhole() const {
  RAIL_ASSIGN(const auto records, Load(options_.folder));
  std::set<std::string> uids;
  for (const auto& [holding, has_devices, boot, cdi] : records) {
    uids.insert(holding.claim.uid);
    if (holding.problem.empty())
      RAIL_TRY(PutEffects(holding.claim.uid, boot == options_.boot ? cdi : json()));
  }
  RAIL_TRY(KeepCdiOf(options_.cdi_folder, uids));
  RAIL_ASSIGN(const auto names, NamesIn(options_.folder));
  for (const std::string& name : names) {
    const bool is_half_written = name.starts_with('.') && name != ".lock";
    const bool is_folder_of_none = IsName(name, "-") && !uids.contains(name);
    if (is_half_written || is_folder_of_none) RAIL_TRY(RemoveAll(FolderOf(name)));
  }
  return {};
}

Status PreparedClaims::PutEffects(const std::string& uid, const json& cdi) const {
  RAIL_TRY(MakeFolder(FolderOf(uid), 0755));
  return PutCdi(options_.cdi_folder, uid, cdi);
}

Result<std::vector<PreparedDevice>> PreparedClaims::Prepare(const ClaimName& claim, const Devices& devices,
                                                            const Edits& edits, Deadline until) {
  const std::string doing = "prepare claim " + ToText(claim);
  RAIL_TRY_AS(Check(claim, devices), doing);
  RAIL_ASSIGN_AS(const FileLock lock, Lock(until), doing);
  RAIL_ASSIGN_AS(auto records, Load(options_.folder), doing);
  const auto own =
      std::ranges::find_if(records, [&](const Record& each) { return each.holding.claim.uid == claim.uid; });
  if (own != records.end()) {
    Holding& held = own->holding;
    if (!held.problem.empty()) return Fail(Code::kDamaged, doing + ": " + held.problem);
    if (!std::ranges::is_permutation(held.devices, devices, {}, &PreparedDevice::device))
      return Fail(Code::kExists, doing + ": it is prepared with other devices: delete its pod");
    if (own->boot == options_.boot) {
      RAIL_TRY_AS(PutEffects(claim.uid, own->cdi), doing);
      return std::move(held.devices);
    }
  } else {
    for (const AllocatedDevice& each : devices) {
      RAIL_ASSIGN_AS(const auto holder, HolderIn(records, each), doing);
      if (holder)
        return Fail(Code::kBusy, doing + ": device " + each.pool + "/" + each.device + " is held by claim " +
                                     ToText(*holder) + ": it is free when that claim's pods have ended");
    }
  }
  RAIL_ASSIGN_AS(Record record, Make(claim, devices, edits, options_.boot), doing);
  RAIL_TRY_AS(WriteWhole(RecordOf(claim.uid), DumpJson(ToJson(record)), 0640), doing);
  RAIL_TRY_AS(PutEffects(claim.uid, record.cdi), doing);
  return std::move(record.holding.devices);
}

Status PreparedClaims::Unprepare(const std::string& uid, Deadline until) {
  const std::string doing = "unprepare claim " + uid;
  if (!IsName(uid, "-")) return Fail(Code::kInvalid, doing + ": that cannot be a claim's uid");
  RAIL_ASSIGN_AS(const FileLock lock, Lock(until), doing);
  RAIL_TRY_AS(PutCdi(options_.cdi_folder, uid, json()), doing);
  RAIL_TRY_AS(RemoveAll(FolderOf(uid)), doing);
  RAIL_TRY_AS(RemoveWhole(RecordOf(uid)), doing);
  return {};
}

Result<std::vector<Holding>> PreparedClaims::Held() const {
  RAIL_ASSIGN(auto records, Load(options_.folder));
  std::vector<Holding> held;
  for (Record& each : records) held.push_back(std::move(each.holding));
  return held;
}

Result<std::optional<ClaimName>> PreparedClaims::HolderOf(const std::string& pool,
                                                          const std::string& device) const {
  RAIL_ASSIGN(const auto records, Load(options_.folder));
  return HolderIn(records, {.pool = pool, .device = device});
}

}  // namespace rail::kubelet
