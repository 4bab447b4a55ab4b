// Selects the attachments that a question is about.
//
// Use:      for (const engine::AttachmentView* a : Select(*view, {.pod_namespace = "ns-a", .pod = "train-0"})) ...
// Threads:  values; pure functions
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/engine/view.h"

namespace rail::inspect {

// An attachment must match every field that is set.
struct Selector {
  int64_t id = 0;
  std::string pod_namespace;
  std::string pod;
  std::string rail;
  std::string ifname;
  std::string tenant;  // its name or its id
  bool empty() const {
    return id == 0 && pod_namespace.empty() && pod.empty() && rail.empty() && ifname.empty() &&
           tenant.empty();
  }
};

// Whether `wanted` is the name or the id (28 hexadecimal digits) of a tenant; an empty one is any tenant's.
bool IsTenant(const std::string& wanted, const std::string& name, tenancy::TenantId id);

bool Matches(const Selector& selector, const state::Attachment& attachment);

// Ordered by id. The pointers point into `view`.
std::vector<const engine::AttachmentView*> Select(const engine::NodeView& view, const Selector& selector);

// "tenant-a/a1 net1 on rail0"
std::string Name(const state::Attachment& attachment);

// "attachment of pod tenant-a/a1 on rail rail0", with the parts that are set.
std::string ToText(const Selector& selector);

}  // namespace rail::inspect
