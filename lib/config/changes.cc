#include "lib/config/changes.h"

#include "lib/base/text.h"
#include "lib/config/keys.h"

namespace rail::config {
namespace {

void Compare(const KeyTable& table, const void* a, const void* b, const std::string& path,
             std::vector<Change>& changes);

// By their names. One that is new cuts nobody off.
void CompareRails(const NodeConfig& a, const NodeConfig& b, std::vector<Change>& changes) {
  for (const Rail& rail : a.rails) {
    const std::string path = "rails[" + rail.name + "]";
    if (const Rail* now = b.FindRail(rail.name)) {
      Compare(kRailKeys, &rail, now, path + ".", changes);
    } else {
      changes.push_back({path, Takes::kRestart});
    }
  }
  for (const Rail& rail : b.rails) {
    if (a.FindRail(rail.name) == nullptr) changes.push_back({"rails[" + rail.name + "]", Takes::kAtOnce});
  }
}

void Compare(const KeyTable& table, const void* a, const void* b, const std::string& path,
             std::vector<Change>& changes) {
  for (const Key& key : table.keys) {
    const std::string place = path + std::string(key.name);
    if (key.rule.keys == &kRailKeys) {
      CompareRails(*static_cast<const NodeConfig*>(a), *static_cast<const NodeConfig*>(b), changes);
    } else if (key.same != nullptr) {
      if (!key.same(key.at(a), key.at(b))) changes.push_back({place, key.takes});
    } else if (key.at != nullptr) {
      Compare(*key.rule.keys, key.at(a), key.at(b), place + ".", changes);
    }
  }
}

}  // namespace

std::vector<Change> Changes(const NodeConfig& runs, const NodeConfig& now) {
  std::vector<Change> changes;
  Compare(kNodeKeys, &runs, &now, "", changes);
  return changes;
}

std::string Keys(const std::vector<Change>& changes) {
  return Join(changes, ", ", &Change::key);
}

}  // namespace rail::config
