#include "lib/counters/port.h"

#include "lib/engine/attach/attachment.h"

namespace rail::counters {

std::string Port::Name() const {
  if (is_uplink()) return rail + " uplink " + link;
  return pod_namespace + "/" + pod + " " + ifname;
}

std::vector<PortPtr> PortsOf(const config::NodeConfig& config, const engine::NodeView& view) {
  std::vector<PortPtr> ports;
  for (const config::Rail& rail : config.rails)
    ports.push_back(std::make_shared<const Port>(Port{.rail = rail.name, .link = rail.pf}));
  for (const engine::AttachmentView& each : view.attachments) {
    const state::Attachment& a = each.attachment;
    if (a.phase != state::Phase::kReady || a.representor.empty()) continue;
    ports.push_back(std::make_shared<const Port>(Port{.rail = a.rail,
                                                      .link = a.representor,
                                                      .attachment = a.id,
                                                      .pod_namespace = a.pod_namespace,
                                                      .pod = a.pod_name,
                                                      .ifname = a.key.ifname,
                                                      .tenant = a.tenant,
                                                      .tenant_id = a.tenant_id,
                                                      .netns = a.netns_path,
                                                      .netns_identity = engine::NamespaceOf(a)}));
  }
  return ports;
}

}  // namespace rail::counters
