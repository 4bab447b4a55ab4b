#include "lib/base/strict_json.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "lib/base/fd.h"

namespace rail {
namespace {

using nlohmann::json;

// Builds the document and refuses what the library's own parser lets through.
class StrictSax : public nlohmann::json_sax<json> {
 public:
  StrictSax(json& root, int max_depth) : builder_(root, false), max_depth_(max_depth) {}

  bool null() override { return builder_.null(); }
  bool boolean(bool v) override { return builder_.boolean(v); }
  bool number_integer(number_integer_t v) override { return builder_.number_integer(v); }
  bool number_unsigned(number_unsigned_t v) override { return builder_.number_unsigned(v); }
  bool number_float(number_float_t v, const string_t& s) override { return builder_.number_float(v, s); }
  bool string(string_t& v) override { return builder_.string(v); }
  bool binary(binary_t& v) override { return builder_.binary(v); }
  bool start_object(size_t n) override {
    keys_.emplace_back();
    return Deeper() && builder_.start_object(n);
  }
  bool key(string_t& v) override {
    if (!keys_.back().insert(v).second) {
      error_ = "the key \"" + v.substr(0, 64) + "\" stands twice in one object";
      return false;
    }
    return builder_.key(v);
  }
  bool end_object() override {
    keys_.pop_back();
    --depth_;
    return builder_.end_object();
  }
  bool start_array(size_t n) override { return Deeper() && builder_.start_array(n); }
  bool end_array() override {
    --depth_;
    return builder_.end_array();
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& e) override {
    error_ = e.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 5: ..." -> from "line"
    if (const size_t at = error_.find("line "); at != std::string::npos) error_ = error_.substr(at);
    return false;
  }

  std::string error() const { return error_.empty() ? "not a JSON document" : error_; }

 private:
  bool Deeper() {
    if (++depth_ <= max_depth_) return true;
    error_ = "nested deeper than " + std::to_string(max_depth_) + " levels";
    return false;
  }

  nlohmann::detail::json_sax_dom_parser<json> builder_;
  std::vector<std::set<std::string>> keys_;
  int depth_ = 0;
  int max_depth_;
  std::string error_;
};

}  // namespace

Result<json> ParseJson(std::string_view text, JsonLimits limits) {
  if (text.size() > limits.max_bytes) {
    return Fail(Code::kInvalid,
                "larger than the " + std::to_string(limits.max_bytes) + " bytes that are read");
  }
  // The library's lexer takes a zero byte for the end of the text and ignores the rest.
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos) {
    return Fail(Code::kInvalid, "not JSON: a zero byte at offset " + std::to_string(zero));
  }
  json root;
  StrictSax sax(root, limits.max_depth);
  if (!json::sax_parse(text.begin(), text.end(), &sax))
    return Fail(Code::kInvalid, "not JSON: " + sax.error());
  return root;
}

std::string DumpJson(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<json> ReadJsonFile(const std::string& path, JsonLimits limits) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return FailErrno(errno, "open " + path);
  // Reads in pieces: a configuration has a kilobyte, the limit is a thousand times that. Stops where ParseJson is sure to refuse.
  std::string text;
  char piece[16384];
  while (text.size() <= limits.max_bytes) {
    const ssize_t n = ::read(fd.get(), piece, sizeof piece);
    if (n == 0) break;
    if (n < 0 && errno != EINTR) return FailErrno(errno, "read " + path);
    if (n > 0) text.append(piece, static_cast<size_t>(n));
  }
  auto document = ParseJson(text, limits);
  if (!document) return FailWrapped(document.error(), path);
  return document;
}

void JsonErrors::Add(const std::string& path, const std::string& what) {
  errors_.push_back({path, what, JsonError::Kind::kTogether});
}

void JsonErrors::AddValue(const std::string& path, const std::string& what) {
  errors_.push_back({path, what, JsonError::Kind::kValue});
}

std::vector<std::string> JsonErrors::list() const {
  std::vector<std::string> texts;
  for (const JsonError& error : errors_) texts.push_back(error.ToText());
  return texts;
}

Status JsonErrors::ToStatus(std::string_view document) const {
  if (errors_.empty()) return {};
  std::string all(document);
  for (size_t i = 0; i < errors_.size(); ++i) all += (i == 0 ? ": " : "; ") + errors_[i].ToText();
  return Fail(Code::kInvalid, all);
}

JsonObject::JsonObject(const json& value, std::string path, JsonErrors& errors)
    : value_(value.is_object() ? &value : nullptr), path_(std::move(path)), errors_(errors) {
  if (value_ == nullptr)
    errors_.AddValue(path_.empty() ? "the document" : path_,
                     std::string("must be an object, not ") + value.type_name());
}

std::string JsonObject::PathOf(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

const json* JsonObject::Find(std::string_view key) {
  Allow(key);
  if (value_ == nullptr) return nullptr;
  const auto it = value_->find(std::string(key));
  return it == value_->end() || it->is_null() ? nullptr : &*it;
}

void JsonObject::Allow(std::string_view key) {
  known_.emplace(key);
}

void JsonObject::Missing(std::string_view key) {
  if (value_ != nullptr) errors_.Add(PathOf(key), "is missing");
}

bool JsonObject::Has(std::string_view key) {
  return Find(key) != nullptr;
}

std::string JsonObject::String(std::string_view key) {
  if (Find(key) == nullptr) {
    Missing(key);
    return {};
  }
  return StringOr(key, {});
}

std::string JsonObject::StringOr(std::string_view key, std::string fallback) {
  const json* value = Find(key);
  if (value == nullptr) return fallback;
  if (!value->is_string()) {
    errors_.AddValue(PathOf(key), std::string("must be a string, not ") + value->type_name());
    return fallback;
  }
  return value->get<std::string>();
}

uint64_t JsonObject::Uint(std::string_view key, uint64_t min, uint64_t max) {
  if (Find(key) == nullptr) {
    Missing(key);
    return min;
  }
  return UintOr(key, min, min, max);
}

uint64_t JsonObject::UintOr(std::string_view key, uint64_t fallback, uint64_t min, uint64_t max) {
  const json* value = Find(key);
  if (value == nullptr) return fallback;
  if (!value->is_number_unsigned() || value->get<uint64_t>() < min || value->get<uint64_t>() > max) {
    errors_.AddValue(PathOf(key),
                     "must be a whole number from " + std::to_string(min) + " to " + std::to_string(max));
    return fallback;
  }
  return value->get<uint64_t>();
}

bool JsonObject::BoolOr(std::string_view key, bool fallback) {
  const json* value = Find(key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) {
    errors_.AddValue(PathOf(key), std::string("must be true or false, not ") + value->type_name());
    return fallback;
  }
  return value->get<bool>();
}

std::vector<std::string> JsonObject::StringsOr(std::string_view key) {
  std::vector<std::string> strings;
  const json* array = Array(key);
  if (array == nullptr) return strings;
  for (size_t i = 0; i < array->size(); ++i) {
    if ((*array)[i].is_string()) {
      strings.push_back((*array)[i].get<std::string>());
    } else {
      errors_.AddValue(PathOf(key) + "[" + std::to_string(i) + "]", "must be a string");
    }
  }
  return strings;
}

const json* JsonObject::Object(std::string_view key) {
  const json* value = Find(key);
  if (value == nullptr || value->is_object()) return value;
  errors_.AddValue(PathOf(key), std::string("must be an object, not ") + value->type_name());
  return nullptr;
}

const json* JsonObject::Array(std::string_view key) {
  const json* value = Find(key);
  if (value == nullptr || value->is_array()) return value;
  errors_.AddValue(PathOf(key), std::string("must be a list, not ") + value->type_name());
  return nullptr;
}

void JsonObject::RejectUnknown() {
  if (value_ == nullptr) return;
  for (const auto& [key, unused] : value_->items()) {
    if (!known_.contains(key)) errors_.AddValue(PathOf(key), "unknown key");
  }
}

}  // namespace rail
