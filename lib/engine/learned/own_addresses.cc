#include "lib/engine/learned/own_addresses.h"

#include <utility>

namespace rail::engine {

void OwnAddresses::Read(RecordReader& reader, TenantRemotes& remotes) {
  const auto record = reader.Read();
  if (!record || *record == read_) return;
  read_ = *record;
  std::map<tenancy::TenantId, std::map<IpAddress, OwnAddress>> own;
  TenantAliases aliases;
  for (const state::Attachment& attachment : read_->attachments) {
    for (const auto alias : tenancy::AliasesOf(config_, attachment.tenant, attachment.tenant_id))
      aliases[alias] = attachment.tenant_id;
    const config::Rail* rail = config_.FindRail(attachment.rail);
    if (rail == nullptr || attachment.phase != state::Phase::kReady) continue;
    for (const IpAddress& address : attachment.addresses)
      own[attachment.tenant_id][address] = {attachment.tenant_id, rail->index};
  }
  remotes.SetAliases(aliases);
  remotes.SetOwn(own);
}

bool OwnAddresses::Look(const RemoteTable& table, Deadline now) {
  std::map<OwnKey, Deadline> since;
  AlsoAnnounced lasting;
  for (const auto& [own, elsewhere] : table.elsewhere) {
    const auto known = since_.find(own);
    const Deadline begin = known == since_.end() ? now : known->second;
    since.emplace(own, begin);
    if (now - begin >= kContestedGrace) lasting.emplace(own, elsewhere);
  }
  since_ = std::move(since);
  return std::exchange(lasting_, std::move(lasting)) != lasting_;
}

std::optional<Deadline> OwnAddresses::next() const {
  std::optional<Deadline> next;
  for (const auto& [own, since] : since_) {
    if (!lasting_.contains(own)) next = Earlier(next, since + kContestedGrace);
  }
  return next;
}

Status OwnAddresses::health() const {
  if (lasting_.empty()) return {};
  std::string text = lasting_.begin()->first.address.ToString() +
                     " of a pod of this node is announced by another node as well";
  if (lasting_.size() > 1) text += ", and so are " + std::to_string(lasting_.size() - 1) + " more";
  return Fail(Code::kInvalid, text + ": `railctl doctor` says by whom, and what to do");
}

}  // namespace rail::engine
