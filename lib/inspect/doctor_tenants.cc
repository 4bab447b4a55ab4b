#include "lib/inspect/doctor_subjects.h"

#include "lib/inspect/select.h"

namespace rail::inspect {
namespace {

class Tenants : Examiner {
 public:
  using Examiner::Examiner;

  void Run() {
    if (config_.tenancy.mode == config::TenancyMode::kNamespace) {
      KeyFile();
      Keys();
    }
    UnusedTenants();
  }

 private:
  void KeyFile() {
    const std::string& key = config_.tenancy.key_file;
    if (!facts_.key_file.there) {
      Find(Severity::kCritical, "key-file-missing", key, "the tenant key is not there",
           "no pod can be placed in its tenant: no ADD succeeds",
           "put the same key on every node: `install -m 0640 tenant.key " + key + "`");
    } else if ((facts_.key_file.mode & 07) != 0) {
      Find(Severity::kCritical, "key-file-readable", key,
           "the tenant key has mode " + Octal(facts_.key_file.mode) + ": everybody on the node can use it",
           "who has the key can look for a namespace whose tenant id collides with another's; the plugins "
           "refuse it",
           "`chmod 0640 " + key + "`, and make a new key if somebody may have read it");
    } else if (facts_.key_error) {
      Find(Severity::kCritical, "key-file-bad", key, facts_.key_error->message,
           "no pod can be placed in its tenant: no ADD succeeds", "put the fleet's key there");
    }
  }

  // Keys that are being replaced (lib/tenancy/README.md).
  void Keys() {
    for (const tenancy::KeyFile& file : facts_.accepted_keys) {
      if (file.problem.empty()) continue;
      Find(Severity::kWarning, "accepted-key-bad", file.file, file.problem,
           "raild goes on with the keys that it has read last, and a new raild does not start",
           "mend the file (`chmod 0640 " + file.file + "`), or remove it if nobody uses its key any more");
    }
    std::string today;
    for (const engine::KeyView& key : view_.keys) {
      if (key.file.current) today = key.file.fingerprint;
      if (!key.file.current && !key.file.fingerprint.empty() && key.file.fingerprint != today) Accepted(key);
    }
    for (const auto& [id, names] : view_.shared_tenant_ids) {
      std::string list;
      for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
      Find(Severity::kCritical, "tenant-ids-collide", id.ToString(),
           "the id is that of several tenants here: " + list,
           "announcements under it reach nobody: whose they are cannot be told",
           "remove the key file that gives them the same id, or replace the key by another one");
    }
    for (const engine::AttachmentView& shown : view_.attachments) {
      if (!facts_.unexplained.contains(shown.attachment.id)) continue;
      Find(Severity::kWarning, "tenant-id-of-no-key", Name(shown.attachment),
           "no key of this node makes its tenant's id " +
               tenancy::TenantId{shown.attachment.tenant_id}.ToString() + " of the name " +
               shown.attachment.tenant,
           "it stays in the tenant of that id: pods that are attached from now on, here and elsewhere, do "
           "not reach it",
           "put the key that it was attached under back as one of tenancy.accept_key_files until raild has "
           "moved it; or "
           "attach the pod anew");
    }
  }

  void Accepted(const engine::KeyView& key) {
    const std::string what = "the key " + key.file.fingerprint;
    if (key.attachments + key.remotes > 0) {
      std::string examples;
      for (const IpAddress& address : key.examples)
        examples += (examples.empty() ? ": " : ", ") + address.ToString();
      if (key.remotes > key.examples.size() && !key.examples.empty()) examples += ", ...";
      Find(Severity::kInfo, "accepted-key-in-use", key.file.file,
           fmt::format("{} is accepted beside that of today; of the tenants here {} attachments of this node "
                       "and {} addresses "
                       "elsewhere are under it{}",
                       what, key.attachments, key.remotes, examples),
           "pods under it are reached as long as the file is there, and not without it",
           "do not remove it yet: give every node the new key first (lib/tenancy: Another key)");
    } else {
      Find(Severity::kInfo, "accepted-key-unused", key.file.file,
           what + " is accepted beside that of today, and nothing of the tenants here is under it",
           "who has it can still announce addresses for tenants, if it is one that was replaced",
           "if it was replaced, remove the file once every node says so; if it is the next one, this node is "
           "ready for it");
    }
  }

  void UnusedTenants() {
    for (const auto& [tenant, namespaces] : config_.tenancy.tenants) {
      const auto id = facts_.tenant_ids.find(tenant);
      const bool here = std::ranges::any_of(view_.attachments,
                                            [&](const auto& a) { return a.attachment.tenant == tenant; });
      const bool elsewhere = id != facts_.tenant_ids.end() &&
                             std::ranges::any_of(view_.remotes, [&](const engine::RemoteView& r) {
                               return id->second.contains(r.remote.tenant.value);
                             });
      if (here || elsewhere) continue;
      std::string list;
      for (const std::string& each : namespaces) list += (list.empty() ? "" : ", ") + each;
      Find(Severity::kInfo, "tenant-unused", tenant,
           "no pod of its namespaces (" + list + ") is on this node or known elsewhere",
           "a namespace that is spelt wrong is a tenant of its own, without a word",
           "compare tenancy.tenants in node.json with `kubectl get namespaces`");
    }
  }
};

}  // namespace

void ExamineTenants(const NodeFacts& facts, std::vector<Finding>& found) {
  Tenants(facts, found).Run();
}

}  // namespace rail::inspect
