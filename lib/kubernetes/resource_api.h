// The group resource.k8s.io: which version of it an API server has, one request, slices as each version writes them.
//
// Use:      RAIL_ASSIGN(ResourceApi api, FindResourceApi(client, until));   // again after a failure: the server may be another
//           RAIL_ASSIGN(const json list, AskFor(client, {.path = api.Path("resourceslices")}, "list the slices", until));
// Threads:  one, as its client
// Source:   resource.k8s.io v1, v1beta2 and v1beta1 (Kubernetes 1.32): in the last what a device of a slice has stands in "basic"
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/kubernetes/client.h"

namespace rail::kubernetes {

struct ResourceApi {
  Client* client = nullptr;
  std::string version;       // "v1"
  bool keeps_taints = true;  // false once it has stored a slice without them (by default, before 1.36)

  std::string Name() const { return "resource.k8s.io/" + version; }
  std::string Path(const std::string& rest) const { return "/apis/" + Name() + "/" + rest; }
};

// Errors: kUnsupported where the server has none of the three versions; of AskFor.
Result<ResourceApi> FindResourceApi(Client& client, Deadline until);

// The object that is answered. Errors: kBusy 409 and 410 (another was faster: read anew), ErrorOf other answers that are not ok;
// kInvalid what is no object; kTransient no time left; of Client::Ask.
Result<nlohmann::json> AskFor(Client& client, Request request, const std::string& doing, Deadline until);

// A slice of v1 as the server's version has it; and where a device of a slice, of whatever version, has what is not its name.
nlohmann::json ToServer(const ResourceApi& api, nlohmann::json slice);
const nlohmann::json& ContentsOf(const nlohmann::json& device);

// What `keys` lead to; null or "" where they lead to nothing, or to no text.
const nlohmann::json& At(const nlohmann::json& value, const std::vector<const char*>& keys);
std::string TextAt(const nlohmann::json& value, const std::vector<const char*>& keys);

}  // namespace rail::kubernetes
