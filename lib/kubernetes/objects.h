// Objects of a collection: all of them, or as soon as they are as they are wanted (a list, then a watch from there).
//
// Use:      RAIL_ASSIGN(const std::vector<json> nodes, ListObjects(client, "/api/v1/nodes", until));
//           RAIL_ASSIGN(const Objects pods, WaitForObjects(client, "/api/v1/namespaces/x/pods?labelSelector=app%3Da", until, AllReady));
// Threads:  one, as its client
// Source:   Kubernetes, "API Concepts" (efficient detection of changes)
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/kubernetes/client.h"

namespace rail::kubernetes {

// The entry of status.conditions; null: it has none of the type.
const nlohmann::json& FindCondition(const nlohmann::json& object, const std::string& type);

// In pages, as a cluster may have thousands. `path`: without a query. Errors: those of AskFor.
Result<std::vector<nlohmann::json>> ListObjects(Client& client, const std::string& path, Deadline until);

using Objects = std::map<std::string, nlohmann::json>;  // by name

// Calls `wanted` with the objects as they are now, and after each change; an error of it ends the wait. `path`: of the collection, with a query of
// selectors or none. Errors: kTransient the time is over; those of AskFor and of `wanted`.
using Wanted = std::function<Result<bool>(const Objects& now)>;
Result<Objects> WaitForObjects(Client& client, const std::string& path, Deadline until, const Wanted& wanted);

}  // namespace rail::kubernetes
