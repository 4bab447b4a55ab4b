#include "lib/state/sqlite.h"

#include <bit>

#include "lib/base/text.h"

namespace rail::state {
namespace {

std::string_view PhaseName(Phase phase) {
  switch (phase) {
    case Phase::kAdding: return "adding";
    case Phase::kReady: return "ready";
    case Phase::kDeleting: return "deleting";
  }
  return "";
}

Phase PhaseOf(std::string_view name) {
  if (name == "ready") return Phase::kReady;
  return name == "deleting" ? Phase::kDeleting : Phase::kAdding;  // the table allows no other
}

std::string JoinAddresses(const std::vector<IpAddress>& addresses) {
  return Join(addresses, ",", &IpAddress::ToString);
}

Result<std::vector<IpAddress>> SplitAddresses(std::string_view text) {
  std::vector<IpAddress> addresses;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    RAIL_ASSIGN(const IpAddress address, IpAddress::Parse(one));
    addresses.push_back(address);
  }
  return addresses;
}

// SQLite's integers are signed, so unsigned ones keep their bits.
int64_t ToSigned(uint64_t value) {
  return std::bit_cast<int64_t>(value);
}
uint64_t ToUnsigned(int64_t value) {
  return std::bit_cast<uint64_t>(value);
}

std::string IdText(tenancy::TenantId id) {
  return id.is_none() ? "" : id.ToString();
}
Result<tenancy::TenantId> IdFrom(const std::string& text) {
  if (text.empty()) return tenancy::TenantId();
  return tenancy::TenantId::Parse(text);
}

#define RAIL_FIELDS                                                                                         \
  "phase, rail, pod_namespace, pod_name, pod_uid, netns_path, netns_device, netns_inode, device, "          \
  "representor, adopted, mac, mtu, addresses, gateways, ofport, tenant, tenant_id, announced, created_ms, " \
  "boot, route_table, route_rule, leaving, leaving_ms"
#define RAIL_SELECT "SELECT id, network, container_id, ifname, " RAIL_FIELDS " FROM attachment"

// In the order of RAIL_FIELDS.
void BindFields(Statement& statement, const Attachment& a) {
  statement.Bind(PhaseName(a.phase)).Bind(a.rail).Bind(a.pod_namespace).Bind(a.pod_name).Bind(a.pod_uid);
  statement.Bind(a.netns_path).Bind(ToSigned(a.netns_device)).Bind(ToSigned(a.netns_inode));
  statement.Bind(a.device).Bind(a.representor).Bind(int64_t{a.adopted}).Bind(a.mac.ToString());
  statement.Bind(int64_t{a.mtu}).Bind(JoinAddresses(a.addresses)).Bind(JoinAddresses(a.gateways));
  statement.Bind(int64_t{a.ofport}).Bind(a.tenant).Bind(IdText(a.tenant_id)).Bind(int64_t{a.announced});
  statement.Bind(a.created_ms).Bind(a.boot).Bind(int64_t{a.table}).Bind(int64_t{a.rule});
  statement.Bind(IdText(a.leaving)).Bind(a.leaving_ms);
}

Result<Attachment> ReadAttachment(const Statement& row) {
  Attachment a;
  int column = 0;
  a.id = row.Int(column++);
  a.key.network = row.Text(column++);
  a.key.container_id = row.Text(column++);
  a.key.ifname = row.Text(column++);
  const std::string damaged = "the record of attachment " + std::to_string(a.id) + " is damaged";
  a.phase = PhaseOf(row.Text(column++));
  a.rail = row.Text(column++);
  a.pod_namespace = row.Text(column++);
  a.pod_name = row.Text(column++);
  a.pod_uid = row.Text(column++);
  a.netns_path = row.Text(column++);
  a.netns_device = ToUnsigned(row.Int(column++));
  a.netns_inode = ToUnsigned(row.Int(column++));
  a.device = row.Text(column++);
  a.representor = row.Text(column++);
  a.adopted = row.Int(column++) != 0;
  RAIL_ASSIGN_AS(a.mac, MacAddress::Parse(row.Text(column++)), damaged);
  a.mtu = static_cast<uint32_t>(row.Int(column++));
  RAIL_ASSIGN_AS(a.addresses, SplitAddresses(row.Text(column++)), damaged);
  RAIL_ASSIGN_AS(a.gateways, SplitAddresses(row.Text(column++)), damaged);
  a.ofport = static_cast<uint16_t>(row.Int(column++));
  a.tenant = row.Text(column++);
  RAIL_ASSIGN_AS(a.tenant_id, IdFrom(row.Text(column++)), damaged);
  a.announced = row.Int(column++) != 0;
  a.created_ms = row.Int(column++);
  a.boot = row.Text(column++);
  a.table = static_cast<uint32_t>(row.Int(column++));
  a.rule = static_cast<uint32_t>(row.Int(column++));
  RAIL_ASSIGN_AS(a.leaving, IdFrom(row.Text(column++)), damaged);
  a.leaving_ms = row.Int(column++);
  return a;
}

std::string Named(int64_t attachment) {
  return "attachment " + std::to_string(attachment);
}

}  // namespace

Result<std::unique_ptr<Store>> Sqlite::OpenWaiting(const std::string& path,
                                                   std::chrono::milliseconds lock_wait) {
  RAIL_ASSIGN(auto db, Database::Open(path, lock_wait));
  return std::unique_ptr<Store>(new Sqlite(std::move(db)));
}

template <class Body>
auto Sqlite::InTransaction(const std::string& doing, Body body) -> decltype(body()) {
  auto result = db_->InTransaction(body);
  if (!result) return FailWrapped(result.error(), doing);
  return result;
}

template <class... Values>
Status Sqlite::RunOne(const std::string& doing, const char* sql, const Values&... values) {
  return InTransaction(doing, [&]() -> Status {
    RAIL_ASSIGN(Statement statement, db_->Prepare(sql));
    (statement.Bind(values), ...);
    return statement.Run();
  });
}

Result<Attachment> Sqlite::Create(const Attachment& draft) {
  const std::string doing = "record " + draft.key.ToString();
  if (draft.key.network.empty() || draft.key.container_id.empty() || draft.key.ifname.empty()) {
    return Fail(Code::kInvalid,
                doing + ": an attachment has a network, a container id and an interface name");
  }
  Attachment created = draft;
  RAIL_ASSIGN(created.id, InTransaction(doing, [&]() -> Result<int64_t> {
                RAIL_ASSIGN(const int64_t id, Insert(draft));
                if (!draft.device.empty()) RAIL_TRY(Take(id, ClaimKind::kDevice, draft.device));
                return id;
              }));
  return created;
}

Result<int64_t> Sqlite::Insert(const Attachment& draft) {
  RAIL_ASSIGN(
      Statement insert,
      db_->Prepare(
          "INSERT INTO attachment (network, container_id, ifname, " RAIL_FIELDS
          ") VALUES (?,?,?, ?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING"));
  insert.Bind(draft.key.network).Bind(draft.key.container_id).Bind(draft.key.ifname);
  BindFields(insert, draft);
  RAIL_TRY(insert.Run());
  if (db_->changed_rows() == 0) return Fail(Code::kExists, "it is in the record already");
  return db_->last_insert_id();
}

Result<std::optional<Attachment>> Sqlite::Find(const AttachmentKey& key) {
  const std::string doing = "look for " + key.ToString();
  RAIL_ASSIGN_AS(Statement find,
                 db_->Prepare(RAIL_SELECT " WHERE network = ? AND container_id = ? AND ifname = ?"), doing);
  RAIL_ASSIGN_AS(const bool row, find.Bind(key.network).Bind(key.container_id).Bind(key.ifname).Step(),
                 doing);
  if (!row) return std::optional<Attachment>();
  RAIL_ASSIGN(Attachment attachment, ReadAttachment(find));
  return std::optional(std::move(attachment));
}

Result<std::vector<Attachment>> Sqlite::List() {
  RAIL_ASSIGN_AS(Statement list, db_->Prepare(RAIL_SELECT " ORDER BY id"), "list the attachments");
  std::vector<Attachment> attachments;
  for (;;) {
    RAIL_ASSIGN_AS(const bool row, list.Step(), "list the attachments");
    if (!row) return attachments;
    RAIL_ASSIGN(Attachment attachment, ReadAttachment(list));
    attachments.push_back(std::move(attachment));
  }
}

template <class Bind>
Status Sqlite::Set(int64_t id, const char* what, Unless unless, const char* sql, Bind bind) {
  const std::string doing = std::string("set ") + what + " of " + Named(id) + " in the record";
  RAIL_ASSIGN(const int64_t changed, InTransaction(doing, [&]() -> Result<int64_t> {
                if (unless == Unless::kDeleting) RAIL_TRY(NotDeleting(id));
                RAIL_ASSIGN(Statement update, db_->Prepare(sql));
                bind(update);
                RAIL_TRY(update.Bind(id).Run());
                return db_->changed_rows();
              }));
  if (changed == 0) return Fail(Code::kNotFound, doing + ": it is not there");
  return {};
}

Status Sqlite::SetPhase(int64_t id, Phase phase) {
  return Set(id, "the phase", phase == Phase::kDeleting ? Unless::kNever : Unless::kDeleting,
             "UPDATE attachment SET phase = ? WHERE id = ?",
             [&](Statement& set) { set.Bind(PhaseName(phase)); });
}

Status Sqlite::SetAddresses(int64_t id, const std::vector<IpAddress>& addresses,
                            const std::vector<IpAddress>& gateways) {
  return Set(id, "the addresses", Unless::kNever,
             "UPDATE attachment SET addresses = ?, gateways = ? WHERE id = ?",
             [&](Statement& set) { set.Bind(JoinAddresses(addresses)).Bind(JoinAddresses(gateways)); });
}

Status Sqlite::SetOfport(int64_t id, uint16_t ofport) {
  return Set(id, "the ofport", Unless::kNever, "UPDATE attachment SET ofport = ? WHERE id = ?",
             [&](Statement& set) { set.Bind(int64_t{ofport}); });
}

Status Sqlite::SetTenant(int64_t id, const std::string& tenant, tenancy::TenantId tenant_id) {
  return Set(id, "the tenant", tenant_id.is_none() ? Unless::kNever : Unless::kDeleting,
             "UPDATE attachment SET tenant = ?, tenant_id = ?, leaving = '', leaving_ms = 0 WHERE id = ?",
             [&](Statement& set) { set.Bind(tenant).Bind(IdText(tenant_id)); });
}

// What SET computes, it computes from the row as it was.
Status Sqlite::MoveTenant(int64_t id, const std::string& tenant, tenancy::TenantId tenant_id,
                          int64_t unix_ms) {
  return Set(id, "the tenant", Unless::kDeleting,
             "UPDATE attachment SET leaving = iif(tenant_id = ?, leaving, tenant_id), "
             "leaving_ms = iif(tenant_id = ?, leaving_ms, iif(tenant_id = '', 0, ?)), "
             "tenant = ?, tenant_id = ? WHERE id = ?",
             [&](Statement& set) {
               const std::string to = IdText(tenant_id);
               set.Bind(to).Bind(to).Bind(unix_ms).Bind(tenant).Bind(to);
             });
}

Status Sqlite::SetLeft(int64_t id) {
  return Set(id, "the tenant that it has left", Unless::kNever,
             "UPDATE attachment SET leaving = '', leaving_ms = 0 WHERE id = ?", [](Statement&) {});
}

Status Sqlite::SetAnnounced(int64_t id, bool announced) {
  return Set(id, "the announcement", announced ? Unless::kDeleting : Unless::kNever,
             "UPDATE attachment SET announced = ? WHERE id = ?",
             [&](Statement& set) { set.Bind(int64_t{announced}); });
}

// Call it within a transaction. If an ADD made something after its DEL has begun, nobody would undo it.
Status Sqlite::NotDeleting(int64_t attachment) {
  RAIL_ASSIGN(Statement read, db_->Prepare("SELECT phase FROM attachment WHERE id = ?"));
  RAIL_ASSIGN(const bool row, read.Bind(attachment).Step());
  if (!row) return Fail(Code::kNotFound, "no such attachment in the record");
  if (PhaseOf(read.Text(0)) != Phase::kDeleting) return {};
  return Fail(Code::kBusy, "a DEL of it has begun");
}

Status Sqlite::Remove(int64_t id) {
  return InTransaction("remove " + Named(id) + " from the record", [&]() -> Status {
    RAIL_ASSIGN(Statement left, db_->Prepare("SELECT count(*), min(kind) FROM step WHERE attachment = ?"));
    RAIL_ASSIGN(const bool row, left.Bind(id).Step());
    if (row && left.Int(0) > 0) {
      return Fail(Code::kBusy, std::to_string(left.Int(0)) + " steps are left to undo, one of them \"" +
                                   left.Text(1) + "\"");
    }
    RAIL_ASSIGN(Statement remove, db_->Prepare("DELETE FROM attachment WHERE id = ?"));
    return remove.Bind(id).Run();
  });
}

Status Sqlite::Take(int64_t attachment, ClaimKind kind, const std::string& value) {
  if (value.empty()) return Fail(Code::kInvalid, "the name of what is claimed is empty");
  {
    RAIL_ASSIGN(Statement insert, db_->Prepare("INSERT INTO claim (kind, value, attachment) VALUES (?, ?, ?) "
                                               "ON CONFLICT DO NOTHING"));
    RAIL_TRY(insert.Bind(ClaimKindName(kind)).Bind(value).Bind(attachment).Run());
    if (db_->changed_rows() == 1) return {};
  }
  RAIL_ASSIGN(
      Statement holder,
      db_->Prepare(
          "SELECT a.id, a.network, a.container_id, a.ifname, a.pod_namespace, a.pod_name "
          "FROM claim AS c JOIN attachment AS a ON a.id = c.attachment WHERE c.kind = ? AND c.value = ?"));
  RAIL_ASSIGN(const bool row, holder.Bind(ClaimKindName(kind)).Bind(value).Step());
  if (!row) return Fail(Code::kInternal, "the claim has no attachment");
  if (holder.Int(0) == attachment) return {};
  const AttachmentKey key{holder.Text(1), holder.Text(2), holder.Text(3)};
  return Fail(Code::kBusy, std::string(ClaimKindName(kind)) + " " + value + " belongs to " + key.ToString() +
                               " (pod " + holder.Text(4) + "/" + holder.Text(5) + ")");
}

Status Sqlite::Claim(int64_t attachment, ClaimKind kind, const std::string& value) {
  const std::string doing =
      "claim " + std::string(ClaimKindName(kind)) + " " + value + " for " + Named(attachment);
  return InTransaction(doing, [&]() -> Status {
    RAIL_TRY(NotDeleting(attachment));
    return Take(attachment, kind, value);
  });
}

Status Sqlite::Release(int64_t attachment, ClaimKind kind, const std::string& value) {
  return RunOne("release " + std::string(ClaimKindName(kind)) + " " + value + " of " + Named(attachment),
                "DELETE FROM claim WHERE kind = ? AND value = ? AND attachment = ?", ClaimKindName(kind),
                value, attachment);
}

Status Sqlite::ReleaseAll(int64_t attachment, ClaimKind kind) {
  return RunOne("release each " + std::string(ClaimKindName(kind)) + " of " + Named(attachment),
                "DELETE FROM claim WHERE kind = ? AND attachment = ?", ClaimKindName(kind), attachment);
}

Result<std::optional<int64_t>> Sqlite::OwnerOf(ClaimKind kind, const std::string& value) {
  const std::string doing = "look for the owner of " + std::string(ClaimKindName(kind)) + " " + value;
  RAIL_ASSIGN_AS(Statement find, db_->Prepare("SELECT attachment FROM claim WHERE kind = ? AND value = ?"),
                 doing);
  RAIL_ASSIGN_AS(const bool row, find.Bind(ClaimKindName(kind)).Bind(value).Step(), doing);
  return row ? std::optional(find.Int(0)) : std::nullopt;
}

Result<int64_t> Sqlite::RecordStep(int64_t attachment, const std::string& owner, const std::string& kind,
                                   const std::string& detail) {
  return InTransaction("record step \"" + kind + "\" of " + Named(attachment), [&]() -> Result<int64_t> {
    RAIL_TRY(NotDeleting(attachment));
    RAIL_ASSIGN(Statement insert,
                db_->Prepare("INSERT INTO step (attachment, owner, kind, detail) VALUES (?, ?, ?, ?)"));
    RAIL_TRY(insert.Bind(attachment).Bind(owner).Bind(kind).Bind(detail).Run());
    return db_->last_insert_id();
  });
}

Status Sqlite::SetPending(int64_t step, const std::string& why) {
  const std::string doing = "mark step " + std::to_string(step) + " as pending";
  RAIL_TRY(RunOne(doing, "UPDATE step SET pending = ? WHERE id = ?", why, step));
  if (db_->changed_rows() == 0) return Fail(Code::kNotFound, doing + ": it is not in the record");
  return {};
}

Status Sqlite::ForgetStep(int64_t step) {
  return RunOne("forget step " + std::to_string(step), "DELETE FROM step WHERE id = ?", step);
}

Result<std::vector<Step>> Sqlite::Steps(int64_t attachment) {
  const std::string doing = "read the steps of " + Named(attachment);
  RAIL_ASSIGN_AS(
      Statement list,
      db_->Prepare(
          "SELECT id, attachment, owner, kind, detail, pending FROM step WHERE attachment = ? ORDER BY id"),
      doing);
  list.Bind(attachment);
  std::vector<Step> steps;
  for (;;) {
    RAIL_ASSIGN_AS(const bool row, list.Step(), doing);
    if (!row) return steps;
    steps.push_back(Step{list.Int(0), list.Int(1), list.Text(2), list.Text(3), list.Text(4), list.Text(5)});
  }
}

Result<int64_t> Sqlite::Version() {
  if (db_->IsReplaced()) {
    RAIL_TRY_AS(db_->OpenAgain(), "the record was replaced");
    versions_before_ += int64_t{1} << 40;
    return Fail(Code::kTransient,
                "the record was replaced by another file while it was in use: it is opened anew, and nothing "
                "is judged by it in this round");
  }
  RAIL_ASSIGN_AS(Statement read, db_->Prepare("PRAGMA data_version"), "read the record's version");
  RAIL_ASSIGN_AS(const bool row, read.Step(), "read the record's version");
  // data_version counts what other connections write (sqlite.org/pragma.html#pragma_data_version). Both numbers only grow.
  return versions_before_ + (row ? read.Int(0) : 0) + db_->all_changed_rows();
}

}  // namespace rail::state
