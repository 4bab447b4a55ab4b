#include "lib/config/schema.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace rail::config {

using nlohmann::json;

void File::TakeOnce(const std::string& value, const std::string& path, std::string_view rule) {
  const auto [place, fresh] = taken[rule].emplace(value, path);
  if (!fresh) errors.Add(path, value + " is " + place->second + " already: " + std::string(rule));
}

bool Rule::Accepts(std::string_view text) const {
  if (!choices.empty()) return std::ranges::find(choices, text) != choices.end();
  return accepts == nullptr || accepts(text);
}

// "a", "b" or "c"
std::string Rule::Says() const {
  std::string text(says);
  for (size_t i = 0; i < choices.size(); ++i)
    text += (i == 0 ? "\"" : i + 1 == choices.size() ? " or \"" : ", \"") + std::string(choices[i]) + "\"";
  return text;
}

bool Section::Text(const Key& key, std::string& into) {
  const size_t known = file.errors.size();
  into = object.StringOr(key.name, into);
  if (file.errors.size() == known && !key.rule.Accepts(into))
    AddValue(key.name, DumpJson(into) + " must be " + key.rule.Says());
  return file.errors.size() == known;
}

size_t Section::Choice(const Key& key) {
  std::string text;
  if (!Text(key, text)) return 0;
  return static_cast<size_t>(std::ranges::find(key.rule.choices, text) - key.rule.choices.begin());
}

void Section::Keys(const Key& key, void* into) {
  if (const json* value = object.Object(key.name))
    ReadKeys(*key.rule.keys, *value, PathOf(key.name), into, file);
}

void Section::List(const Key& key, void* into, void* (*add)(void* into)) {
  const json* list = object.Array(key.name);
  for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
    const json& item = (*list)[i];
    ReadKeys(*key.rule.keys, item, PathOf(key.name) + "[" + std::to_string(i) + "]",
             item.is_object() ? add(into) : nullptr, file);
  }
}

std::vector<Item> Section::Texts(std::string_view key, size_t least, size_t most, const std::string& none) {
  const size_t known = file.errors.size();
  std::vector<Item> items;
  for (std::string& text : object.StringsOr(key)) {
    const std::string shown = DumpJson(text);
    items.push_back({std::move(text), std::string(key) + "[" + std::to_string(items.size()) + "]", shown});
  }
  if (file.errors.size() != known || (items.size() >= least && items.size() <= most)) return items;
  Add(key, !none.empty() ? none
                         : "must list " + std::to_string(least) + " to " + std::to_string(most) +
                               ", and lists " + std::to_string(items.size()));
  return items;
}

void ReadKeys(const KeyTable& table, const json& value, const std::string& path, void* into, File& file) {
  Section section{path, JsonObject(value, path, file.errors), file};
  if (!value.is_object()) return;
  for (const Key& key : table.keys) {
    void* const member = key.at == nullptr ? nullptr : const_cast<void*>(key.at(into));
    if (!section.object.Has(key.name)) {
      if (key.absent.starts_with(kRequired))
        section.Add(key.name, "is missing" + std::string(key.absent.substr(kRequired.size())));
      const auto instead_of_it = ParseJson(key.absent);
      if (!instead_of_it) continue;
      const json usual = {{std::string(key.name), *instead_of_it}};
      Section instead{path, JsonObject(usual, path, file.errors), file};
      key.read(instead, key, member);
      continue;
    }
    const size_t known = file.errors.size();
    key.read(section, key, member);
    if (!key.rule.once.empty() && file.errors.size() == known) {
      const json& once = value[std::string(key.name)];
      file.TakeOnce(DumpJson(once.is_string() ? once : json(DumpJson(once))), section.PathOf(key.name),
                    key.rule.once);
    }
  }
  if (table.check != nullptr) table.check(section, {}, into);
  section.object.RejectUnknown();
}

}  // namespace rail::config
