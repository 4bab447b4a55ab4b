#include "lib/engine/repair/nic.h"

#include "lib/base/log.h"
#include "lib/engine/repair/origin.h"

namespace rail::engine {

void NicRepair::Ensure(const config::Rail& rail) {
  if (!rail.manage_sriov || !openers_.prepare_nic) return;
  const PartId part(Part::kNic, rail.name);
  const bool stood = node_status_.WasRight(part);
  const auto done = Prepare(rail);
  node_status_.Note(part, done ? Status() : tl::make_unexpected(done.error()));
  if (!done) return;
  for (const std::string& change : *done) log::Info("rail {}: {}: {}", rail.name, rail.pf, change);
  if (stood) node_status_.Repaired("NIC", done->size());
}

Result<std::vector<std::string>> NicRepair::Prepare(const config::Rail& rail) {
  FileLock lock;  // held until the VFs are there again
  return openers_.prepare_nic(rail, [&]() -> Result<std::set<std::string>> {
    auto alone = openers_.lock_devices(FileLock::Kind::kAlone);
    if (!alone && alone.error().code == Code::kBusy)
      return Fail(Code::kBusy, "pods are being given devices; the NIC is looked at again soon");
    RAIL_ASSIGN(lock, std::move(alone));
    if (origin_ && openers_.look_at_nic)
      RAIL_TRY(origin_->Nic(rail.pf, [&] { return openers_.look_at_nic(rail); }));
    RAIL_ASSIGN(const std::vector<state::Attachment> attachments, store_.List());
    std::set<std::string> claimed;
    for (const state::Attachment& attachment : attachments) claimed.insert(attachment.device);
    return claimed;
  });
}

void NicRepair::LookAtRdma() {
  if (!openers_.rdma_netns) return;
  const auto netns = openers_.rdma_netns();
  node_status_.Note(Part::kRdma, netns ? Status() : tl::make_unexpected(netns.error()));
  if (!netns) return;
  node_status_.SetRdma(!*netns                                  ? RdmaMode::kNone
                       : **netns == netlink::RdmaNetns::kShared ? RdmaMode::kShared
                                                                : RdmaMode::kExclusive);
}

}  // namespace rail::engine
