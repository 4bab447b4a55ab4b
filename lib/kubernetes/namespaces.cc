#include "lib/kubernetes/namespaces.h"

#include <charconv>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "lib/base/parse.h"

namespace rail::kubernetes {
namespace {

using nlohmann::json;

constexpr size_t kMaxDepth = 32;

// Calls Value with each string and number, and End at the end of each object, with the keys that lead there. An element of a list
// has the key "[]".
class Walker : public nlohmann::json_sax<json> {
 public:
  using Path = std::vector<std::string>;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t v) override {
    Value(path_, std::to_string(v));
    return true;
  }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t& v) override {
    Value(path_, v);
    return true;
  }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override { return Deeper(""); }
  bool key(string_t& v) override {
    path_.back() = v;
    return true;
  }
  bool end_object() override {
    path_.pop_back();
    End(path_);
    return true;
  }
  bool start_array(size_t) override { return Deeper("[]"); }
  bool end_array() override {
    path_.pop_back();
    return true;
  }
  bool parse_error(size_t at, const std::string&, const nlohmann::detail::exception&) override {
    problem_ = "not JSON, at byte " + std::to_string(at);
    return false;
  }

  Status Read(std::string_view text) {
    if (text.find('\0') != std::string_view::npos)
      return Fail(Code::kInvalid, "not JSON: it has a zero byte");
    if (json::sax_parse(text.begin(), text.end(), this)) return {};
    return Fail(Code::kInvalid, problem_);
  }

 protected:
  virtual void Value(const Path& path, const std::string& value) = 0;
  virtual void End(const Path& path) = 0;

 private:
  bool Deeper(const char* key) {
    path_.emplace_back(key);
    if (path_.size() <= kMaxDepth) return true;
    problem_ = "nested deeper than " + std::to_string(kMaxDepth) + " levels";
    return false;
  }

  Path path_;
  std::string problem_;
};

bool Is(const Walker::Path& path, std::initializer_list<std::string_view> keys) {
  return std::equal(path.begin(), path.end(), keys.begin(), keys.end());
}

// `at`: how many keys lead to the object.
void TakeMetadata(Namespace& into, const Walker::Path& path, size_t at, const std::string& value,
                  std::string_view label_key) {
  if (path.size() < at + 2 || path[at] != "metadata") return;
  const std::string& key = path[at + 1];
  if (path.size() == at + 2) {
    if (key == "name") into.name = value;
    if (key == "resourceVersion") into.resource_version = value;
    if (key == "uid") into.label.uid = value;
    if (key == "creationTimestamp") into.label.created_ms = ReadTime(value);
  } else if (path.size() == at + 3 && key == "labels" && path[at + 2] == label_key) {
    into.label.label = value;
  }
}

class PageReader : public Walker {
 public:
  explicit PageReader(std::string_view label_key) : label_key_(label_key) {}
  Page page;
  bool nameless = false;

 private:
  void Value(const Path& path, const std::string& value) override {
    if (Is(path, {"metadata", "resourceVersion"})) page.resource_version = value;
    if (Is(path, {"metadata", "continue"})) page.next = value;
    if (path.size() > 2 && path[0] == "items" && path[1] == "[]")
      TakeMetadata(item_, path, 2, value, label_key_);
  }
  void End(const Path& path) override {
    if (!Is(path, {"items", "[]"})) return;
    nameless = nameless || item_.name.empty();
    page.namespaces.push_back(std::exchange(item_, {}));
  }
  std::string_view label_key_;
  Namespace item_;
};

class EventReader : public Walker {
 public:
  explicit EventReader(std::string_view label_key) : label_key_(label_key) {}
  Event event;
  std::string type;

 private:
  void Value(const Path& path, const std::string& value) override {
    if (Is(path, {"type"})) type = value;
    if (Is(path, {"object", "message"})) event.message = value.substr(0, 512);
    if (Is(path, {"object", "code"}))
      std::from_chars(value.data(), value.data() + value.size(), event.status);
    if (!path.empty() && path[0] == "object") TakeMetadata(event.what, path, 1, value, label_key_);
  }
  void End(const Path&) override {}
  std::string_view label_key_;
};

}  // namespace

Result<Page> ReadPage(std::string_view text, std::string_view label_key) {
  PageReader reader(label_key);
  RAIL_TRY_AS(reader.Read(text), "the API server's list of namespaces");
  if (reader.nameless || reader.page.resource_version.empty())
    return Fail(Code::kInvalid, "the API server's answer is no list of namespaces");
  return std::move(reader.page);
}

Result<Event> ReadEvent(std::string_view text, std::string_view label_key) {
  EventReader reader(label_key);
  RAIL_TRY_AS(reader.Read(text), "an event of the API server");
  Event& event = reader.event;
  using Kind = Event::Kind;
  static const std::map<std::string, Kind> kinds = {{"ERROR", Kind::kError},
                                                    {"BOOKMARK", Kind::kBookmark},
                                                    {"ADDED", Kind::kAdded},
                                                    {"MODIFIED", Kind::kModified},
                                                    {"DELETED", Kind::kDeleted}};
  const auto kind = kinds.find(reader.type);
  if (kind == kinds.end()) return Fail(Code::kInvalid, "the API server sends an event of an unknown type");
  event.kind = kind->second;
  if (event.kind == Kind::kError) return std::move(event);
  const bool needs_name = event.kind != Kind::kBookmark;
  if (event.what.resource_version.empty() || (needs_name && event.what.name.empty()))
    return Fail(Code::kInvalid, "the API server sends an event without a name or a version");
  return std::move(event);
}

int64_t ReadTime(std::string_view text) {
  if (text.size() != 20 || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' ||
      text[16] != ':' || text[19] != 'Z')
    return 0;
  const auto part = [&](size_t at, size_t digits) { return Number<unsigned>(text.substr(at, digits)); };
  const auto year = part(0, 4), month = part(5, 2), day = part(8, 2);
  const auto hour = part(11, 2), minute = part(14, 2), second = part(17, 2);
  if (!year || !month || !day || !hour || !minute || !second) return 0;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(*month), std::chrono::day(*day)};
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return 0;
  const auto since = std::chrono::sys_days(date).time_since_epoch() + std::chrono::hours(*hour) +
                     std::chrono::minutes(*minute) + std::chrono::seconds(*second);
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

}  // namespace rail::kubernetes
