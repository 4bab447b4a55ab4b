#include "lib/tenancy/tenancy.h"

#include <fcntl.h>
#include <nettle/hmac.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>

#include "lib/base/fd.h"

namespace rail::tenancy {
namespace {

constexpr uint32_t kTenantMark = 0x54;      // 'T', the highest byte of the second word
constexpr uint32_t kRailMark = 0x52000000;  // 'R'
constexpr size_t kKeyMin = 16, kKeyMax = 4096;

// What is hashed: a tenant of the map and a namespace of the same name are two tenants.
constexpr char kOfMap[] = "tenant/";
constexpr char kOfNamespace[] = "namespace/";

Result<std::string> ReadKey(const std::string& path) {
  const std::string doing = "read the tenant key " + path;
  // O_NONBLOCK: opening a FIFO that stands there by mistake must not wait for a writer.
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return FailErrno(errno, doing);
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return FailErrno(errno, doing);
  if (!S_ISREG(info.st_mode)) return Fail(Code::kInvalid, doing + ": it is not a regular file");
  if ((info.st_mode & S_IRWXO) != 0) {
    char mode[8];
    std::snprintf(mode, sizeof mode, "%04o", info.st_mode & 07777U);
    return Fail(Code::kInvalid, doing + ": its mode is " + mode +
                                    ", so everybody on the node can use it; make it readable by root and its "
                                    "group alone (chmod 0640)");
  }
  std::string key(kKeyMax + 1, '\0');
  size_t size = 0;
  while (size < key.size()) {
    const ssize_t n = ::read(fd.get(), key.data() + size, key.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FailErrno(errno, doing);
    if (n == 0) break;
    size += static_cast<size_t>(n);
  }
  if (size < kKeyMin || size > kKeyMax) {
    return Fail(Code::kInvalid, doing + ": a key has " + std::to_string(kKeyMin) + " to " +
                                    std::to_string(kKeyMax) + " bytes, this file has " +
                                    (size > kKeyMax ? "more" : std::to_string(size)));
  }
  key.resize(size);
  return key;
}

}  // namespace

std::string TenantId::ToString() const {
  char text[17];
  std::snprintf(text, sizeof text, "%014llx", static_cast<unsigned long long>(value));
  return text;
}

std::string LargeCommunity::ToString() const {
  return std::to_string(asn) + ":" + std::to_string(first) + ":" + std::to_string(second);
}

Result<LargeCommunity> LargeCommunity::Parse(std::string_view text) {
  LargeCommunity community;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (uint32_t* word : {&community.asn, &community.first, &community.second}) {
    if (word != &community.asn && (at == end || *at++ != ':')) at = nullptr;
    const auto parsed = at == nullptr ? std::from_chars_result{nullptr, std::errc::invalid_argument}
                                      : std::from_chars(at, end, *word);
    if (parsed.ec != std::errc()) {
      return Fail(Code::kInvalid, "\"" + std::string(text.substr(0, 64)) +
                                      "\" is not a large community (three 32-bit numbers, a:b:c)");
    }
    at = parsed.ptr;
  }
  if (at != end) {
    return Fail(Code::kInvalid, "\"" + std::string(text.substr(0, 64)) +
                                    "\" is not a large community: something follows the third number");
  }
  return community;
}

TenantId ComputeTenantId(std::string_view key, std::string_view name) {
  hmac_sha256_ctx context;
  hmac_sha256_set_key(&context, key.size(), reinterpret_cast<const uint8_t*>(key.data()));
  hmac_sha256_update(&context, name.size(), reinterpret_cast<const uint8_t*>(name.data()));
  std::array<uint8_t, 7> digest{};
  hmac_sha256_digest(&context, digest.size(), digest.data());
  TenantId id;
  for (const uint8_t byte : digest) id.value = id.value << 8 | byte;
  if (id.value == 0) id.value = 1;  // 0 means "no tenant"
  return id;
}

LargeCommunity TenantCommunity(uint32_t community_asn, TenantId id) {
  return {community_asn, kTenantMark << 24 | static_cast<uint32_t>(id.value >> 32 & 0xffffff),
          static_cast<uint32_t>(id.value)};
}

LargeCommunity RailCommunity(uint32_t community_asn, uint32_t rail_index) {
  return {community_asn, kRailMark, rail_index};
}

std::optional<TenantId> TenantOfCommunity(uint32_t community_asn, const LargeCommunity& community) {
  if (community.asn != community_asn || community.first >> 24 != kTenantMark) return std::nullopt;
  const TenantId id{uint64_t{community.first & 0xffffff} << 32 | community.second};
  if (id.value == 0) return std::nullopt;
  return id;
}

std::optional<uint32_t> RailOfCommunity(uint32_t community_asn, const LargeCommunity& community) {
  if (community.asn != community_asn || community.first != kRailMark) return std::nullopt;
  return community.second;
}

std::string Fingerprint(std::string_view key) {
  // No tenant has a name without a slash.
  return ComputeTenantId(key, "fingerprint").ToString().substr(0, 8);
}

Tenancy::Tenancy(config::Tenancy config, std::vector<std::string> keys) : config_(std::move(config)) {
  for (std::string& key : keys) {
    // The same key in two files, as while it is being copied.
    if (std::ranges::find(keys_, key) != keys_.end()) continue;
    fingerprints_.push_back(Fingerprint(key));
    keys_.push_back(std::move(key));
  }
}

Result<Tenancy> Tenancy::Load(const config::Tenancy& config) {
  if (config.mode == config::TenancyMode::kOff) return Tenancy(config, {});
  std::vector<std::string> keys(1);
  RAIL_ASSIGN(keys[0], ReadKey(config.key_file));
  std::vector<KeyFile> files = {{config.key_file, true, Fingerprint(keys[0]), ""}};
  for (const std::string& path : config.accept_key_files) {
    auto key = ReadKey(path);
    KeyFile& file = files.emplace_back(KeyFile{path, false, "", ""});
    if (key) {
      file.fingerprint = Fingerprint(*key);
      keys.push_back(std::move(*key));
    } else if (key.error().code != Code::kNotFound) {
      file.problem = key.error().message;
    }
  }
  Tenancy tenancy(config, std::move(keys));
  tenancy.files_ = std::move(files);
  return tenancy;
}

// The name of the tenant, and whether it is one of the map.
std::string Tenancy::NameIn(std::string_view pod_namespace, bool& in_map) const {
  for (const auto& [tenant, namespaces] : config_.tenants) {
    in_map = std::ranges::find(namespaces, pod_namespace) != namespaces.end();
    if (in_map) return tenant;
  }
  in_map = false;
  return std::string(pod_namespace);
}

std::vector<TenantId> Tenancy::IdsUnderAll(const std::string& hashed) const {
  std::vector<TenantId> ids;
  ids.reserve(keys_.size());
  for (const std::string& key : keys_) ids.push_back(ComputeTenantId(key, hashed));
  return ids;
}

std::vector<TenantId> Tenancy::IdsOf(std::string_view pod_namespace) const {
  bool in_map = false;
  const std::string name = NameIn(pod_namespace, in_map);
  return IdsUnderAll((in_map ? kOfMap : kOfNamespace) + name);
}

Tenant Tenancy::TenantOf(std::string_view pod_namespace) const {
  if (config_.mode == config::TenancyMode::kOff) return {};
  bool in_map = false;
  std::string name = NameIn(pod_namespace, in_map);
  const TenantId id = ComputeTenantId(keys_.front(), (in_map ? kOfMap : kOfNamespace) + name);
  return {std::move(name), id};
}

bool Tenancy::IsOf(std::string_view pod_namespace, TenantId id) const {
  const std::vector<TenantId> ids = IdsOf(pod_namespace);
  return std::ranges::find(ids, id) != ids.end();
}

std::optional<Tenancy::Recognised> Tenancy::Recognise(std::string_view name, TenantId id) const {
  for (const char* kind : {kOfNamespace, kOfMap}) {
    std::vector<TenantId> ids = IdsUnderAll(kind + std::string(name));
    const auto found = std::ranges::find(ids, id);
    if (found == ids.end()) continue;
    const auto key = static_cast<size_t>(found - ids.begin());
    return Recognised{std::move(ids), key};
  }
  return std::nullopt;
}

Status Tenancy::AcceptedProblem() const {
  for (const KeyFile& file : files_) {
    if (!file.current && !file.problem.empty())
      return Fail(Code::kInvalid, "tenancy.accept_key_files: " + file.problem);
  }
  return {};
}

}  // namespace rail::tenancy
