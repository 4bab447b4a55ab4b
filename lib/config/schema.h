// node.json as tables: a row for each key has its name, its member, what stands where it is absent, its values, and what a change of it
// needs. The reader, Changes() and KEYS.md are made of them.
//
// Use:      const Key kRows[] = {Row<&Frr::run_dir>("run_dir", "\"/run/frr\"", Takes::kRestart, kRunDir, "")};
//           ReadKeys(KeyTable{kRows}, json, "frr", &node.frr, file);
// Threads:  values
// Source:   README.md of this folder
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "lib/base/strict_json.h"
#include "lib/config/changes.h"
#include "lib/config/node_config.h"

namespace rail::config {

struct Key;
struct KeyTable;
inline constexpr std::string_view kRequired = "required";

// A file that is read: what it has said so far, in the order of the rows, and what is wrong with it.
struct File {
  const nlohmann::json& document;
  NodeConfig node;
  JsonErrors errors;
  std::map<std::string_view, std::map<std::string, std::string>> taken;  // rule -> value -> where it is

  // Notes that `value` (as it is shown) is at `path`. An error with `rule` if the same value is elsewhere already.
  void TakeOnce(const std::string& value, const std::string& path, std::string_view rule);
};

// A string of a list of the file.
struct Item {
  std::string text;
  std::string at;     // "links[1]"
  std::string shown;  // in quotes
};

// An object of the file that is read.
struct Section {
  std::string path;
  JsonObject object;
  File& file;
  const size_t errors_before = file.errors.size();

  std::string PathOf(std::string_view key) const { return object.PathOf(key); }
  void Add(std::string_view key, const std::string& what) { file.errors.Add(PathOf(key), what); }
  void AddValue(std::string_view key, const std::string& what) { file.errors.AddValue(PathOf(key), what); }
  bool Text(const Key& key, std::string& into);  // false: the rule refuses it, which is in the errors
  size_t Choice(const Key& key);                 // the place of the text in the rule's choices
  void Keys(const Key& key, void* into);
  // The objects of a list, each read into what `add` adds to the list `into`.
  void List(const Key& key, void* into, void* (*add)(void* into));
  // The strings of a list, and an error if it has less (`none`: what that says) or more.
  std::vector<Item> Texts(std::string_view key, size_t least = 0, size_t most = SIZE_MAX,
                          const std::string& none = {});
};

using Reader = void (*)(Section& in, const Key& key, void* into);

// What a key's value can be: a number of a range, or a list of so many, a text that a function accepts or that is one of a few, an object (or a list or map of
// them) with rows of its own, or what a reader takes. Without anything: whatever the member's type holds.
struct Rule {
  std::string_view says = {};  // "an absolute path": after "must be" in errors, and in KEYS.md
  bool (*accepts)(std::string_view text) = nullptr;
  std::span<const std::string_view> choices = {};
  uint64_t least = 0, most = UINT32_MAX;
  std::string_view once = {};      // why no other key of these words has the same value
  const KeyTable* keys = nullptr;  // rows of the object
  std::string_view each = {};      // before such a row's name in KEYS.md: "[]" in lists, ".*" in maps
  Reader read = nullptr;

  bool Accepts(std::string_view text) const;
  std::string Says() const;
};

struct Key {
  std::string_view name;
  // Where the key is absent: JSON text that is read in its place, "required", or words, and then the member stays as it is.
  std::string_view absent;
  Takes takes;
  Rule rule;
  std::string_view words;  // for KEYS.md, beside what the rule says
  // Of the member; nullptr: it has none that differs by itself.
  const void* (*at)(const void* section) = nullptr;
  Reader read = nullptr;
  bool (*same)(const void* a, const void* b) = nullptr;  // nullptr: its rows say
};

struct KeyTable {
  std::span<const Key> keys;
  Reader check = nullptr;  // what one key says about another, once all are read
};

// Reads all keys of `json` into the struct `into`; nothing, but an error, if it is no object.
void ReadKeys(const KeyTable& table, const nlohmann::json& json, const std::string& path, void* into,
              File& file);

// A function of a member's own type as a Reader.
template <class T>
void Call(void (*read)(Section&, const Key&, T&), Section& in, const Key& key, void* into) {
  read(in, key, *static_cast<T*>(into));
}
template <auto kRead>
constexpr Reader By() {
  return [](Section& in, const Key& key, void* into) { Call(kRead, in, key, into); };
}

template <class T>
void ReadAs(Section& in, const Key& key, void* into) {
  T& value = *static_cast<T*>(into);
  if constexpr (requires { value.has_value(); }) {
    ReadAs<typename T::value_type>(in, key, &value.emplace());
  } else if constexpr (std::is_same_v<T, bool>) {
    value = in.object.BoolOr(key.name, value);
  } else if constexpr (std::is_integral_v<T>) {
    value = static_cast<T>(in.object.Uint(key.name, key.rule.least, key.rule.most));
  } else if constexpr (std::is_enum_v<T>) {
    value = static_cast<T>(in.Choice(key));
  } else if constexpr (std::is_same_v<T, std::string>) {
    in.Text(key, value);
  } else if constexpr (requires { value.emplace_back(); }) {
    in.List(key, into, [](void* list) -> void* { return &static_cast<T*>(list)->emplace_back(); });
  } else {
    in.Keys(key, into);
  }
}

// The member of a struct, or of a struct in it.
template <auto kMember, auto... kInner>
struct Member;
template <class S, class T, T S::* kMember>
struct Member<kMember> {
  using Type = T;
  static const void* At(const void* section) { return &(static_cast<const S*>(section)->*kMember); }
};
template <class S, class T, T S::* kMember, auto kInner>
struct Member<kMember, kInner> {
  using Type = typename Member<kInner>::Type;
  static const void* At(const void* section) { return Member<kInner>::At(Member<kMember>::At(section)); }
};

template <class T>
constexpr bool kHasEquality = requires(const T& a) { a == a; };
template <class T>
constexpr bool kHasEquality<std::vector<T>> = kHasEquality<T>;

template <auto... kMember>
constexpr Key Row(std::string_view name, std::string_view absent, Takes takes, Rule rule,
                  std::string_view words) {
  using T = typename Member<kMember...>::Type;
  Key key{name, absent, takes, rule, words, &Member<kMember...>::At, rule.read};
  if (key.read == nullptr) key.read = &ReadAs<T>;
  constexpr bool kIsOptional = requires(const T& a) { a.has_value(); };
  if constexpr (kHasEquality<T>) {
    const auto same = [](const void* a, const void* b) {
      return *static_cast<const T*>(a) == *static_cast<const T*>(b);
    };
    if (rule.keys == nullptr || !rule.each.empty() || kIsOptional) key.same = same;
  }
  return key;
}

constexpr Rule Range(uint64_t least, uint64_t most, std::string_view once = {}) {
  return {.least = least, .most = most, .once = once};
}
constexpr Rule Text(bool (*accepts)(std::string_view), std::string_view says, std::string_view once = {}) {
  return {.says = says, .accepts = accepts, .once = once};
}
constexpr Rule OneOf(std::span<const std::string_view> choices) {
  return {.choices = choices};
}
constexpr Rule Of(const KeyTable& keys, std::string_view each = {}) {
  return {.keys = &keys, .each = each};
}

// A section of which each row says what a change of it needs.
template <auto kMember>
constexpr Key Part(std::string_view name, std::string_view absent, const KeyTable& keys,
                   std::string_view words = {}) {
  return Row<kMember>(name, absent, Takes::kAtOnce, Of(keys), words);
}

// What `rule` accepts, or without one anything, read by a function.
template <auto kRead>
constexpr Rule ReadBy(Rule rule = {}) {
  rule.read = By<kRead>();
  return rule;
}

}  // namespace rail::config
