// The node's record: attachments, what each of them owns, and every step that must be undone.
//
// Use:      RAIL_ASSIGN(auto store, Sqlite::Open(paths.state_file));
//           RAIL_ASSIGN(Attachment a, store->Create(draft));               // before the first effect
//           RAIL_ASSIGN(int64_t step, store->RecordStep(a.id, "ovs-provider", "port", detail));
//           ... act ...                                                     // after a crash, the record says what to undo
//           RAIL_TRY(store->ForgetStep(step));                              // after the undo
// Threads:  one at a time; any number of processes share the file
// Source:   FORMAT.md of this folder
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/address.h"
#include "lib/base/error.h"
#include "lib/tenancy/tenant_id.h"

namespace rail::state {

struct AttachmentKey {
  std::string network;
  std::string container_id;
  std::string ifname;
  auto operator<=>(const AttachmentKey&) const = default;
  std::string ToString() const { return network + "/" + container_id + "/" + ifname; }
};

enum class Phase {
  kAdding,    // an ADD is under way, or died
  kReady,     // the chain's first plugin has finished ADD
  kDeleting,  // a DEL has begun; only undo work is left
};

struct Attachment {
  int64_t id = 0;  // given by Create; never used twice
  AttachmentKey key;
  Phase phase = Phase::kAdding;
  std::string rail;
  std::string pod_namespace;  // "" when the runtime gave none
  std::string pod_name;
  std::string pod_uid;
  std::string netns_path;
  uint64_t netns_device = 0;  // netns::Identity
  uint64_t netns_inode = 0;
  std::string boot;    // netns::BootId; "": a version that did not record it has made the attachment
  std::string device;  // deviceID: a PCI address or a netdev
  std::string representor;
  bool adopted = false;  // another plugin (ovs-cni) has made the port: we never delete it
  MacAddress mac;
  uint32_t mtu = 0;
  std::vector<IpAddress> addresses;
  std::vector<IpAddress> gateways;  // at least one per family in use
  uint16_t ofport = 0;              // 0: not known yet
  std::string tenant;               // "" until tenant-isolation has run
  tenancy::TenantId tenant_id;      // none until tenant-isolation has run
  tenancy::TenantId
      leaving;             // the tenant that it has left a moment ago and is still in; none: it leaves none
  int64_t leaving_ms = 0;  // Unix time of that move; 0: it leaves none
  bool announced = false;  // frr-provider has announced the addresses
  uint32_t table = 0;      // in the pod: podnet::Plan; 0: as RailCNI chose it before format 4
  uint32_t rule = 0;       // the same
  int64_t created_ms = 0;  // Unix time
  // The pod and its interface, for people: "ns-a/pod-1 net1".
  std::string Owner() const { return pod_namespace + "/" + pod_name + " " + key.ifname; }
  bool operator==(const Attachment&) const = default;
};

// One effect on the system. It is recorded before it is made.
struct Step {
  int64_t id = 0;  // increases in the order of recording
  int64_t attachment = 0;
  std::string owner;    // the plugin
  std::string kind;     // lib/engine/steps.h
  std::string detail;   // JSON: what the undo needs
  std::string pending;  // "": no undo tried yet; else why the last undo failed
  bool operator==(const Step&) const = default;
};

// Kinds of things that belong to one attachment at a time.
enum class ClaimKind { kDevice, kAddress, kPort };
constexpr std::string_view ClaimKindName(ClaimKind kind) {
  switch (kind) {
    case ClaimKind::kDevice: return "device";
    case ClaimKind::kAddress: return "address";
    case ClaimKind::kPort: return "port";
  }
  return "";
}

class Store {
 public:
  virtual ~Store() = default;

  // Inserts `draft` (its id is ignored) and claims its device, if any, in one transaction.
  // Errors: kExists the key exists already; kBusy the device belongs to another attachment (the message names it).
  virtual Result<Attachment> Create(const Attachment& draft) = 0;
  virtual Result<std::optional<Attachment>> Find(const AttachmentKey& key) = 0;
  virtual Result<std::vector<Attachment>> List() = 0;  // ordered by id

  // Plugins and raild write to one attachment at the same time. So each call writes its own columns and nothing else of the row.
  // Errors of all: kNotFound no such attachment; kBusy a DEL of it has begun (phase kDeleting), and the call contradicts that: it
  // sets another phase, a tenant or an announcement.
  virtual Status SetPhase(int64_t id, Phase phase) = 0;
  virtual Status SetAddresses(int64_t id, const std::vector<IpAddress>& addresses,
                              const std::vector<IpAddress>& gateways) = 0;
  virtual Status SetOfport(int64_t id, uint16_t ofport) = 0;
  // It leaves none then.
  virtual Status SetTenant(int64_t id, const std::string& tenant, tenancy::TenantId tenant_id) = 0;
  // The same for an attachment that has a tenant: from now on it leaves that one, and none that it left before. One that has none
  // joins; one that is in the tenant stays as it is.
  virtual Status MoveTenant(int64_t id, const std::string& tenant, tenancy::TenantId tenant_id,
                            int64_t unix_ms) = 0;
  virtual Status SetLeft(int64_t id) = 0;  // it leaves none any more
  virtual Status SetAnnounced(int64_t id, bool announced) = 0;

  // Removes the attachment and its claims. Succeeds if there is no such attachment. Errors: kBusy it still has steps.
  virtual Status Remove(int64_t id) = 0;

  // Succeeds if the attachment has the claim already. Errors: kBusy the thing belongs to another attachment (the message names it),
  // or a DEL of this attachment has begun.
  virtual Status Claim(int64_t attachment, ClaimKind kind, const std::string& value) = 0;
  virtual Status Release(int64_t attachment, ClaimKind kind,
                         const std::string& value) = 0;               // no such claim: success
  virtual Status ReleaseAll(int64_t attachment, ClaimKind kind) = 0;  // whatever it has claimed of the kind
  virtual Result<std::optional<int64_t>> OwnerOf(ClaimKind kind, const std::string& value) = 0;

  // Errors: kBusy a DEL of the attachment has begun, so nobody would undo the step; kNotFound no such attachment.
  virtual Result<int64_t> RecordStep(int64_t attachment, const std::string& owner, const std::string& kind,
                                     const std::string& detail) = 0;
  virtual Status SetPending(int64_t step, const std::string& why) = 0;
  virtual Status ForgetStep(int64_t step) = 0;                      // no such step: success
  virtual Result<std::vector<Step>> Steps(int64_t attachment) = 0;  // in the order of recording

  // A number that differs after the record has been written to, by this connection or another. Ask it before anything is read to
  // be judged by. Errors: also kTransient, once: the record was replaced by another file, which is read from now on.
  virtual Result<int64_t> Version() = 0;
};

}  // namespace rail::state
