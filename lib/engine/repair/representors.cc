#include "lib/engine/repair/representors.h"

#include <algorithm>

#include "lib/base/log.h"
#include "lib/base/text.h"

namespace rail::engine {

std::string RepresentorProblem(const netlink::Link& link) {
  if (!link.up) return link.name + " is set down";
  return link.carrier ? "" : link.name + " has no carrier";
}

std::string RepresentorRemedy(const std::string& representor, bool up) {
  if (up) {
    return "is the pod's interface up (`railctl check`)? Of a VF: `ip link show` of its PF says the VF's "
           "link-state, which "
           "must be auto or enable";
  }
  return "`ip link set " + representor +
         " up`; raild does so by itself: `railctl get node` says what keeps it from it";
}

Status RepresentorRepair::Repair(netlink::Netlink& host, const Record& record) {
  links_.clear();
  Status first;
  std::string raised;
  uint64_t count = 0;
  for (const state::Attachment& attachment : record.attachments) {
    if (attachment.rail != rail_.name || attachment.phase != state::Phase::kReady ||
        attachment.representor.empty())
      continue;
    const auto link = host.GetLink(attachment.representor);
    if (!link) {
      if (link.error().code != Code::kNotFound && first) first = tl::make_unexpected(link.error());
      continue;
    }
    links_.insert(link->index);
    if (link->up) continue;
    const Status up = host.SetUp(link->index);
    if (!up) {
      if (first)
        first = FailWrapped(up.error(), "set up " + attachment.representor + ", the representor of " +
                                            attachment.pod_namespace + "/" + attachment.pod_name);
      continue;
    }
    ++count;
    Append(raised, ", ",
           attachment.representor + " of " + attachment.pod_namespace + "/" + attachment.pod_name);
  }
  if (count > 0)
    log::Warning("rail {}: {} representors were down, set up again: {}", rail_.name, count, raised);
  node_status_.Repaired("representor", count);
  return first;
}

bool RepresentorRepair::Concerned(const std::vector<int>& links) const {
  return std::ranges::any_of(links, [&](int link) { return links_.contains(link); });
}

}  // namespace rail::engine
