// Makes the API server's slices of one node and driver the wanted ones; nobody else's are touched.
//
// Use:      RAIL_ASSIGN(const Published done, Publish(api, pool, After(std::chrono::seconds(30))));   // after each registration, too:
//           RAIL_TRY(RemoveAll(api, "rail.railcni.io", "n1", until));                                 // the kubelet deletes slices
// Threads:  one, as the client
// Source:   resource/v1 ResourceSlice: a pool counts when all slices of its newest generation are there; a taint's timeAdded is the server's
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/kubernetes/resource_api.h"
#include "lib/kubernetes/resource_slices.h"

namespace rail::kubernetes {

// The PCI addresses of a pool's devices that others publish on its node, by driver.
using OtherOwners = std::map<std::string, std::vector<std::string>>;

struct Published {
  int written = 0;  // 0: they are the wanted ones
  int removed = 0;
  int64_t generation = 0;  // 0: no devices, no slices
  OtherOwners others;
};

// One slice is changed in its place, several become a new generation. Where the server keeps no taints, a device with one that is not None is
// left out. After an error a part may be written, and the next Publish goes on from there. Errors: of CheckPool; kNotFound no such node, or
// no such version any more; kBusy five times in turn another was faster; of AskFor.
Result<Published> Publish(ResourceApi& api, const Pool& pool, Deadline until);

inline Result<Published> RemoveAll(ResourceApi& api, const std::string& driver, const std::string& node,
                                   Deadline until) {
  return Publish(api, {.driver = driver, .node = node, .devices = {}}, until);
}

}  // namespace rail::kubernetes
