#include "lib/engine/repair/good_rails.h"

#include <nlohmann/json.hpp>

#include "lib/base/strict_json.h"
#include "lib/base/text.h"
#include "lib/base/whole_file.h"

namespace rail::engine {

std::string LackOf(const RailView& rail, bool manages_bgp) {
  if (!rail.seen.bridge_present()) return "has no bridge " + rail.rail.bridge;
  if (!rail.seen.carrier()) return "has no carrier on " + rail.rail.pf;
  // Where somebody else configures bgpd, the rail may have its session by other means, which raild does not know.
  if (manages_bgp && !rail.connected()) {
    if (rail.seen.by_vlan()) return "has a VLAN whose BGP session is not Established";
    return "has no Established BGP session on " + rail.rail.bridge;
  }
  return "";
}

GoodRails::GoodRails(const config::NodeConfig& config, const std::set<std::string>& before, Deadline started)
    : manages_bgp_(config.bgp.manage), started_(started) {
  for (const config::Rail& rail : config.rails) {
    rails_[rail.name].was_good = before.contains(rail.name);
    rails_[rail.name].bad_since = started;
    if (before.contains(rail.name)) keep_.insert(rail.name);
  }
  kept_ = before;
}

void GoodRails::Look(const NodeView& view, Deadline now) {
  for (const RailView& shown : view.rails) {
    const auto found = rails_.find(shown.rail.name);
    if (found == rails_.end()) continue;
    Rail& rail = found->second;
    rail.lack = LackOf(shown, manages_bgp_);
    if (rail.lack.empty()) {
      rail.has_been_good = true;
      rail.bad_since.reset();
      keep_.insert(found->first);
    } else {
      rail.bad_since = rail.bad_since.value_or(now);
      // A leaf that restarts while raild does is no rail that has gone.
      if (rail.has_been_good && now - *rail.bad_since >= kRailTime) keep_.erase(found->first);
    }
  }
  if (view.rails.empty() || ready_) return;
  waits_for_.clear();
  for (const auto& [name, rail] : rails_) {
    if (rail.has_been_good || (!rail.was_good && now - started_ >= kRailTime)) continue;
    Append(waits_for_, "; ",
           "rail " + name + " " + rail.lack +
               (rail.was_good ? ", and it was good before raild was started: is its configuration right?"
                              : " yet"));
  }
  ready_ = waits_for_.empty();
}

std::set<std::string> ReadGoodRails(const std::string& path) {
  std::set<std::string> rails;
  const auto document = ReadJsonFile(path);
  if (!document || !document->is_array()) return rails;
  for (const nlohmann::json& name : *document) {
    if (name.is_string()) rails.insert(name.get<std::string>());
  }
  return rails;
}

Status WriteGoodRails(const std::string& path, const std::set<std::string>& rails) {
  RAIL_TRY_AS(WriteWhole(path, DumpJson(nlohmann::json(rails)) + "\n", 0600),
              "keep the names of the good rails");
  return {};
}

}  // namespace rail::engine
