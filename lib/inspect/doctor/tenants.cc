#include "lib/inspect/doctor/subjects.h"

#include "lib/base/text.h"
#include "lib/tenancy/tenancy.h"

namespace rail::inspect {
namespace {

constexpr std::chrono::seconds kLong{60};

class Tenants : Examiner {
 public:
  using Examiner::Examiner;

  void Run() {
    if (facts_.start) return;  // raild alone knows
    Unused();
    NotFollowed();
    List();
  }

 private:
  void List() {
    const engine::TenantListView& list = view_.tenant_list;
    if (!list.wanted) return;
    const std::string until = list.problem.empty() ? "" : ": " + list.problem;
    if (!list.known) {
      Find(Severity::kCritical, "tenants-not-known", "API server",
           "this node has never had the list of the cluster's namespaces" + until,
           "no pod can be attached here, except of namespaces that tenancy.tenants of node.json names",
           "can raild reach the API server, and may its service account list and watch namespaces? "
           "manifests/components/api-server has what it needs");
    } else if (facts_.tenants_stale >= kLong) {
      Find(Severity::kWarning, "api-server-away", "API server",
           fmt::format("the tenants of namespaces have not followed the API server for {} s{}",
                       facts_.tenants_stale.count(), until),
           "labels that change meanwhile change nothing here, and pods of new namespaces cannot be attached",
           "can raild reach the API server, and may its service account list and watch namespaces?");
    }
    if (list.invalid > 0) {
      Find(
          Severity::kWarning, "tenant-label-invalid", "namespaces",
          fmt::format("the labels of {} namespaces cannot be a tenant, one of them {}", list.invalid,
                      list.example),
          "their pods that run stay in the tenant that they are in, and no further pod of theirs is attached",
          "a tenant has 1 to 63 of a-z, 0-9 and '-', with no '-' at either end: correct the label");
    }
  }

  // A label that nobody follows changes nothing, and nothing else says so. Without the API server trace alone can.
  void NotFollowed() {
    if (config_.tenancy.mode != config::TenancyMode::kNamespace || !config_.kubernetes.report ||
        config_.kubernetes.tenants || !config_.tenancy.tenants.empty())
      return;
    Find(Severity::kInfo, "labels-not-followed", config::kNodeFile,
         "every namespace is a tenant of its own: kubernetes.tenants is false, and tenancy.tenants is empty",
         "the label " + config_.kubernetes.tenant_label + " of a namespace changes nothing on this node",
         "if namespaces shall share a tenant: \"tenants\": true beside \"report\" in node.json of all nodes, "
         "or tenancy.tenants");
  }

  void Unused() {
    if (JustBegun()) return;
    for (const auto& [tenant, namespaces] : config_.tenancy.tenants) {
      const tenancy::TenantId id = tenancy::NamedTenant(config_, tenant).id;
      const bool here = std::ranges::any_of(view_.attachments,
                                            [&](const auto& a) { return a.attachment.tenant == tenant; });
      const bool elsewhere = std::ranges::any_of(
          view_.remotes, [&](const engine::RemoteView& r) { return r.remote.tenant == id; });
      if (here || elsewhere) continue;
      std::string list = Join(namespaces, ", ");
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
