#include "lib/engine/attach/attachment.h"

namespace rail::engine {

using state::Attachment;

void SetNamespace(Attachment& attachment, const std::string& path, const netns::Netns& pod) {
  attachment.netns_path = path;
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
