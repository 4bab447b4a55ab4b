// What the node was before RailCNI changed it for the first time, so that `raild --remove` can give it back.
//
// Use:      RAIL_TRY(origin.Bridge("br-rail0", [&] { return LookAt(...); }));     // before the first change; later calls cost nothing
//           RAIL_ASSIGN(OriginRecord record, ReadOrigin(path));                      // to give back
// Threads:  Origin: any, but one process; the rest: plain data
// Owns:     the file
// Source:   README.md of this folder ("What was there before")
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "lib/frr/bgp.h"
#include "lib/netlink/netns.h"
#include "lib/qos/manage.h"
#include "lib/sriov/prepare.h"

namespace rail::engine {

// A pod whose attachment was removed by force. Its runtime will call DEL when it ends, and needs the plugins for that.
struct LeftPod {
  std::string name;
  std::string netns_path;
  netns::Identity identity;
  bool operator==(const LeftPod&) const = default;
};

struct OriginRecord {
  // Bridges of others that an earlier version took over, and what it had recorded of each (JSON): they are not removed, and that version
  // reads it again after a rollback.
  std::map<std::string, std::string> adopted;
  std::map<std::string, std::vector<sriov::NicState>> nics;  // by the uplink's name
  std::map<std::string, qos::Before> qos;                    // by the uplink's name
  // Rate nodes of others under which ports were, by port ("pci/0000:3b:00.0/3"). Most were under none, and are not here.
  std::map<std::string, std::string> rate_parents;
  std::optional<frr::BaseBefore> bgp;
  std::vector<LeftPod> left_pods;
  std::vector<IpPrefix> loopback;  // addresses that RailCNI has added there, for the front end
  bool next_hops = false;  // RailCNI has made zebra give each route next hops of its own (frr::OwnNextHops);
                           // a file "zebra-next-hops" beside origin.json says it, and WriteOrigin does not
  bool operator==(const OriginRecord&) const = default;
};

std::string OriginText(const OriginRecord& record);
// Errors: kInvalid it is no such record; kUnsupported a newer version has written it.
Result<OriginRecord> ParseOrigin(std::string_view text);
// No file: an empty record. Errors: as ParseOrigin, of open(2).
Result<OriginRecord> ReadOrigin(const std::string& path);
Status WriteOrigin(const std::string& path, const OriginRecord& record);

// Records each thing once, on the disk before it returns; the first value stays. Errors of all: of `look`; the record cannot be read
// or written. Then the caller must not change the thing.
class Origin {
 public:
  explicit Origin(std::string path) : path_(std::move(path)) {}

  // What is recorded now.
  Result<OriginRecord> Read();
  Status Nic(const std::string& uplink, const std::function<Result<std::vector<sriov::NicState>>()>& look);
  // Whether an older version took the bridge over from somebody. True also where the record cannot be read.
  bool IsAdopted(const std::string& name);
  // Once for each of `interfaces`, the neighbors that are going to be changed.
  Status Bgp(const std::vector<std::string>& interfaces,
             const std::function<Result<frr::BaseBefore>()>& look);
  // Of an address of the loopback that RailCNI adds: LoopbackAdded comes before the address, LoopbackGone after its end.
  Status LoopbackAdded(const IpPrefix& address);
  Status LoopbackGone(const IpPrefix& address);

  Status NextHops();  // before frr::OwnNextHops changes zebra

  // More of what an uplink had before raild set its priorities; what is recorded of it already stays.
  Status Qos(const std::string& uplink, const qos::Before& before);
  Status ForgetQos(const std::string& uplink);  // it is given back

  // The rate node of others under which a port is before raild puts it under one of its own; "": none, or it is given back.
  Status RateParent(const std::string& port, const std::string& parent);

 private:
  Result<OriginRecord*> Record();
  // Writes the record if `change` has changed it.
  Status Change(const std::function<Status(OriginRecord&)>& change);

  const std::string path_;
  std::mutex mutex_;
  std::optional<OriginRecord> record_;
};

}  // namespace rail::engine
