#include "lib/tenancy/tenant_map.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "lib/base/fd.h"
#include "lib/base/strict_json.h"
#include "lib/base/whole_file.h"

namespace rail::tenancy {
namespace {

using nlohmann::json;

constexpr uint64_t kFormat = 1;
// 10,000 namespaces are 1 MB. A file that has grown beyond this is not ours.
constexpr size_t kMostBytes = size_t{64} << 20;

// Builds the map while the text is read: each ADD reads the whole file, and a document of it would take five times as long.
class Reader : public nlohmann::json_sax<json> {
 public:
  TenantMap map;
  bool has_format = false, has_namespaces = false;

  std::string Problem() const { return problem_.empty() ? "it ends in the middle" : problem_; }

  bool null() override { return Wrong(); }
  bool boolean(bool) override { return Wrong(); }
  bool number_integer(number_integer_t) override { return Wrong(); }
  bool number_float(number_float_t, const string_t&) override { return Wrong(); }
  bool binary(binary_t&) override { return Wrong(); }
  bool start_array(size_t) override { return Wrong(); }
  bool end_array() override { return true; }
  bool number_unsigned(number_unsigned_t value) override {
    if (depth_ == 1 && key_ == "format" && value == kFormat) return has_format = true;
    if (depth_ != 3 || key_ != "created_ms" || value > INT64_MAX) return Wrong();
    entry_->second.created_ms = static_cast<int64_t>(value);
    return true;
  }
  bool string(string_t& value) override {
    if (depth_ == 1 && key_ == "label") {
      map.label_key = std::move(value);
    } else if (depth_ == 1 && key_ == "resource_version") {
      map.resource_version = std::move(value);
    } else if (depth_ == 3 && key_ == "label") {
      entry_->second.label = std::move(value);
    } else if (depth_ == 3 && key_ == "uid") {
      entry_->second.uid = std::move(value);
    } else {
      return Wrong();
    }
    return true;
  }
  bool start_object(size_t) override {
    ++depth_;
    if (depth_ == 2) has_namespaces = key_ == "namespaces";
    return depth_ == 1 || (depth_ == 2 && has_namespaces) || depth_ == 3 || Wrong();
  }
  bool key(string_t& name) override {
    key_ = name;
    if (depth_ != 2) return true;
    const auto [entry, is_new] = map.namespaces.try_emplace(std::move(name));
    entry_ = entry;
    return is_new || Wrong();
  }
  bool end_object() override {
    --depth_;
    return true;
  }
  bool parse_error(size_t at, const std::string&, const nlohmann::detail::exception&) override {
    problem_ = "not JSON, at byte " + std::to_string(at);
    return false;
  }

 private:
  bool Wrong() {
    problem_ = "\"" + key_.substr(0, 64) + "\" is unknown, stands twice or has a value that it cannot have";
    return false;
  }

  int depth_ = 0;
  std::string key_;
  decltype(map.namespaces)::iterator entry_;
  std::string problem_;
};

}  // namespace

bool IsTenantName(std::string_view value) {
  const auto ends = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !value.empty() && value.size() <= 63 && ends(value.front()) && ends(value.back()) &&
         std::ranges::all_of(value, [&](char c) { return ends(c) || c == '-'; });
}

std::string ToText(const TenantMap& map) {
  json namespaces = json::object();
  for (const auto& [name, entry] : map.namespaces) {
    json& value = namespaces[name] = json::object();
    if (entry.label) value["label"] = *entry.label;
    if (entry.created_ms != 0) value["created_ms"] = entry.created_ms;
    if (!entry.uid.empty()) value["uid"] = entry.uid;
  }
  return DumpJson({{"format", kFormat},
                   {"label", map.label_key},
                   {"resource_version", map.resource_version},
                   {"namespaces", std::move(namespaces)}}) +
         "\n";
}

Result<TenantMap> ParseTenantMap(std::string_view text, std::string_view label_key) {
  const std::string what = "the list of namespaces: ";
  // The library's lexer takes a zero byte for the end of the text.
  if (text.find('\0') != std::string_view::npos) return Fail(Code::kInvalid, what + "it has a zero byte");
  Reader reader;
  if (!json::sax_parse(text.begin(), text.end(), &reader))
    return Fail(Code::kInvalid, what + reader.Problem());
  if (!reader.has_format || !reader.has_namespaces)
    return Fail(Code::kInvalid, what + "\"format\" or \"namespaces\" is missing");
  if (reader.map.label_key == label_key) return std::move(reader.map);
  return Fail(Code::kNotFound, what + "it is of label " + reader.map.label_key + ", and node.json names " +
                                   std::string(label_key));
}

Result<TenantMap> LoadTenantMap(const std::string& path, std::string_view label_key) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return FailErrno(errno, "open the list of namespaces " + path);
  std::string text;
  std::array<char, 65536> piece;
  while (text.size() <= kMostBytes) {
    const ssize_t n = ::read(fd.get(), piece.data(), piece.size());
    if (n == 0) break;
    if (n < 0 && errno != EINTR) return FailErrno(errno, "read the list of namespaces " + path);
    if (n > 0) text.append(piece.data(), static_cast<size_t>(n));
  }
  if (text.size() > kMostBytes) return Fail(Code::kInvalid, path + " is too large for a list of namespaces");
  auto map = ParseTenantMap(text, label_key);
  if (!map) return FailWrapped(map.error(), path);
  return map;
}

Status SaveTenantMap(const std::string& path, const TenantMap& map) {
  return WriteWhole(path, ToText(map), 0640);
}

}  // namespace rail::tenancy
