// The daemon's repair: desired state = node.json + the record + learned remotes; observed = OVSDB, flow dumps, bgpd, the
// kernel's links and neighbours; the difference is applied and nothing else is touched.
//
// Use:      Reconciler reconciler(config, deps, *store, board, identity);
//           reconciler.Audit();           // everything: at start, every 30 s
//           reconciler.BridgesChanged();  // an event of OVSDB or of a link: bridges, ports and rules, not BGP
//           reconciler.RecordChanged();   // a plugin has been at work
//           reconciler.PollBgp();         // sessions and remotes; rules follow when something is new
// Threads:  one; the Board may be read by any
// Source:   README.md of this folder ("The order of looking")
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/engine/session.h"
#include "lib/engine/view.h"

namespace rail::engine {

struct NodeIdentity {
  std::string hostname;
  std::string raild_version;
  int64_t started_ms = 0;
};

// A namespace that is gone may be one whose DEL is on its way; a runtime retries within a minute or not at all.
inline constexpr std::chrono::seconds kGoneGrace{60};

class Reconciler {
 public:
  // `gone_grace`: for how long a namespace must have been gone before its attachments are undone.
  Reconciler(const config::NodeConfig& config, const Deps& deps, state::Store& store, Board& board,
             NodeIdentity identity, Clock::duration gone_grace = kGoneGrace);

  void Audit();
  void BridgesChanged();
  void RecordChanged();
  void PollBgp();
  // Whether one of these links (indexes) is a rail's, or a rail is waiting for one.
  bool Concerned(const std::vector<int>& links) const;

 private:
  struct RailState {
    bool bridge_present = false;
    bool uplink_carrier = false;
    int uplink_link = 0;  // indexes of the kernel
    int local_link = 0;
    pipeline::BridgeFacts facts;
    std::map<std::string, ovs::Port> ports;
    MacAddress leaf_mac;
    uint64_t rules_wanted = 0;
    uint64_t rules_installed = 0;
    bool rules_right = false;       // the last round ended with every wanted rule in the switch
    std::vector<ovs::Rule> wanted;  // by that round
  };
  // The record, read after what is compared with it: see README.md.
  struct Record {
    std::vector<state::Attachment> attachments;
    std::map<int64_t, std::vector<state::Step>> steps;
    bool Has(int64_t attachment, const char* kind) const;
  };

  Result<Record> ReadRecord();
  Status Bridge(Edges& edges, const config::Rail& rail, RailState& state);
  Status HostLinks(Edges& edges, const config::Rail& rail, RailState& state);
  Status HostSysctls(const config::Rail& rail);
  Status Ports(Edges& edges, const config::Rail& rail, RailState& state);
  Status LeafMac(Edges& edges, const config::Rail& rail, RailState& state);
  // kNews: the switch is looked at only when something else is wanted than in the last round.
  enum class Look { kAlways, kNews };
  Status Rules(Edges& edges, const config::Rail& rail, RailState& state, Look look);
  std::vector<ovs::Rule> Wanted(const config::Rail& rail, const RailState& state, const Record& record) const;
  Status BgpBase(Edges& edges, const std::vector<config::Rail>& rails);
  Status Announcements(Edges& edges);
  Status Learn(Edges& edges, bool& changed);
  bool SessionsSettled() const;
  void BridgesAndRules(Edges& edges);
  void Note(const std::string& part, const Status& status);
  void Sweep(Edges& edges);
  void Publish();

  const config::NodeConfig& config_;
  const Deps deps_;
  state::Store& store_;
  Board& board_;
  const NodeIdentity identity_;
  const Clock::duration gone_grace_;

  std::map<std::string, RailState> rails_;
  std::map<IpAddress, frr::Remote> remotes_;
  std::map<std::string, frr::Session> sessions_;  // by interface
  std::optional<uint64_t> table_version_;         // of remotes_; nothing: ask again
  bool remotes_complete_ = false;  // a whole table was learned over settled sessions since the start
  std::optional<Deadline>
      keep_until_;        // while sessions are unsettled: when remotes that are not heard again go
  bool keeping_ = false;  // remotes_ may hold some that are not in bgpd's table now
  std::map<std::string, Health> health_;
  std::map<int64_t, Deadline> gone_since_;  // attachments whose namespace was not there when last looked
  uint64_t repairs_ = 0;
};

}  // namespace rail::engine
