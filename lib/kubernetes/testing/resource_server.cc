#include "lib/kubernetes/testing/resource_server.h"

#include <regex>

namespace rail::kubernetes::testing {
namespace {

using nlohmann::json;
using Reply = ApiServer::Reply;

constexpr char kTime[] = "2026-01-02T03:04:05Z";

Reply Refuse(int code, const std::string& message) {
  return {code, json({{"kind", "Status"}, {"code", code}, {"message", message}}).dump(), ""};
}

bool Is(const std::string& text, const char* pattern, size_t most) {
  static thread_local std::map<std::string, std::regex> known;
  const auto is = known.try_emplace(pattern, pattern).first;
  return text.size() <= most && std::regex_match(text, is->second);
}

constexpr char kLabel[] = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
constexpr char kDomain[] = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
constexpr char kLabelValue[] = "([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?";
constexpr char kVersion[] =
    "(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)"
    "(-(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(\\.(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*)?"
    "(\\+[0-9a-zA-Z-]+(\\.[0-9a-zA-Z-]+)*)?";

// Of an attribute or capacity.
bool IsEntry(const std::string& name) {
  const size_t slash = name.find('/');
  return (slash == std::string::npos || Is(name.substr(0, slash), kDomain, 63)) &&
         Is(name.substr(slash == std::string::npos ? 0 : slash + 1), "[A-Za-z_][A-Za-z0-9_]*", 32);
}

bool IsLabelName(const std::string& name) {
  const size_t slash = name.find('/');
  const std::string word = name.substr(slash == std::string::npos ? 0 : slash + 1);
  return (slash == std::string::npos || Is(name.substr(0, slash), kDomain, 253)) && !word.empty() &&
         Is(word, kLabelValue, 63);
}

// Empty: the server takes it.
std::string Problem(const json& device) {
  if (!Is(device.value("name", ""), kLabel, 63)) return "name";
  const json attributes = device.value("attributes", json::object());
  const json capacity = device.value("capacity", json::object());
  const json taints = device.value("taints", json::array());
  if (attributes.size() + capacity.size() > 32) return "too many attributes and capacities";
  for (const auto& [name, value] : attributes.items()) {
    if (!IsEntry(name)) return "attribute name " + name;
    if (value.size() != 1) return "exactly one value";
    const bool fits = value.contains("string")    ? value["string"].get<std::string>().size() <= 64
                      : value.contains("version") ? Is(value["version"], kVersion, 64)
                      : value.contains("int")     ? value["int"].is_number_integer()
                                                  : value.contains("bool") && value["bool"].is_boolean();
    if (!fits) return "attribute " + name;
  }
  for (const auto& [name, value] : capacity.items()) {
    if (!IsEntry(name) || !Is(value.at("value"), "[0-9]+([KMGTPE]i|[kMGTPE])?", 30))
      return "capacity " + name;
  }
  if (taints.size() > 16) return "too many taints";
  for (const json& taint : taints) {
    if (!IsLabelName(taint.value("key", "")) || !Is(taint.value("value", ""), kLabelValue, 63))
      return "taint";
    if (!Is(taint.value("effect", ""), "None|NoSchedule|NoExecute", 20)) return "effect";
  }
  return "";
}

std::string ProblemOf(const json& slice) {
  const json& spec = slice.at("spec");
  if (!Is(slice.at("metadata").value("name", ""), kDomain, 253)) return "metadata.name";
  if (!Is(spec.value("driver", ""), kDomain, 63)) return "driver";
  if (!Is(spec.value("nodeName", ""), kDomain, 253)) return "nodeName";
  const json& pool = spec.at("pool");
  if (!Is(pool.value("name", ""), kDomain, 253) || pool.value("generation", -1) < 0 ||
      pool.value("resourceSliceCount", 0) < 1)
    return "pool";
  std::set<std::string> names;
  bool tainted = false;
  for (const json& device : spec.at("devices")) {
    if (const std::string problem = Problem(device); !problem.empty()) return "devices: " + problem;
    if (!names.insert(device["name"]).second) return "duplicate device";
    tainted = tainted || !device.value("taints", json::array()).empty();
  }
  return names.size() > (tainted ? 64U : 128U) ? "too many devices" : "";
}

// "25000M" is stored as "25G".
std::string Shortest(std::string quantity) {
  static const std::string kUnits = "kMGTPE";
  for (;;) {
    const bool bare = std::isdigit(quantity.back()) != 0;
    const size_t unit = bare ? std::string::npos : kUnits.find(quantity.back());
    const std::string digits = bare ? quantity : quantity.substr(0, quantity.size() - 1);
    if ((!bare && unit == std::string::npos) || unit == kUnits.size() - 1) return quantity;
    if (digits.size() < 4 || !digits.ends_with("000")) return quantity;
    quantity = digits.substr(0, digits.size() - 3) + kUnits[bare ? 0 : unit + 1];
  }
}

std::string KeyOf(const json& device) {
  return json({device.value("driver", ""), device.value("pool", ""), device.value("device", ""),
               device.value("shareID", "")})
      .dump();
}

std::string ProblemOfStatus(const json& entry) {
  for (const json& condition : entry.value("conditions", json::array())) {
    if (!Is(condition.value("type", ""), "[A-Za-z0-9./_-]+", 316) ||
        !Is(condition.value("status", ""), "True|False|Unknown", 9) ||
        !Is(condition.value("reason", ""), "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?", 1024) ||
        !condition.contains("message") ||
        !Is(condition.value("lastTransitionTime", ""), "\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ", 20))
      return "conditions";
  }
  const json network = entry.value("networkData", json::object());
  const json ips = network.value("ips", json::array());
  if (ips.size() > 16 || network.value("interfaceName", "").size() > 256) return "networkData";
  for (const json& ip : ips) {
    if (!Is(ip, "([0-9.]+|[0-9a-f:]+)/[0-9]+", 64)) return "ips";
  }
  return "";
}

std::string Decoded(std::string text) {
  for (const auto& [code, character] : {std::pair{"%3D", "="}, {"%2C", ","}}) {
    for (size_t at = 0; (at = text.find(code)) != std::string::npos;) text.replace(at, 3, character);
  }
  return text;
}

}  // namespace

ResourceServer::ResourceServer() {
  http_ = std::make_unique<ApiServer>([this](const auto& request) { return Answer(request); });
  url_ = http_->url();
}

void ResourceServer::Start() {
  const auto port = static_cast<uint16_t>(std::stoi(url_.substr(url_.rfind(':') + 1)));
  http_ = std::make_unique<ApiServer>([this](const auto& request) { return Answer(request); }, port);
}

std::optional<Reply> ResourceServer::Answer(const ApiServer::Seen& request) {
  const std::lock_guard lock(mutex_);
  for (const auto& [method, part] : forbidden_) {
    if (request.method == method && request.path.find(part) != std::string::npos)
      return Refuse(403, "user \"raild\" cannot " + method + " " + request.path);
  }
  if (request.path.starts_with("/api/v1/nodes/")) {
    const auto node = nodes_.find(request.path.substr(14));
    return node == nodes_.end() ? Refuse(404, "nodes \"" + request.path.substr(14) + "\" not found")
                                : Reply{200, node->second.dump(), ""};
  }
  const std::string group = "/apis/resource.k8s.io";
  if (!request.path.starts_with(group)) return std::nullopt;
  if (request.path == group) {
    json all = json::array();
    for (const std::string& each : options_.versions)
      all.push_back({{"groupVersion", "resource.k8s.io/" + each}, {"version", each}});
    return all.empty() ? Refuse(404, "the server could not find the requested resource")
                       : Reply{200, json({{"kind", "APIGroup"}, {"versions", all}}).dump(), ""};
  }
  const size_t from = group.size() + 1;
  const std::string version = request.path.substr(from, request.path.find('/', from) - from);
  const std::string rest = request.path.substr(std::min(request.path.size(), from + version.size() + 1));
  if (std::ranges::find(options_.versions, version) == options_.versions.end())
    return Refuse(404, "404 page not found");
  const bool write = request.method != "GET";
  if (write && before_) std::exchange(before_, nullptr)(*this);
  Reply reply = rest.starts_with("resourceslices")
                    ? Slices(version, request.method, rest.substr(14), request.body)
                    : Claims(version, request.method, rest, request);
  if (write && reply.status < 300) ++writes_;
  if (write && lose_ > 0) {
    --lose_;
    return Reply{-1, "", ""};
  }
  return reply;
}

Reply ResourceServer::List(const std::string& version, const std::string& query) const {
  std::map<std::string, std::string> wanted;
  const size_t at = query.find("fieldSelector=");
  if (at != std::string::npos) {
    const std::string selector = Decoded(query.substr(at + 14, query.find('&', at) - at - 14));
    for (size_t from = 0; from <= selector.size();) {
      const size_t end = std::min(selector.find(',', from), selector.size());
      const size_t equals = selector.find('=', from);
      if (equals >= end) return Refuse(400, "invalid selector");
      wanted[selector.substr(from, equals - from)] = selector.substr(equals + 1, end - equals - 1);
      from = end + 1;
    }
  }
  json items = json::array();
  for (const auto& [name, slice] : slices_) {
    bool fits = true;
    for (const auto& [field, value] : wanted) {
      if (field != "spec.nodeName" && field != "spec.driver")
        return Refuse(400, "field label not supported: " + field);
      fits = fits && slice.at("spec").value(field.substr(5), "") == value;
    }
    if (fits) items.push_back(Shown(slice, version, "ResourceSlice"));
  }
  return {200, json({{"kind", "ResourceSliceList"}, {"items", items}}).dump(), ""};
}

Reply ResourceServer::Slices(const std::string& version, const std::string& method, const std::string& rest,
                             const std::string& body) {
  const std::string name = rest.starts_with("/") ? rest.substr(1) : "";
  if (method == "GET" && name.empty()) return List(version, rest);
  json sent = json::parse(body, nullptr, false);
  if (method == "POST") {
    const std::string wanted = sent.value("metadata", json::object()).value("name", "");
    if (slices_.contains(wanted)) return Refuse(409, "resourceslices \"" + wanted + "\" already exists");
    return Store(version, std::move(sent), nullptr);
  }
  const auto found = slices_.find(name);
  if (found == slices_.end()) return Refuse(404, "resourceslices \"" + name + "\" not found");
  const json& old = found->second.at("metadata");
  const json conditions =
      method == "DELETE" ? sent.value("preconditions", json::object()) : sent.at("metadata");
  for (const char* key : {"uid", "resourceVersion"}) {
    if (!conditions.value(key, "").empty() && conditions[key] != old[key])
      return Refuse(409, std::string("Operation cannot be fulfilled: ") + key + " is another");
  }
  if (method == "PUT") return Store(version, std::move(sent), json(found->second));
  if (method != "DELETE") return Refuse(405, "method not allowed");
  slices_.erase(found);
  return {200, R"({"kind":"Status","status":"Success"})", ""};
}

Reply ResourceServer::Store(const std::string& version, json slice, const json& old) {
  if (slice.value("apiVersion", "") != "resource.k8s.io/" + version ||
      slice.value("kind", "") != "ResourceSlice")
    return Refuse(400, "the API version in the data does not match");
  for (json& device : slice.at("spec").at("devices")) {
    if (device.contains("basic") != (version == "v1beta1")) return Refuse(422, "devices: basic");
    if (device.contains("basic")) {
      const json name = device["name"];
      device = json(device["basic"]);
      device["name"] = name;
    }
    if (!options_.keeps_taints) device.erase("taints");
    if (device.contains("taints")) {
      for (json& taint : device["taints"]) {
        if (!taint.contains("timeAdded")) taint["timeAdded"] = "added-" + std::to_string(version_);
      }
    }
  }
  if (const std::string problem = ProblemOf(slice); !problem.empty())
    return Refuse(422, "invalid: " + problem);
  for (json& device : slice["spec"]["devices"]) {
    if (!device.contains("capacity")) continue;
    for (json& each : device["capacity"]) each["value"] = Shortest(each["value"]);
  }
  if (!old.is_null()) {
    for (const char* key : {"driver", "nodeName"}) {
      if (slice["spec"][key] != old["spec"][key]) return Refuse(422, std::string(key) + " is immutable");
    }
    if (slice["spec"]["pool"]["name"] != old["spec"]["pool"]["name"])
      return Refuse(422, "pool.name is immutable");
  }
  json& metadata = slice["metadata"];
  metadata["uid"] =
      old.is_null() ? "uid-" + std::to_string(version_) : old["metadata"]["uid"].get<std::string>();
  metadata["resourceVersion"] = std::to_string(++version_);
  metadata["creationTimestamp"] = kTime;
  metadata["managedFields"] = {{{"manager", "railcni"}}};
  slices_[metadata["name"]] = slice;
  return {old.is_null() ? 201 : 200, Shown(slice, version, "ResourceSlice").dump(), ""};
}

json ResourceServer::Shown(json object, const std::string& version, const char* kind) const {
  object["apiVersion"] = "resource.k8s.io/" + version;
  object["kind"] = kind;
  if (version != "v1beta1" || !object["spec"].contains("devices") || !object["spec"]["devices"].is_array())
    return object;
  for (json& device : object["spec"]["devices"]) {
    const json name = device["name"];
    device.erase("name");
    device = json{{"name", name}, {"basic", json(device)}};
  }
  return object;
}

Reply ResourceServer::Claims(const std::string& version, const std::string& method, const std::string& rest,
                             const ApiServer::Seen& request) {
  static const std::regex kPath("namespaces/([^/?]+)/resourceclaims/([^/?]+)(/status)?(\\?.*)?");
  std::smatch parts;
  if (!std::regex_match(rest, parts, kPath)) return Refuse(404, "404 page not found");
  const std::string key = parts[1].str() + "/" + parts[2].str();
  const auto found = claims_.find(key);
  if (found == claims_.end()) return Refuse(404, "resourceclaims \"" + parts[2].str() + "\" not found");
  if (method == "GET") return {200, Shown(found->second, version, "ResourceClaim").dump(), ""};
  if (method != "PATCH" || !parts[3].matched) return Refuse(405, "method not allowed");
  if (request.content_type != "application/apply-patch+yaml") return Refuse(415, "content type");
  std::smatch manager;
  const std::string query = parts[4];
  if (!std::regex_search(query, manager, std::regex("fieldManager=([^&]+)")))
    return Refuse(422, "fieldManager is required");
  return Apply(version, found->second, json::parse(request.body, nullptr, false), manager[1],
               query.find("force=true") != std::string::npos);
}

Reply ResourceServer::Apply(const std::string& version, json& claim, const json& patch,
                            const std::string& manager, bool force) {
  if (patch.value("apiVersion", "") != "resource.k8s.io/" + version ||
      patch.value("kind", "") != "ResourceClaim")
    return Refuse(400, "the API version in the data does not match");
  for (const char* key : {"name", "namespace", "uid"}) {
    if (patch.at("metadata").contains(key) && patch["metadata"][key] != claim["metadata"][key])
      return Refuse(422, std::string("metadata.") + key + ": field is immutable");
  }
  std::set<std::string> allocated;
  for (const json& each : claim["status"].value("/allocation/devices/results"_json_pointer, json::array()))
    allocated.insert(KeyOf(each));
  std::map<std::string, json> entries;
  for (const json& each : patch.at("status").value("devices", json::array())) {
    if (!allocated.contains(KeyOf(each)))
      return Refuse(422, "status.devices: must be an allocated device in the claim");
    if (const std::string problem = ProblemOfStatus(each); !problem.empty())
      return Refuse(422, "status.devices: " + problem);
    entries[KeyOf(each)] = each;
  }
  auto& managers = applied_[claim["metadata"]["namespace"].get<std::string>() + "/" +
                            claim["metadata"]["name"].get<std::string>()];
  for (auto& [other, theirs] : managers) {
    for (const auto& [key, entry] : entries) {
      if (other == manager || !theirs.contains(key) || theirs[key] == entry) continue;
      if (!force) return Refuse(409, "Apply failed with 1 conflict: conflict with \"" + other + "\"");
      theirs.erase(key);
    }
  }
  std::map<std::string, json> now;
  for (const json& each : claim["status"].value("devices", json::array())) now[KeyOf(each)] = each;
  for (const auto& [key, _] : managers[manager]) now.erase(key);
  if (options_.keeps_device_status) {
    for (const auto& [key, entry] : entries) now[key] = entry;
    managers[manager] = entries;
  }
  claim["status"].erase("devices");
  for (const auto& [_, entry] : now) claim["status"]["devices"].push_back(entry);
  claim["metadata"]["resourceVersion"] = std::to_string(++version_);
  return {200, Shown(claim, version, "ResourceClaim").dump(), ""};
}

void ResourceServer::SetOptions(Options options) {
  const std::lock_guard lock(mutex_);
  options_ = std::move(options);
}

void ResourceServer::AddNode(const std::string& name, const std::string& uid) {
  const std::lock_guard lock(mutex_);
  nodes_[name] = {{"kind", "Node"}, {"metadata", {{"name", name}, {"uid", uid}}}};
}

void ResourceServer::Forbid(const std::string& method, const std::string& part) {
  const std::lock_guard lock(mutex_);
  forbidden_.emplace(method, part);
}

void ResourceServer::LoseAnswers(int count) {
  const std::lock_guard lock(mutex_);
  lose_ = count;
}

void ResourceServer::BeforeWrite(std::function<void(ResourceServer&)> other) {
  const std::lock_guard lock(mutex_);
  before_ = std::move(other);
}

std::vector<json> ResourceServer::slices() const {
  const std::lock_guard lock(mutex_);
  std::vector<json> all;
  for (const auto& [_, slice] : slices_) all.push_back(slice);
  return all;
}

void ResourceServer::PutSlice(json slice) {
  const std::lock_guard lock(mutex_);
  json& metadata = slice["metadata"];
  if (!metadata.contains("uid")) metadata["uid"] = "uid-" + std::to_string(version_);
  metadata["resourceVersion"] = std::to_string(++version_);
  slices_[metadata["name"]] = slice;
}

void ResourceServer::RemoveSlices() {
  const std::lock_guard lock(mutex_);
  slices_.clear();
}

int ResourceServer::writes() const {
  const std::lock_guard lock(mutex_);
  return writes_;
}

void ResourceServer::AddClaim(const std::string& space, const std::string& name, const std::string& uid,
                              const std::vector<Result>& results, const std::string& pod_claim) {
  const std::lock_guard lock(mutex_);
  json allocated = json::array();
  for (const Result& each : results) {
    allocated.push_back(
        {{"driver", each.driver}, {"pool", each.pool}, {"device", each.device}, {"request", each.request}});
    if (!each.share_id.empty()) allocated.back()["shareID"] = each.share_id;
  }
  applied_.erase(space + "/" + name);
  claims_[space + "/" + name] = {
      {"metadata",
       {{"namespace", space}, {"name", name}, {"uid", uid}, {"resourceVersion", std::to_string(++version_)}}},
      {"spec", {{"devices", {{"requests", json::array()}}}}},
      {"status", {{"allocation", {{"devices", {{"results", allocated}}}}}}}};
  if (!pod_claim.empty())
    claims_[space + "/" + name]["metadata"]["annotations"]["resource.kubernetes.io/pod-claim-name"] =
        pod_claim;
}

void ResourceServer::RemoveAllocation(const std::string& space, const std::string& name) {
  const std::lock_guard lock(mutex_);
  claims_.at(space + "/" + name)["status"] = json::object();
}

void ResourceServer::DeleteClaim(const std::string& space, const std::string& name) {
  const std::lock_guard lock(mutex_);
  claims_.erase(space + "/" + name);
}

json ResourceServer::claim(const std::string& space, const std::string& name) const {
  const std::lock_guard lock(mutex_);
  return claims_.at(space + "/" + name);
}

}  // namespace rail::kubernetes::testing
