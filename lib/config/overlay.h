// A document into which rules are merged, and which remembers the rule that each value came from.
//
// Use:      Overlay overlay(base);
//           overlay.Merge(set, "rules[2].set", errors);
//           overlay.OriginOf("rails[0].pf");      // "rules[2].set.rails[0].pf"; "": the file itself
// Threads:  one at a time
// Source:   README.md of this folder ("One file for all nodes")
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lib/base/strict_json.h"

namespace rail::config {

class Overlay {
 public:
  explicit Overlay(const nlohmann::json& base);
  ~Overlay();
  Overlay(const Overlay&) = delete;
  Overlay& operator=(const Overlay&) = delete;

  // Objects are merged key by key, rails by their names, everything else is replaced; null takes a key away, and
  // {"name": "rail7", "remove": true} a rail. `place`: where `set` stands in the file.
  void Merge(const nlohmann::json& set, const std::string& place, JsonErrors& errors);

  nlohmann::json& document() { return *document_; }
  // The place in the file that has set the value at `path` of the document, or what contains it; "": no rule has.
  std::string OriginOf(const std::string& path) const;

 private:
  void MergeObject(nlohmann::json& target, const nlohmann::json& set, const std::string& path,
                   const std::string& place, JsonErrors& errors);
  void MergeRails(const nlohmann::json& set, const std::string& place, JsonErrors& errors);
  void MergeRail(const nlohmann::json& set, const std::string& name, const std::string& place,
                 JsonErrors& errors);

  const std::unique_ptr<nlohmann::json> document_;
  std::map<std::string, std::string> origins_;  // a rail is here by its name: "rails{rail0}.pf"
};

}  // namespace rail::config
