#include "lib/fabric/fleet.h"

#include <algorithm>
#include <utility>

namespace rail::fabric {
namespace {

AttachmentKey KeyOf(const Node& node, const v1::Attachment& attachment) {
  return {attachment.pod().namespace_(), attachment.pod().name(), node.name, attachment.id()};
}

// Since when each rail is Ready, or is not.
void NoteRails(Node& node, const std::map<std::string, bool>& was_ready, bool is_first, int64_t now_ms) {
  std::map<std::string, int64_t, std::less<>> since;
  for (const v1::Rail& rail : node.state.rails()) {
    const auto was = was_ready.find(rail.name());
    const bool same = was != was_ready.end() && was->second == (rail.state() == v1::Rail::READY);
    since[rail.name()] = is_first ? 0 : same ? node.since_ms[rail.name()] : now_ms;
  }
  node.since_ms = std::move(since);
}

std::map<std::string, bool> ReadyRails(const v1::NodeState& state) {
  std::map<std::string, bool> ready;
  for (const v1::Rail& rail : state.rails()) ready[rail.name()] = rail.state() == v1::Rail::READY;
  return ready;
}

// Puts the field with this number of `from` in the place of that of `to`. False: there is no such field.
bool Take(v1::NodeState& to, v1::NodeState& from, int number) {
  const google::protobuf::FieldDescriptor* field = v1::NodeState::descriptor()->FindFieldByNumber(number);
  if (field == nullptr) return false;
  to.GetReflection()->SwapFields(&to, &from, {field});
  return true;
}

}  // namespace

bool AttachmentKey::operator<(const AttachmentKey& other) const {
  if (ns != other.ns) return IsBefore(ns, other.ns);
  if (pod != other.pod) return IsBefore(pod, other.pod);
  if (node != other.node) return IsBefore(node, other.node);
  return id < other.id;
}

Node& Fleet::Known(const std::string& node) {
  const auto [at, is_new] = nodes_.try_emplace(node);
  if (is_new) {
    at->second.name = node;
    Changed({v1::FLEET_NODES, v1::FLEET_CAUSES});
  }
  return at->second;
}

void Fleet::Expect(const std::string& node) {
  Known(node);
}

Status Fleet::Apply(const std::string& name, v1::WatchStateResponse response, int64_t now_ms) {
  Node& node = Known(name);
  const bool is_first = !node.heard;
  const bool is_all = response.section() == v1::WatchStateResponse::ALL;
  if (is_first && !is_all)
    return Fail(Code::kInvalid, "take in what " + name + " says: section " +
                                    std::to_string(response.section()) + " came before the whole document");
  node.heard = true;
  node.applied_ms = now_ms;
  if (node.away_ms != 0) {
    node.away_ms = 0;
    node.away_why.clear();
    Changed({v1::FLEET_NODES, v1::FLEET_RAILS, v1::FLEET_ATTACHMENTS, v1::FLEET_CAUSES});
  }
  v1::NodeState& state = *response.mutable_state();
  if (is_all) {
    DropAll(node);
    for (v1::Attachment& each : *state.mutable_attachments()) Put(node, std::move(each));
    state.clear_attachments();
    const auto was_ready = ReadyRails(node.state);
    node.state = std::move(state);
    NoteRails(node, was_ready, is_first, now_ms);
    Changed({v1::FLEET_NODES, v1::FLEET_RAILS, v1::FLEET_ATTACHMENTS, v1::FLEET_CAUSES});
    return {};
  }
  if (response.section() == v1::WatchStateResponse::ATTACHMENTS) {
    for (const int64_t id : response.gone()) Drop(node, id);
    for (v1::Attachment& each : *state.mutable_attachments()) Put(node, std::move(each));
    Changed({v1::FLEET_NODES, v1::FLEET_RAILS, v1::FLEET_ATTACHMENTS, v1::FLEET_CAUSES});
    return {};
  }
  ReplaceSection(node, response.section(), state, is_first, now_ms);
  return {};
}

void Fleet::ReplaceSection(Node& node, int section, v1::NodeState& state, bool is_first, int64_t now_ms) {
  const auto was_ready = ReadyRails(node.state);
  if (!Take(node.state, state, section)) return;
  switch (section) {
    case v1::WatchStateResponse::RAILS:
      NoteRails(node, was_ready, is_first, now_ms);
      Changed({v1::FLEET_NODES, v1::FLEET_RAILS, v1::FLEET_CAUSES});
      return;
    case v1::WatchStateResponse::NODE:
    case v1::WatchStateResponse::LEARNED:
    case v1::WatchStateResponse::TENANT_LIST: Changed({v1::FLEET_NODES, v1::FLEET_CAUSES}); return;
    default: return;  // counts that no answer shows
  }
}

void Fleet::SetAway(const std::string& name, int64_t since_ms, std::string why) {
  Node& node = Known(name);
  if (node.away_ms != 0 && node.away_why == why) return;
  if (node.away_ms == 0) node.away_ms = since_ms;
  node.away_why = std::move(why);
  Changed({v1::FLEET_NODES, v1::FLEET_RAILS, v1::FLEET_ATTACHMENTS, v1::FLEET_CAUSES});
}

void Fleet::Remove(const std::string& name) {
  const auto at = nodes_.find(name);
  if (at == nodes_.end()) return;
  DropAll(at->second);
  nodes_.erase(at);
  Changed({v1::FLEET_NODES, v1::FLEET_RAILS, v1::FLEET_ATTACHMENTS, v1::FLEET_CAUSES});
}

const Node* Fleet::Find(std::string_view node) const {
  const auto at = nodes_.find(node);
  return at == nodes_.end() ? nullptr : &at->second;
}

std::vector<Placed> Fleet::OfAddress(const std::string& address) const {
  std::vector<Placed> found;
  const auto [begin, end] = by_address_.equal_range(address);
  for (auto at = begin; at != end; ++at) found.push_back(at->second);
  std::ranges::sort(found, [](const Placed& a, const Placed& b) {
    return a.node != b.node ? IsBefore(a.node->name, b.node->name) : a.attachment->id() < b.attachment->id();
  });
  return found;
}

void Fleet::Changed(std::initializer_list<v1::FleetPart> parts) {
  ++number_;
  for (const v1::FleetPart part : parts) numbers_.at(static_cast<size_t>(part)) = number_;
}

void Fleet::Put(Node& node, v1::Attachment&& attachment) {
  const int64_t id = attachment.id();
  Drop(node, id);
  const v1::Attachment& placed = node.attachments.try_emplace(id, std::move(attachment)).first->second;
  Index(node, placed);
}

void Fleet::Drop(Node& node, int64_t id) {
  const auto at = node.attachments.find(id);
  if (at == node.attachments.end()) return;
  Unindex(node, at->second);
  node.attachments.erase(at);
}

void Fleet::DropAll(Node& node) {
  for (const auto& [id, attachment] : node.attachments) Unindex(node, attachment);
  node.attachments.clear();
}

void Fleet::Index(const Node& node, const v1::Attachment& attachment) {
  attachments_[KeyOf(node, attachment)] = {&node, &attachment};
  for (const std::string& address : attachment.addresses()) {
    by_address_.emplace(address, Placed{&node, &attachment});
    if (const size_t count = by_address_.count(address); count > 1) shared_[address] = count;
  }
}

void Fleet::Unindex(const Node& node, const v1::Attachment& attachment) {
  attachments_.erase(KeyOf(node, attachment));
  for (const std::string& address : attachment.addresses()) {
    const auto [begin, end] = by_address_.equal_range(address);
    const auto is_this = [&attachment](const auto& each) { return each.second.attachment == &attachment; };
    if (const auto at = std::find_if(begin, end, is_this); at != end) by_address_.erase(at);
    const size_t count = by_address_.count(address);
    if (count > 1) shared_[address] = count;
    if (count < 2) shared_.erase(address);
  }
}

}  // namespace rail::fabric
