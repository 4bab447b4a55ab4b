// Bridges and ports, over OVSDB (RFC 7047). Each call is one transaction. A call that changes something waits for
// cur_cfg, never for a timer.
//
// Use:      RAIL_ASSIGN(auto db, DbConnection::Open("/run/openvswitch/db.sock", deadline));
//           RAIL_ASSIGN(Port port, db->AddPort({.bridge = "br-rail0", .name = "rep0", ...}, deadline));
// Threads:  one at a time
// Owns:     its connection; a failed call may leave it unusable: open a new one
// Source:   RFC 7047; ovs-vswitchd.conf.db(5)
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/error.h"

namespace rail::ovs {

using ExternalIds = std::map<std::string, std::string>;

struct PortSpec {
  std::string bridge;
  std::string name;          // the netdev; the Port and its one Interface carry this name
  ExternalIds external_ids;  // of the Port row
  uint32_t mtu = 0;          // Interface.mtu_request; 0: not set
  std::optional<uint16_t> ofport_request;
  bool internal = false;  // Open vSwitch makes the netdev itself, as the host's end of the port
  std::string mac{};      // of an internal port; "": Open vSwitch's own choice
  // A key of external_ids that says whose the port is: one that is there with another value of it is not taken over. "": any is.
  std::string owner_key{};
};

// Whether a port with these external_ids is not the spec's owner's.
inline bool IsAnothers(const ExternalIds& ids, const PortSpec& spec) {
  const auto its = ids.find(spec.owner_key);
  const auto own = spec.external_ids.find(spec.owner_key);
  return its != ids.end() && own != spec.external_ids.end() && its->second != own->second;
}

struct Port {
  std::string bridge;
  std::string name;
  int64_t ofport = -1;  // 1..65279; -1: OVS could not open it (see error)
  std::string error;    // Interface.error
  ExternalIds external_ids;
  // Interface.ingress_policing_rate and ingress_policing_kpkts_rate; 0: none.
  int64_t policed_kbit = 0, policed_kpkts = 0;
  bool operator==(const Port&) const = default;
};

struct BridgeSpec {
  std::string name;
  std::string datapath;  // "system" | "netdev"
  std::string uplink;    // a port of the bridge, with ofport_request 1 unless another port has it
  std::string hwaddr;    // other_config:hwaddr, the LOCAL port's MAC; "": not set
  uint32_t mtu = 0;      // mtu_request of the LOCAL port and the uplink; 0: not set
  ExternalIds external_ids;
  std::map<int64_t, std::vector<std::string>>
      prefixes;  // by OpenFlow table: the fields that Flow_Table.prefixes names, sorted
};

inline constexpr char kNoInBand[] = "true";

struct Bridge {
  std::string name;
  std::string datapath;
  std::string fail_mode;  // "secure" | "standalone" | ""
  std::string hwaddr;
  // other_config:disable-in-band; "" not set. Unless it is kNoInBand, ovs-vswitchd adds rules of its own to the bridge for each
  // manager and controller by TCP or SSL (ovs-vswitchd.conf.db(5), In-Band Control): they send ARP, DHCP and TCP of these to
  // NORMAL, before table 0's, and no OpenFlow request shows them.
  std::string disable_in_band{};
  ExternalIds external_ids;
  std::map<int64_t, std::vector<std::string>>
      prefixes;             // as in BridgeSpec; a table without an entry has Open vSwitch's own
  std::vector<Port> ports;  // includes the LOCAL port, which has the bridge's name
  bool operator==(const Bridge&) const = default;
};

class Ovsdb {
 public:
  virtual ~Ovsdb() = default;

  // Makes a bridge with fail_mode=secure, without in-band control, and its uplink, or repairs those columns of an existing bridge. Other ports, columns
  // and map entries stay as they are. Writes nothing when everything is written already. Waits until ovs-vswitchd has applied
  // it, or has failed to.
  // Errors: kTransient (deadline: is ovs-vswitchd running?); kExists the uplink is on another bridge (the message names it);
  //         kInvalid OVS refuses, or cannot open the uplink (in its words). Safe to repeat.
  virtual Result<Bridge> EnsureBridge(const BridgeSpec& spec, Deadline deadline) = 0;

  // Removes the bridge if its external_ids contain all of `owner` and nobody but it and `uplink` has a port there. True: it is removed.
  // False: there is no such bridge, or it is not the owner's. Waits as EnsureBridge. Errors: kBusy others have ports on it (the message
  // names them); kTransient. Safe to repeat.
  virtual Result<bool> DeleteBridge(const std::string& name, const ExternalIds& owner,
                                    const std::string& uplink, Deadline deadline) = 0;

  // The bridges whose external_ids have `key`, by name. Safe to repeat.
  virtual Result<std::vector<Bridge>> BridgesWith(const std::string& key, Deadline deadline) = 0;

  // Removes `keys` from the bridge's external_ids. A bridge or key that does not exist is no error.
  virtual Status UnmarkBridge(const std::string& bridge, const std::vector<std::string>& keys,
                              Deadline deadline) = 0;

  // nullopt: no such bridge. Safe to repeat.
  virtual Result<std::optional<Bridge>> FindBridge(const std::string& name, Deadline deadline) = 0;

  // Adds a port and waits until ovs-vswitchd has given it an ofport. If a port of this name is on this bridge already, only
  // merges the spec's external_ids into its own (the spec's win) and returns it: safe to repeat.
  // Errors: kNotFound no such bridge; kExists the port is on another bridge (the message names it), or is another's by owner_key; kInvalid OVS cannot open
  //         the device (in its words; a port that this call made is removed again); kTransient (the port may exist).
  virtual Result<Port> AddPort(const PortSpec& spec, Deadline deadline) = 0;

  // Removes the port if it is on `bridge` and its external_ids contain all of `owner`; otherwise does nothing: safe to
  // repeat. An entry of `owner` with an empty value stands for a key that the port does not have. With kCommitted, returns when ovsdb-server has committed; with kClosed, when ovs-vswitchd has closed the
  // device, too.
  enum class Wait { kCommitted, kClosed };
  virtual Status DeletePort(const std::string& bridge, const std::string& name, const ExternalIds& owner,
                            Wait wait, Deadline deadline) = 0;

  // The port of this name, on any bridge. nullopt: none.
  virtual Result<std::optional<Port>> FindPort(const std::string& name, Deadline deadline) = 0;

  // Adds `ids` to the Port's external_ids; overwrites existing keys. Errors: kNotFound.
  virtual Status SetExternalIds(const std::string& port, const ExternalIds& ids, Deadline deadline) = 0;

  // Removes `keys` from the Port's external_ids. A port or key that does not exist is no error.
  virtual Status RemoveExternalIds(const std::string& port, const std::vector<std::string>& keys,
                                   Deadline deadline) = 0;

  // Open_vSwitch.other_config: the settings of ovs-vswitchd itself (hw-offload, max-idle, ...). Safe to repeat.
  virtual Result<ExternalIds> OtherConfig(Deadline deadline) = 0;
};

}  // namespace rail::ovs
