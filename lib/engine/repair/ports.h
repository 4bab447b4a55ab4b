// raild's repair of the ports of one rail's bridge. It makes sure that the representor of every attachment is there, with its
// mark, and that no port is left of an attachment that is gone.
//
// Use:      PortRepair ports(rail, record, node_status);
//           RAIL_TRY(ports.Repair(connections));   uint16_t number = ports.OfportOf(attachment);
// Threads:  one
// Owns:     nothing: the record and the NodeStatus must outlive it
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/engine/attach/verb_context.h"
#include "lib/engine/repair/node_status.h"

namespace rail::engine {

class PortRepair {
 public:
  PortRepair(const config::Rail& rail, RecordReader& record, NodeStatus& node_status)
      : rail_(rail), record_(record), node_status_(node_status) {}

  // Reads the ports, then the record, and changes nothing. Errors: kNotFound the bridge is gone; kTransient.
  Result<RecordPtr> See(Connections& connections);
  // Repairs each port on its own. A port whose device is gone delays neither the other ports nor the rules; right() reports it.
  // Errors: Open vSwitch does not answer, or the ports are not known.
  Status Repair(Connections& connections);
  // The error of the first port that could not be repaired.
  const Status& right() const { return right_; }
  // Whether the ports are right and the record has not changed on this rail since.
  bool Covers(const Record& now) const {
    return right_ && repaired_for_ != nullptr && repaired_for_->SameOn(rail_.name, now);
  }

  // The number of the attachment's port. Goes by the port's mark: the port of this name that was seen may be that of the device's
  // last owner. 0: the attachment's port was not seen.
  uint16_t OfportOf(const state::Attachment& attachment) const;
  // Whether `now`, the bridge in OVSDB, is the one that the last repair has read and found right. After a repair that has changed
  // something it is not: what was read is then what was wrong, and somebody may have made it so once more.
  bool IsAsRepaired(const std::optional<ovs::Bridge>& now) const {
    return repaired_for_ != nullptr && !changed_ && now == bridge_;
  }
  // Ids of attachments that have a port of ours here and a pod that lives, but no record: the record was lost. Their ports stay.
  const std::set<int64_t>& unrecorded() const { return unrecorded_; }
  // Its ports, by name.
  const std::map<std::string, ovs::Port>& seen() const { return seen_; }

 private:
  Status RepairEach(Connections& connections);
  void LogRepairs();
  Status Mend(ovs::Ovsdb& db, Connections& connections, const Record& record,
              const state::Attachment& attachment);
  // `port`: as it was seen; afterwards as it is.
  Status Mark(ovs::Ovsdb& db, Connections& connections, const state::Attachment& attachment, ovs::Port& port,
              bool made);
  Status PutBack(ovs::Ovsdb& db, Connections& connections, const state::Attachment& attachment);
  Status RemoveOrphans(ovs::Ovsdb& db, Connections& connections, const Record& record);

  const config::Rail& rail_;
  RecordReader& record_;
  NodeStatus& node_status_;
  std::optional<ovs::Bridge> bridge_;
  bool changed_ = false;  // the ports, by the repair that has read bridge_
  std::map<std::string, ovs::Port> seen_;
  std::set<int64_t> unrecorded_;
  Status right_;
  std::vector<std::string> mended_;  // by the Repair that is under way, a sentence each
  RecordPtr repaired_for_;
};

}  // namespace rail::engine
