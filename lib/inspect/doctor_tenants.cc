#include "lib/inspect/doctor_subjects.h"

#include "lib/tenancy/tenancy.h"

namespace rail::inspect {
namespace {

class Tenants : Examiner {
 public:
  using Examiner::Examiner;

  void Run() {
    for (const auto& [tenant, namespaces] : config_.tenancy.tenants) {
      const tenancy::TenantId id = tenancy::TenantOf(config_, namespaces.front()).id;
      const bool here = std::ranges::any_of(view_.attachments,
                                            [&](const auto& a) { return a.attachment.tenant == tenant; });
      const bool elsewhere = std::ranges::any_of(
          view_.remotes, [&](const engine::RemoteView& r) { return r.remote.tenant == id; });
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
