#include "lib/engine/repair/ports.h"

#include <algorithm>
#include <charconv>
#include <ranges>

#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/engine/attach/whereabouts.h"

namespace rail::engine {

using state::Attachment;
using state::Phase;

namespace {

constexpr size_t kMostSaid = 8;

// What the port's external_ids should say and do not.
ovs::ExternalIds WrongIds(const Attachment& attachment, const ovs::Port& port, bool made) {
  ovs::ExternalIds wanted = made ? PortIds(attachment) : ovs::ExternalIds{};
  wanted[kOwnerKey] = std::to_string(attachment.id);
  std::erase_if(wanted, [&](const auto& id) {
    const auto has = port.external_ids.find(id.first);
    return has != port.external_ids.end() && has->second == id.second;
  });
  return wanted;
}

}  // namespace

// Reads the ports first and the record second. A port that the record does not name then was left
// behind, and is not one that an ADD is making.
Result<RecordPtr> PortRepair::See(Connections& connections) {
  repaired_for_ = nullptr;
  changed_ = false;
  RAIL_ASSIGN(ovs::Ovsdb * db, connections.Ovsdb());
  RAIL_ASSIGN(bridge_, db->FindBridge(rail_.bridge, connections.CallDeadline()));
  if (!bridge_) return Fail(Code::kNotFound, "bridge " + rail_.bridge + " is gone");
  RAIL_ASSIGN(RecordPtr record, record_.Read());
  seen_.clear();
  for (const ovs::Port& port : bridge_->ports) seen_[port.name] = port;
  return record;
}

Status PortRepair::Repair(Connections& connections) {
  mended_.clear();
  const Status repaired = RepairEach(connections);
  LogRepairs();
  return repaired;
}

// One line for each round: whoever deletes a bridge takes all of its ports along.
void PortRepair::LogRepairs() {
  if (mended_.empty()) return;
  std::string text = Join(mended_ | std::views::take(kMostSaid), "; ");
  if (mended_.size() > kMostSaid) text += "; and " + std::to_string(mended_.size() - kMostSaid) + " more";
  log::Warning("rail {}: {} ports of {} put right: {}", rail_.name, mended_.size(), rail_.bridge, text);
}

Status PortRepair::RepairEach(Connections& connections) {
  const Result<RecordPtr> seen = See(connections);
  right_ = seen ? Status() : tl::make_unexpected(seen.error());
  if (!seen) return right_;
  const RecordPtr& record = *seen;
  RAIL_ASSIGN(ovs::Ovsdb * db, connections.Ovsdb());
  for (const Attachment& attachment : record->attachments) {
    if (attachment.rail != rail_.name || attachment.phase != Phase::kReady) continue;
    const Status mended = Mend(*db, connections, *record, attachment);
    if (right_) right_ = mended;
    if (!mended && mended.error().code == Code::kTransient) return mended;
  }
  RAIL_TRY(RemoveOrphans(*db, connections, *record));
  repaired_for_ = record;
  return {};
}

// A port that no record explains was left behind, unless its device is in a pod: then the record itself was lost.
Status PortRepair::RemoveOrphans(ovs::Ovsdb& db, Connections& connections, const Record& record) {
  unrecorded_.clear();
  std::string example;
  for (const auto& [name, port] : seen_) {
    const auto mark = port.external_ids.find(kOwnerKey);
    if (mark == port.external_ids.end() || name == rail_.bridge || name == rail_.pf) continue;
    const bool known = std::ranges::any_of(record.attachments, [&](const Attachment& attachment) {
      return std::to_string(attachment.id) == mark->second;
    });
    // An adopted port carries our mark, too, but its owner deletes it. A port with
    // contPodUid and without ovs-cni's "owner" is ours.
    if (known || port.external_ids.contains("owner")) continue;
    int64_t id = 0;
    const char* end = mark->second.data() + mark->second.size();
    if (LocationBehind(port, connections) == device::Location::kElsewhere &&
        std::from_chars(mark->second.data(), end, id).ptr == end) {
      unrecorded_.insert(id);
      example = name;
      continue;
    }
    // A DEL may have removed it since the ports were read.
    RAIL_ASSIGN(const auto now, db.FindPort(name, connections.CallDeadline()));
    if (!now || now->external_ids != port.external_ids) continue;
    changed_ = true;
    RAIL_TRY(db.DeletePort(rail_.bridge, name, {{kOwnerKey, mark->second}}, ovs::Ovsdb::Wait::kCommitted,
                           connections.CallDeadline()));
    mended_.push_back(name + " belonged to no attachment any more, removed");
    node_status_.Repaired("orphan port");
  }
  node_status_.ChangeRail(rail_.name, [&](v1::Rail& seen) { seen.set_unrecorded_pods(unrecorded_.size()); });
  node_status_.Note(
      {Part::kRecordOfRail, rail_.name},
      unrecorded_.empty()
          ? Status()
          : Fail(Code::kInternal, std::to_string(unrecorded_.size()) + " ports (" + example +
                                      ") have pods that live and are not in the record: it was lost or "
                                      "replaced. Nothing on this rail is removed until these pods are gone: "
                                      "bring the record back, or drain the node"));
  return {};
}

Status PortRepair::Mend(ovs::Ovsdb& db, Connections& connections, const Record& record,
                        const Attachment& attachment) {
  const bool made = record.Has(attachment.id, step::kPort);
  const auto there = seen_.find(attachment.representor);
  if (there != seen_.end() && (made || record.Has(attachment.id, step::kAdopt))) {
    RAIL_TRY(Mark(db, connections, attachment, there->second, made));
  }
  if (made && there == seen_.end()) RAIL_TRY(PutBack(db, connections, attachment));
  const uint16_t ofport = OfportOf(attachment);
  if (ofport != 0 && ofport != attachment.ofport) return record_.store().SetOfport(attachment.id, ofport);
  return {};
}

// Sets again the external_ids that say whose port it is: DEL and the sweep go by them.
Status PortRepair::Mark(ovs::Ovsdb& db, Connections& connections, const Attachment& attachment,
                        ovs::Port& port, bool made) {
  if (WrongIds(attachment, port, made).empty()) return {};
  // What was seen may be the port of the device's last owner, with another number.
  const auto look = [&]() -> Status {
    RAIL_ASSIGN(const auto now, db.FindPort(port.name, connections.CallDeadline()));
    if (now) port = *now;
    return {};
  };
  RAIL_TRY(look());
  const ovs::ExternalIds wrong = WrongIds(attachment, port, made);
  if (wrong.empty()) return {};
  changed_ = true;
  RAIL_TRY(db.SetExternalIds(port.name, wrong, connections.CallDeadline()));
  mended_.push_back(port.name + " of " + attachment.Owner() + " had lost " + std::to_string(wrong.size()) +
                    " of its external_ids, set again");
  node_status_.Repaired("external_ids");
  return look();
}

// An ADD may have made the port since the ports were read. On another bridge the pod's frames would pass no rule of ours.
Status PortRepair::PutBack(ovs::Ovsdb& db, Connections& connections, const Attachment& attachment) {
  RAIL_ASSIGN(const auto port, db.FindPort(attachment.representor, connections.CallDeadline()));
  if (port && port->bridge == rail_.bridge) {
    seen_[port->name] = *port;
    return {};
  }
  changed_ = true;
  if (port) {
    RAIL_TRY(db.DeletePort(port->bridge, port->name, {}, ovs::Ovsdb::Wait::kCommitted,
                           connections.CallDeadline()));
  }
  RAIL_ASSIGN(seen_[attachment.representor],
              db.AddPort(PortSpecOf(rail_, attachment), connections.CallDeadline()));
  mended_.push_back(attachment.representor + " of " + attachment.Owner() +
                    (port ? " was on bridge " + port->bridge + ", taken back" : " was missing, added again"));
  node_status_.Repaired("port");
  return {};
}

uint16_t PortRepair::OfportOf(const Attachment& attachment) const {
  const auto port = seen_.find(attachment.representor);
  if (port == seen_.end() || port->second.ofport < 1) return 0;
  const auto mark = port->second.external_ids.find(kOwnerKey);
  const bool its = mark != port->second.external_ids.end() && mark->second == std::to_string(attachment.id);
  return its ? static_cast<uint16_t>(port->second.ofport) : 0;
}

}  // namespace rail::engine
