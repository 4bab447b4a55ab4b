// What a verb of a plugin works with: configuration, record, connections; and where they come from.
//
// Use:      RAIL_ASSIGN(auto context, VerbContext::Open(deps));  Node node = context->node();
// Threads:  one at a time
// Owns:     the open record and connections
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "lib/cni/ipam.h"
#include "lib/cni/result.h"
#include "lib/engine/attach/attachment.h"
#include "lib/tenancy/tenancy.h"

namespace rail::engine {

class Origin;  // origin.h

// How to open everything that a verb needs. main.cc fills it through lib/wire with what is real, tests fill it with fakes.
struct Deps {
  std::function<Result<config::NodeConfig>()> load_config;
  // The list of namespaces: the plugins read the file, raild has it in memory. Asked only where kubernetes.tenants is true.
  tenancy::LoadMap tenants = tenancy::NoMap;
  std::function<Result<std::unique_ptr<state::Store>>()> open_store;
  std::function<Result<std::unique_ptr<state::Store>>()> read_store;  // for a record that cannot be written
  std::function<Openers(const config::NodeConfig&)> openers;
  cni::Ipam* ipam = nullptr;         // outlives the plugin
  std::function<void()> wake_raild;  // tells raild that the record has changed; never fails
  // Asks the routers on a link to advertise themselves.
  std::function<Status(const std::string& interface)> solicit_routers;
  std::shared_ptr<Origin> origin;              // null: what was there before is not recorded (tests)
  std::string leaves_file{};                   // "": the leaves of the rails are not kept (tests)
  std::function<Deadline()> now = Clock::now;  // the clock by which things age
  std::function<void()> step_ended = [] {};    // raild's watchdog: a round that has many steps goes on
};

inline constexpr std::chrono::seconds kVerbDeadline{30};
// The limit of one round of a part of raild, repairs included.
inline constexpr std::chrono::seconds kRoundLimit{20};

class VerbContext {
 public:
  // kTellRaild: wakes raild to read the record when the context ends. For a verb after which raild has something to do. In the
  // middle of a chain raild would only compete with the next plugin.
  enum class Use { kTellRaild, kQuiet };
  // Reads node.json and opens the record. Errors: kTransient; the message says which of the two failed.
  static Result<std::unique_ptr<VerbContext>> Open(const Deps& deps, Use use = Use::kTellRaild);
  // For DEL, which undoes what it can. Without node.json, Open vSwitch and bgpd count as down. A record that cannot be written is
  // only read. Errors: kTransient the record cannot be read either.
  static Result<std::unique_ptr<VerbContext>> OpenToUndo(const Deps& deps, Use use = Use::kTellRaild);
  ~VerbContext() {
    if (use_ == Use::kTellRaild) wake_raild_();
  }
  VerbContext(const VerbContext&) = delete;
  VerbContext& operator=(const VerbContext&) = delete;

  Node node() { return {config, *store, connections}; }

  const config::NodeConfig config;
  const std::unique_ptr<state::Store> store;
  Connections connections;

 private:
  VerbContext(config::NodeConfig node_config, std::unique_ptr<state::Store> open_store, Openers openers,
              const Deps& deps, Use use);
  std::function<void()> wake_raild_;
  Use use_;
};

state::AttachmentKey KeyOf(const cni::Request& request);

// What STATUS says when a plugin cannot serve an ADD: 50 "the plugin is not available"; 51 "... and existing containers in the network
// may have limited connectivity": when the record holds attachments of the request's network. `context` is null when it could not be
// opened. Source: CNI SPEC.md 1.1.0, section 2, "STATUS".
cni::CniError NotReady(const std::string& what, const Error& why, const VerbContext* context,
                       const cni::Request& request);

// The attachment that an earlier plugin of the chain has recorded.
// Errors: kInvalid there is none: ovs-provider must stand before this plugin in the chain.
Result<state::Attachment> RecordedAttachment(VerbContext& context, const cni::Request& request);

// The same for CHECK, with its steps. Errors: kNotFound, kInvalid.
struct Recorded {
  state::Attachment attachment;
  std::vector<state::Step> steps;
  bool Has(const char* kind) const { return Step(kind).has_value(); }
  std::optional<state::Step> Step(const char* kind) const;
};
Result<Recorded> RecordedWithSteps(VerbContext& context, const cni::Request& request);

// Undoes what `owner` has made in an ADD that failed ("": what all have), including what a DEL has meanwhile removed from the record.
// One call takes kCallTime from now on. Logs what it cannot undo, and marks it as pending in the record.
void UndoFailedAdd(Node& node, const state::Attachment& attachment, const std::string& owner);

// DEL (UndoAttachment) and GC (UndoAllBut) of any plugin: undo the steps of `owner` ("": of all owners) of one
// attachment, or of all attachments of the network that are not in `keep`. What cannot be undone stays in the record as
// pending, for raild. For a DEL that is no error. For a GC it is one (kTransient): it goes on all the same and says at
// the end what is left (SPEC.md 1.1.0, section 2).
Status UndoAttachment(VerbContext& context, const state::AttachmentKey& key, const std::string& owner);
// The attachments that a DEL means: one or none; or, where its configuration does not say the network, those of the container's
// interface on every network.
Result<std::vector<state::Attachment>> MeantByDel(VerbContext& context, const cni::Request& request);
Status UndoAllBut(VerbContext& context, const std::string& network,
                  const std::vector<state::AttachmentKey>& keep, const std::string& owner);

// The attachments that the runtime says are valid (GC). nullopt: it said nothing.
Result<std::optional<std::vector<state::AttachmentKey>>> ValidAttachments(const cni::Request& request);

// All of GC but what a plugin adds. Undoes the steps of `owner` in every attachment of the network that the runtime does not
// list. A runtime that gives no list at all does not say what is alive. Then only what is provably dead is undone: the
// attachments whose namespace is gone.
Status CollectGarbage(const Deps& deps, const cni::Request& request, const std::string& owner);

// All of DEL of a plugin that adds to another plugin's attachment: undoes the steps of `owner` ("": of all owners). Never fails:
// ovs-provider's DEL, which comes next, undoes all that is left.
using OwnerFor = std::function<std::string(const state::Attachment&)>;
void UndoOwn(const Deps& deps, const cni::Request& request, const OwnerFor& owner);

// Makes the error of CHECK, "problem; problem"; success if there is no problem.
Status Problems(const std::vector<std::string>& problems);

}  // namespace rail::engine
