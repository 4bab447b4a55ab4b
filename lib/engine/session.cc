#include "lib/engine/session.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/base/log.h"

namespace rail::engine {

using state::Attachment;
using state::AttachmentKey;

Session::Session(config::NodeConfig node_config, std::unique_ptr<state::Store> open_store, const Deps& deps,
                 Use use)
    : config(std::move(node_config)),
      store(std::move(open_store)),
      edges(deps.openers(config), After(kVerbDeadline)),
      poke_(deps.poke),
      use_(use) {}

Result<std::unique_ptr<Session>> Session::Open(const Deps& deps, Use use) {
  RAIL_ASSIGN(config::NodeConfig config, deps.load_config());
  RAIL_ASSIGN(std::unique_ptr<state::Store> store, deps.open_store());
  return std::unique_ptr<Session>(new Session(std::move(config), std::move(store), deps, use));
}

AttachmentKey KeyOf(const cni::Request& request) {
  return {request.network, request.container_id, request.ifname};
}

Result<Attachment> RecordedAttachment(Session& session, const cni::Request& request) {
  RAIL_ASSIGN(auto found, session.store->Find(KeyOf(request)));
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

Result<Recorded> RecordedWithSteps(Session& session, const cni::Request& request) {
  RAIL_ASSIGN(Attachment attachment, RecordedAttachment(session, request));
  RAIL_ASSIGN(std::vector<state::Step> steps, session.store->Steps(attachment.id));
  return Recorded{std::move(attachment), std::move(steps)};
}

namespace {

// Nothing is at its path, no namespace, or another one than that of the record.
bool NamespaceIsGone(const Attachment& attachment) {
  const auto pod = netns::Netns::Open(attachment.netns_path);
  if (!pod) return pod.error().code == Code::kNotFound || pod.error().code == Code::kInvalid;
  return !(pod->identity() == netns::Identity{attachment.netns_device, attachment.netns_inode});
}

Status UndoOne(Session& session, Attachment attachment, const std::string& owner) {
  if (attachment.phase != state::Phase::kDeleting) {
    attachment.phase = state::Phase::kDeleting;
    RAIL_TRY(session.store->Update(attachment));
  }
  Node node = session.node();
  RAIL_ASSIGN(const Undone undone, Undo(node, attachment, owner));
  for (const std::string& failed : undone.failed) log::Warning("left to raild: {}", failed);
  return {};
}

}  // namespace

Status UndoAttachment(Session& session, const AttachmentKey& key, const std::string& owner) {
  RAIL_ASSIGN(const auto attachment, session.store->Find(key));
  return attachment ? UndoOne(session, *attachment, owner) : Status{};
}

Status UndoAllBut(Session& session, const std::string& network, const std::vector<AttachmentKey>& keep,
                  const std::string& owner) {
  RAIL_ASSIGN(const std::vector<Attachment> all, session.store->List());
  Status first;
  for (const Attachment& attachment : all) {
    if (attachment.key.network != network || std::ranges::find(keep, attachment.key) != keep.end()) continue;
    if (Status status = UndoOne(session, attachment, owner); !status && first) first = std::move(status);
  }
  return first;
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
  RAIL_ASSIGN(const auto session, Session::Open(deps));
  if (!valid) {
    RAIL_ASSIGN(const std::vector<Attachment> all, session->store->List());
    valid.emplace();
    for (const Attachment& attachment : all) {
      if (!NamespaceIsGone(attachment)) valid->push_back(attachment.key);
    }
  }
  return UndoAllBut(*session, request.network, *valid, owner);
}

Status UndoOwn(const Deps& deps, const cni::Request& request, const std::string& owner) {
  RAIL_ASSIGN(const auto session, Session::Open(deps, Session::Use::kQuiet));
  return UndoAttachment(*session, KeyOf(request), owner);
}

Status Problems(const std::vector<std::string>& problems) {
  if (problems.empty()) return {};
  std::string all;
  for (const std::string& problem : problems) all += (all.empty() ? "" : "; ") + problem;
  return Fail(Code::kInvalid, all);
}

}  // namespace rail::engine
