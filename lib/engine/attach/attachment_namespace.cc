#include "lib/engine/attach/attachment.h"
#include "lib/engine/attach/verb_context.h"

namespace rail::engine {

using state::Attachment;

void SetPod(Attachment& attachment, const cni::Request& request, const netns::Netns& pod) {
  attachment.key = KeyOf(request);
  attachment.pod_namespace = request.pod.pod_namespace;
  attachment.pod_name = request.pod.name;
  attachment.pod_uid = request.pod.uid;
  attachment.netns_path = request.netns;
  attachment.netns_device = pod.identity().device;
  attachment.netns_inode = pod.identity().inode;
  attachment.boot = pod.identity().boot;
}

netns::Identity NamespaceOf(const Attachment& attachment) {
  return {attachment.netns_device, attachment.netns_inode, attachment.boot};
}

bool IsKnownToBeOfEarlierBoot(const Attachment& attachment) {
  const std::string& now = netns::BootId();
  return !attachment.boot.empty() && !now.empty() && attachment.boot != now;
}

// The path of a namespace may lead to another pod's by now.
std::optional<netns::Netns> PodNamespace(const Attachment& attachment) {
  auto pod = netns::Netns::Open(attachment.netns_path);
  if (!pod || pod->identity() != NamespaceOf(attachment)) return std::nullopt;
  return std::move(*pod);
}

}  // namespace rail::engine
