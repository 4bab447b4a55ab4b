#include "lib/inspect/select.h"

#include <algorithm>

namespace rail::inspect {

bool IsTenant(const std::string& wanted, const std::string& name, tenancy::TenantId id) {
  return wanted.empty() || wanted == name || (!id.is_none() && wanted == id.ToString());
}

bool Matches(const Selector& selector, const state::Attachment& a) {
  const auto matches = [](const std::string& wanted, const std::string& is) {
    return wanted.empty() || wanted == is;
  };
  return (selector.id == 0 || selector.id == a.id) && matches(selector.pod_namespace, a.pod_namespace) &&
         matches(selector.pod, a.pod_name) && matches(selector.rail, a.rail) &&
         matches(selector.ifname, a.key.ifname) && IsTenant(selector.tenant, a.tenant, a.tenant_id);
}

std::vector<const engine::AttachmentView*> Select(const engine::NodeView& view, const Selector& selector) {
  std::vector<const engine::AttachmentView*> selected;
  for (const engine::AttachmentView& shown : view.attachments) {
    if (Matches(selector, shown.attachment)) selected.push_back(&shown);
  }
  std::ranges::sort(selected, {}, [](const engine::AttachmentView* shown) { return shown->attachment.id; });
  return selected;
}

std::string Name(const state::Attachment& attachment) {
  const std::string pod = attachment.pod_name.empty()
                              ? "container " + attachment.key.container_id.substr(0, 12)
                              : attachment.pod_namespace + "/" + attachment.pod_name;
  return pod + " " + attachment.key.ifname + " on " + attachment.rail;
}

std::string ToText(const Selector& selector) {
  std::string text = "attachment";
  if (selector.id != 0) text += " " + std::to_string(selector.id);
  if (!selector.pod.empty()) {
    text += " of pod " + (selector.pod_namespace.empty() ? "" : selector.pod_namespace + "/") + selector.pod;
  } else if (!selector.pod_namespace.empty()) {
    text += " in namespace " + selector.pod_namespace;
  }
  if (!selector.ifname.empty()) text += " with interface " + selector.ifname;
  if (!selector.rail.empty()) text += " on rail " + selector.rail;
  if (!selector.tenant.empty()) text += " of tenant " + selector.tenant;
  return text;
}

}  // namespace rail::inspect
