#include "lib/engine/attach/verb_context.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/engine/attach/whereabouts.h"

namespace rail::engine {

using state::Attachment;
using state::AttachmentKey;

namespace {

// Makes every error kTransient: for the runtime it is trouble of the node, and the same call may succeed another time.
Error Unavailable(const char* what, const Error& why) {
  return {Code::kTransient, std::string(what) + ": " + why.message, why.sys_errno};
}
constexpr char kConfig[] = "node.json cannot be used";
constexpr char kRecord[] = "the node's record cannot be used";

// Only node.json says where Open vSwitch and bgpd are.
Openers WithoutConfig(Openers openers, const Error& why) {
  openers.ovsdb = [why](Deadline) -> Result<std::unique_ptr<ovs::Ovsdb>> { return tl::make_unexpected(why); };
  openers.openflow = [why](const std::string&, Deadline) -> Result<std::unique_ptr<ovs::OpenFlow>> {
    return tl::make_unexpected(why);
  };
  openers.bgp = [why](Deadline) -> Result<std::unique_ptr<frr::Bgp>> { return tl::make_unexpected(why); };
  return openers;
}

}  // namespace

VerbContext::VerbContext(config::NodeConfig node_config, std::unique_ptr<state::Store> open_store,
                         Openers openers, const Deps& deps, Use use)
    : config(std::move(node_config)),
      store(std::move(open_store)),
      connections(std::move(openers), After(kVerbDeadline)),
      wake_raild_(deps.wake_raild),
      use_(use) {}

Result<std::unique_ptr<VerbContext>> VerbContext::Open(const Deps& deps, Use use) {
  auto config = deps.load_config();
  if (!config) return tl::make_unexpected(Unavailable(kConfig, config.error()));
  auto store = deps.open_store();
  if (!store) return tl::make_unexpected(Unavailable(kRecord, store.error()));
  Openers openers = deps.openers(*config);
  return std::unique_ptr<VerbContext>(
      new VerbContext(std::move(*config), std::move(*store), std::move(openers), deps, use));
}

Result<std::unique_ptr<VerbContext>> VerbContext::OpenToUndo(const Deps& deps, Use use) {
  auto store = deps.open_store();
  if (!store) {
    const Error why = Unavailable(kRecord, store.error());
    store = deps.read_store();
    if (!store) return tl::make_unexpected(why);
    log::Warning("{}; what it says is undone, and stays in it until raild can write it", why.message);
  }
  auto config = deps.load_config();
  if (config) {
    Openers openers = deps.openers(*config);
    return std::unique_ptr<VerbContext>(
        new VerbContext(std::move(*config), std::move(*store), std::move(openers), deps, use));
  }
  Openers openers = WithoutConfig(deps.openers({}), Unavailable(kConfig, config.error()));
  return std::unique_ptr<VerbContext>(new VerbContext({}, std::move(*store), std::move(openers), deps, use));
}

AttachmentKey KeyOf(const cni::Request& request) {
  return {request.network, request.container_id, request.ifname};
}

Result<Attachment> RecordedAttachment(VerbContext& context, const cni::Request& request) {
  RAIL_ASSIGN(auto found, context.store->Find(KeyOf(request)));
  if (!found) {
    return Fail(Code::kInvalid,
                "attachment " + KeyOf(request).ToString() +
                    " is not in this node's record: ovs-provider must stand earlier in the chain");
  }
  return std::move(*found);
}

std::optional<state::Step> Recorded::Step(const char* kind) const {
  const auto it = std::ranges::find(steps, kind, &state::Step::kind);
  return it == steps.end() ? std::nullopt : std::optional(*it);
}

Result<Recorded> RecordedWithSteps(VerbContext& context, const cni::Request& request) {
  RAIL_ASSIGN(Attachment attachment, RecordedAttachment(context, request));
  RAIL_ASSIGN(std::vector<state::Step> steps, context.store->Steps(attachment.id));
  return Recorded{std::move(attachment), std::move(steps)};
}

namespace {

// Returns what could not be undone. The record keeps it as pending.
Result<std::vector<std::string>> UndoOne(Node& node, Attachment attachment, const std::string& owner) {
  if (attachment.phase != state::Phase::kDeleting) {
    attachment.phase = state::Phase::kDeleting;
    // Without the mark raild takes the attachment for a live one until its namespace is gone. To keep
    // the device because of that would be worse.
    const Status marked = node.store.SetPhase(attachment.id, attachment.phase);
    if (!marked && marked.error().code != Code::kNotFound)
      log::Warning("left to raild: {}", marked.error().message);
  }
  RAIL_ASSIGN(Undone undone, Undo(node, attachment, owner));
  return std::move(undone.failed);
}

void LeaveToRaild(const std::vector<std::string>& left) {
  for (const std::string& failed : left) log::Warning("left to raild: {}", failed);
}

}  // namespace

Status UndoAttachment(VerbContext& context, const AttachmentKey& key, const std::string& owner) {
  RAIL_ASSIGN(const auto attachment, context.store->Find(key));
  if (!attachment) return {};
  Node node = context.node();
  RAIL_ASSIGN(const std::vector<std::string> left, UndoOne(node, *attachment, owner));
  LeaveToRaild(left);
  return {};
}

Result<std::vector<Attachment>> MeantByDel(VerbContext& context, const cni::Request& request) {
  const AttachmentKey key = KeyOf(request);
  if (!key.network.empty()) {
    RAIL_ASSIGN(const auto found, context.store->Find(key));
    return found ? std::vector{*found} : std::vector<Attachment>();
  }
  RAIL_ASSIGN(std::vector<Attachment> all, context.store->List());
  std::erase_if(all, [&](const Attachment& one) {
    return one.key.container_id != key.container_id || one.key.ifname != key.ifname;
  });
  return all;
}

void UndoFailedAdd(Node& node, const Attachment& attachment, const std::string& owner) {
  node.connections.LetCallsTake(kCallTime);
  const auto undo = [&]() -> Result<std::vector<std::string>> {
    if (owner.empty()) return UndoOne(node, attachment, owner);
    RAIL_ASSIGN(Undone undone, Undo(node, attachment, owner));
    return std::move(undone.failed);
  };
  const auto left = undo();
  if (!left) return log::Error("clean up after a failed ADD: {}", left.error().message);
  LeaveToRaild(*left);
}

Status UndoAllBut(VerbContext& context, const std::string& network, const std::vector<AttachmentKey>& keep,
                  const std::string& owner) {
  RAIL_ASSIGN(const std::vector<Attachment> all, context.store->List());
  std::string left;
  for (const Attachment& attachment : all) {
    if (attachment.key.network != network || std::ranges::find(keep, attachment.key) != keep.end()) continue;
    Node node = context.node();
    const auto failed = UndoOne(node, attachment, owner);
    const std::vector<std::string> told = failed ? *failed : std::vector{failed.error().message};
    for (const std::string& one : told) Append(left, "; ", attachment.key.ToString() + ": " + one);
  }
  if (left.empty()) return {};
  return Fail(Code::kTransient, "left to raild: " + left);
}

Result<std::optional<std::vector<AttachmentKey>>> ValidAttachments(const cni::Request& request) {
  // The specification's text names the first key; a tagged version of it named the second.
  for (const char* key : {"cni.dev/valid-attachments", "cni.dev/attachments"}) {
    const auto list = request.config->find(key);
    if (list == request.config->end() || list->is_null()) continue;
    std::vector<AttachmentKey> keys;
    bool well_formed = list->is_array();
    for (size_t i = 0; well_formed && i < list->size(); ++i) {
      const nlohmann::json& entry = (*list)[i];
      well_formed = entry.is_object() && entry.contains("containerID") && entry["containerID"].is_string() &&
                    entry.contains("ifname") && entry["ifname"].is_string();
      if (well_formed) {
        keys.push_back(
            {request.network, entry["containerID"].get<std::string>(), entry["ifname"].get<std::string>()});
      }
    }
    if (!well_formed) {
      return Fail(Code::kInvalid,
                  std::string(key) + ": must be a list of {\"containerID\": ..., \"ifname\": ...}");
    }
    return std::optional(std::move(keys));
  }
  return std::optional<std::vector<AttachmentKey>>();
}

Status CollectGarbage(const Deps& deps, const cni::Request& request, const std::string& owner) {
  RAIL_ASSIGN(auto valid, ValidAttachments(request));
  RAIL_ASSIGN(const auto context, VerbContext::Open(deps));
  if (!valid) {
    RAIL_ASSIGN(const RecordPtr record, RecordReader(*context->store).Read());
    const WhereaboutsById where = LookFor(*record, context->connections, BootedMs());
    valid.emplace();
    for (const Attachment& attachment : record->attachments) {
      if (where.at(attachment.id).pod != Whereabouts::Pod::kGone) valid->push_back(attachment.key);
    }
  }
  return UndoAllBut(*context, request.network, *valid, owner);
}

void UndoOwn(const Deps& deps, const cni::Request& request, const OwnerFor& owner) {
  const auto undo = [&]() -> Status {
    RAIL_ASSIGN(const auto context, VerbContext::OpenToUndo(deps, VerbContext::Use::kQuiet));
    RAIL_ASSIGN(const std::vector<Attachment> meant, MeantByDel(*context, request));
    for (const Attachment& one : meant) RAIL_TRY(UndoAttachment(*context, one.key, owner(one)));
    return {};
  };
  if (const Status undone = undo(); !undone)
    log::Warning("DEL of {}: {}; left to ovs-provider's DEL and to raild", KeyOf(request).ToString(),
                 undone.error().message);
}

Status Problems(const std::vector<std::string>& problems) {
  if (problems.empty()) return {};
  std::string all = Join(problems, "; ");
  return Fail(Code::kInvalid, all);
}

}  // namespace rail::engine
