// raild's repair of Open vSwitch and the host's links: bridges, ports and rules of every rail, from node.json, the record and
// what BGP has told. The difference is applied; nothing that is not ours is touched.
//
// Use:      SwitchRepair repair(config, deps, *store, picture);
//           repair.Audit();            // everything: at start, every 30 s, at an event of the switch or of a link
//           repair.DatabaseChanged();  // OVSDB has told of a change
//           repair.RecordChanged();    // a plugin has been at work
//           repair.Learned();          // BGP has told something new, or a neighbour has changed
//           if (repair.Concerned("br-rail0", changes)) ... repair.RulesChanged();   // somebody else has changed rules
//           repair.Retry();            // the rails that failed and whose time has come; next_retry() says when that is
// Threads:  one; the picture may be shared
// Source:   README.md of this folder ("The order of looking")
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/engine/backoff.h"
#include "lib/engine/nic.h"
#include "lib/engine/picture.h"
#include "lib/engine/session.h"
#include "lib/ovs/flow_monitor.h"

namespace rail::engine {

class SwitchRepair {
 public:
  SwitchRepair(const config::NodeConfig& config, const Deps& deps, state::Store& store, Picture& picture);

  void Audit();
  void DatabaseChanged();
  void RecordChanged();
  void Learned();
  void RulesChanged();
  void Retry();
  std::optional<Deadline> next_retry() const;
  // Whether one of these links (indexes) is a rail's, or a rail is waiting for one.
  bool Concerned(const std::vector<int>& links) const;
  // Whether rules of ours may have been changed: then RulesChanged looks, unless a round before it has.
  bool Concerned(const std::string& bridge, const ovs::RuleChanges& changes);

 private:
  struct RailState {
    bool bridge_present = false;
    int uplink_link = 0;  // indexes of the kernel
    int local_link = 0;
    pipeline::BridgeFacts facts;
    std::map<std::string, ovs::Port> ports;
    Status below;                     // of bridge and links, when they were last looked at
    Status ports_right;               // of the ports, when they were: the first that could not be mended
    std::optional<ovs::Bridge> left;  // what OVSDB had when the last whole look had failed
    MacAddress leaf_mac;
    uint64_t rules_wanted = 0;
    uint64_t rules_installed = 0;
    bool rules_right = false;       // the last round ended with every wanted rule in the switch
    bool rules_changed = false;     // by others, after the last dump
    std::vector<ovs::Rule> wanted;  // by that round
    std::vector<size_t> places;     // of those rules, as hashes of table, priority and match; sorted
    bool judged =
        false;  // that round could tell an earlier raild's leftovers from what it has not learned yet
    std::set<ovs::Rule> own;  // what was wanted then, while that is not so
    Backoff backoff{std::chrono::milliseconds(250), std::chrono::seconds(10)};
  };

  void Whole(Edges& edges, const config::Rail& rail);
  // `round`: what became of a round that looked at a part.
  void End(const config::Rail& rail, RailState& state, const Status& round);
  Status Bridge(Edges& edges, const config::Rail& rail, RailState& state);
  Status HostLinks(Edges& edges, const config::Rail& rail, RailState& state);
  Status HostSysctls(const config::Rail& rail);
  Result<Record> SeePorts(Edges& edges, const config::Rail& rail, RailState& state);
  Status Ports(Edges& edges, const config::Rail& rail, RailState& state);
  Status MendPort(ovs::Ovsdb& db, Edges& edges, const config::Rail& rail, RailState& state,
                  const Record& record, const state::Attachment& attachment);
  // True: something was missing and is there again.
  Result<bool> Mark(ovs::Ovsdb& db, Edges& edges, const config::Rail& rail,
                    const state::Attachment& attachment, const ovs::Port& port, bool made);
  Status TakeBack(ovs::Ovsdb& db, Edges& edges, const config::Rail& rail,
                  const state::Attachment& attachment);
  Status LeafMac(Edges& edges, const config::Rail& rail, RailState& state);
  // kNews: the switch is looked at only when something else is wanted than in the last round.
  enum class Look { kAlways, kNews };
  Status Rules(Edges& edges, const config::Rail& rail, RailState& state, Look look);
  std::set<uint64_t> Unplaced(const config::Rail& rail, const RailState& state, const Record& record) const;
  static uint16_t OfportOf(const RailState& state, const state::Attachment& attachment);
  std::vector<ovs::Rule> Wanted(const config::Rail& rail, const RailState& state, const Record& record,
                                const engine::Learned& learned) const;

  const config::NodeConfig& config_;
  const Deps deps_;
  state::Store& store_;
  Picture& picture_;
  NicRepair nics_;
  std::map<std::string, RailState> rails_;
};

}  // namespace rail::engine
