// The tables of keys of node.json, by section, and the rules between sections.
//
// Use:      ReadKeys(kNodeKeys, json, "", &file.node, file);
// Threads:  values
// Source:   KEYS.md, which is made of them
#pragma once

#include "lib/config/schema.h"

namespace rail::config {

extern const KeyTable kNodeKeys;  // of NodeConfig: the whole file
extern const KeyTable kRailKeys;
extern const KeyTable kLosslessKeys;  // of Lossless: the node's section; CheckRail puts a rail's over it
extern const KeyTable kTenancyKeys;
extern const KeyTable kRatesKeys;
extern const KeyTable kFrontendKeys;

// What Parse would refuse in the plain document. Empty: Parse takes it.
std::vector<JsonError> ProblemsOf(const nlohmann::json& document);

// The check of kNodeKeys: what one section says about another.
void CheckNode(Section& in, const Key& key, NodeConfig& node);

}  // namespace rail::config
