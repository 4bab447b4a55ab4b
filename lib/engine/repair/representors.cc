#include "lib/engine/repair/representors.h"

#include <algorithm>

#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/engine/attach/attachment.h"

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

namespace {

std::string NameOf(const state::Attachment& attachment) {
  return attachment.representor + ", the representor of " + attachment.pod_namespace + "/" +
         attachment.pod_name;
}

// What was mended, for the log.
struct Mended {
  std::string names;
  uint64_t count = 0;
  void Add(const state::Attachment& attachment) {
    ++count;
    Append(names, ", ",
           attachment.representor + " of " + attachment.pod_namespace + "/" + attachment.pod_name);
  }
};

}  // namespace

Status RepresentorRepair::ForEach(const Record& record,
                                  const std::function<Status(const state::Attachment&)>& on) const {
  Status first;
  for (const state::Attachment& attachment : record.attachments) {
    if (attachment.rail != rail_.name || attachment.phase != state::Phase::kReady ||
        attachment.representor.empty())
      continue;
    const Status one = on(attachment);
    if (!one && one.error().code != Code::kNotFound && first)
      first = FailWrapped(one.error(), NameOf(attachment));
  }
  return first;
}

// False: it has its guard. True: it has got it.
Result<bool> RepresentorRepair::Guarded(Connections& connections, state::Store& store,
                                        const state::Attachment& attachment) const {
  RAIL_ASSIGN(guard::Guard * guard, connections.Guard());
  const guard::Allowed allowed = AllowedOf(rail_, attachment);
  RAIL_ASSIGN(bool holds, guard->Holds(attachment.representor, allowed));
  if (holds) return false;
  // A DEL may have opened it since the record was read, or the next ADD closed it. Both hold the lock of a device that is ours to move.
  FileLock lock;
  if (!attachment.adopted) {
    RAIL_ASSIGN(lock, connections.LockDevice(attachment.device));
  }
  RAIL_ASSIGN(const auto now, store.Find(attachment.key));
  if (!now || now->id != attachment.id || now->phase != state::Phase::kReady) return false;
  RAIL_TRY(guard->Allow(attachment.representor, allowed));
  return true;
}

Status RepresentorRepair::Repair(Connections& connections, state::Store& store, const Record& record) {
  RAIL_ASSIGN(netlink::Netlink * host, connections.Netlink());
  links_.clear();
  Mended raised;
  Mended guarded;
  Status first = ForEach(record, [&](const state::Attachment& attachment) -> Status {
    RAIL_ASSIGN(const netlink::Link link, host->GetLink(attachment.representor));
    links_.insert(link.index);
    if (record.Has(attachment.id, step::kAdmit)) {
      RAIL_ASSIGN(const bool now, Guarded(connections, store, attachment));
      if (now) guarded.Add(attachment);
    }
    if (link.up) return {};
    RAIL_TRY_AS(host->SetUp(link.index), "set it up");
    raised.Add(attachment);
    return {};
  });
  if (raised.count > 0)
    log::Warning("rail {}: {} representors were down, set up again: {}", rail_.name, raised.count,
                 raised.names);
  if (guarded.count > 0)
    log::Warning("rail {}: {} representors had no guard, or another's, and have it again: {}", rail_.name,
                 guarded.count, guarded.names);
  node_status_.Repaired("representor", raised.count);
  node_status_.Repaired("guard", guarded.count);
  return first;
}

Status RepresentorRepair::Forget(guard::Guard& guard, const Record& record, Deadline now) {
  if (forgets_ && now < *forgets_) return {};
  forgets_ = now + kIdle;
  return ForEach(record, [&](const state::Attachment& attachment) -> Status {
    RAIL_TRY(guard.Forget(attachment.representor, kIdle));
    return {};
  });
}

bool RepresentorRepair::Concerned(const std::vector<int>& links) const {
  return std::ranges::any_of(links, [&](int link) { return links_.contains(link); });
}

}  // namespace rail::engine
