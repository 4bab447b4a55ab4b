#include "lib/config/overlay.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>

namespace rail::config {
namespace {

using nlohmann::json;

constexpr std::string_view kRails = "rails";

// Objects that are one value: half of one and half of another would say something that nobody wrote.
bool IsOneValue(const std::string& path) {
  return path == "bgp.asn" || path == "bgp.router_id";
}

std::string KeyOf(const std::string& rail) {
  return "rails{" + rail + "}";
}

bool IsNamed(const json& rail, const std::string& name) {
  const auto found = rail.is_object() ? rail.find("name") : rail.end();
  return rail.is_object() && found != rail.end() && *found == name;
}

}  // namespace

Overlay::Overlay(const json& base) : document_(std::make_unique<json>(base)) {}
Overlay::~Overlay() = default;

void Overlay::Merge(const json& set, const std::string& place, JsonErrors& errors) {
  MergeObject(*document_, set, "", place, errors);
}

void Overlay::MergeObject(json& target, const json& set, const std::string& path, const std::string& place,
                          JsonErrors& errors) {
  for (const auto& [key, value] : set.items()) {
    const std::string here = path.empty() ? key : path + "." + key;
    const std::string there = place + "." + key;
    if (here == kRails && value.is_array()) {
      MergeRails(value, there, errors);
      continue;
    }
    if (value.is_null()) {
      target.erase(key);
    } else if (value.is_object() && !IsOneValue(here)) {
      json& inner = target[key];
      if (!inner.is_object()) inner = json::object();
      MergeObject(inner, value, here, there, errors);
      continue;
    } else {
      target[key] = value;
    }
    origins_[here] = there;
  }
}

void Overlay::MergeRails(const json& set, const std::string& place, JsonErrors& errors) {
  std::set<std::string> named;
  for (size_t i = 0; i < set.size(); ++i) {
    const std::string here = place + "[" + std::to_string(i) + "]";
    const json& rail = set[i];
    const auto name = rail.is_object() ? rail.find("name") : rail.end();
    if (!rail.is_object()) {
      errors.AddValue(here, std::string("must be an object, not ") + rail.type_name());
    } else if (name == rail.end() || !name->is_string()) {
      errors.Add(here + ".name", "is missing: it says which rail is meant");
    } else if (!named.insert(name->get<std::string>()).second) {
      errors.Add(here + ".name", DumpJson(*name) + " is in this list already: a rule sets a rail once");
    } else {
      MergeRail(rail, name->get<std::string>(), here, errors);
    }
  }
}

void Overlay::MergeRail(const json& set, const std::string& name, const std::string& place,
                        JsonErrors& errors) {
  json& rails = (*document_)[std::string(kRails)];
  if (!rails.is_array()) rails = json::array();
  const auto found = std::ranges::find_if(rails, [&](const json& rail) { return IsNamed(rail, name); });
  if (const auto remove = set.find("remove"); remove != set.end()) {
    if (*remove != true || set.size() != 2) {
      errors.Add(place, R"(a rail is taken away by {"name": ..., "remove": true}, without other keys)");
    } else if (found != rails.end()) {
      rails.erase(found);
    }
    return;
  }
  const bool is_new = found == rails.end();
  if (is_new) {
    rails.push_back(json::object());
    origins_[KeyOf(name)] = place;
  }
  MergeObject(is_new ? rails.back() : *found, set, KeyOf(name), place, errors);
}

std::string Overlay::OriginOf(const std::string& path) const {
  std::string here = path;
  size_t index = 0;
  if (here.starts_with("rails[")) {
    const char* const begin = here.data() + std::string_view("rails[").size();
    const auto [end, error] = std::from_chars(begin, here.data() + here.size(), index);
    const auto rails = document_->find(std::string(kRails));
    if (error == std::errc() && rails != document_->end() && rails->is_array() && index < rails->size()) {
      const json& rail = (*rails)[index];
      if (rail.is_object() && rail.contains("name") && rail["name"].is_string()) {
        here = KeyOf(rail["name"].get<std::string>()) + here.substr(here.find(']') + 1);
      }
    }
  }
  while (!here.empty()) {
    if (const auto found = origins_.find(here); found != origins_.end()) return found->second;
    const size_t cut = here.find_last_of(".[");
    if (cut == std::string::npos) return "";
    here.resize(cut);
  }
  return "";
}

}  // namespace rail::config
