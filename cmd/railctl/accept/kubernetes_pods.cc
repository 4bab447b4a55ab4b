#include "cmd/railctl/accept/kubernetes_pods.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/base/strict_json.h"
#include "lib/base/text.h"
#include "lib/kubernetes/objects.h"
#include "lib/kubernetes/resource_api.h"

namespace rail::accept {
namespace {

using kubernetes::AskFor;
using kubernetes::Client;
using kubernetes::ListObjects;
using kubernetes::Objects;
using kubernetes::TextAt;
using nlohmann::json;
using std::chrono::seconds;

constexpr seconds kAnswer{60};     // for one answer of the API server
constexpr seconds kReady{300};     // for pods to be ready
constexpr seconds kGone{120};      // for pods to be gone
constexpr seconds kComes{90};      // for one that comes and goes to be there
constexpr seconds kLifetime{180};  // of what nobody keeps alive
constexpr seconds kRenewal{60};
constexpr seconds kValid{86'400};  // the certificates of a run
constexpr size_t kMostNamed = 3;   // pods in one error
constexpr const char* kUserAgent = "railctl-accept";

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string JobPath(const std::string& space, const std::string& job) {
  return "/apis/batch/v1/namespaces/" + space + "/jobs" + (job.empty() ? "" : "/" + job);
}

std::string PodsPath(const std::string& space) {
  return "/api/v1/namespaces/" + space + "/pods";
}

// All of them, or those with an agent.
std::string OursPath(const std::string& space) {
  return PodsPath(space) + "?labelSelector=railcni.io%2Faccept";  // kMark
}

std::string AgentsPath(const std::string& space) {
  return OursPath(space) + "%3Dagent";
}

Result<json> Create(Client& client, const std::string& path, const json& object) {
  const std::string doing =
      "make the " + TextAt(object, {"kind"}) + " " + TextAt(object, {"metadata", "name"}) + " by " + path;
  return AskFor(client, {.method = "POST", .path = path, .body = DumpJson(object)}, doing, After(kAnswer));
}

// With all that it owns. Errors: none where there is no Job.
Status DeleteJob(Client& client, const std::string& space) {
  const auto answer = AskFor(
      client,
      {.method = "DELETE", .path = JobPath(space, kJob), .body = R"({"propagationPolicy":"Background"})"},
      "delete the Job " + std::string(kJob) + " of " + space, After(kAnswer));
  if (!answer && answer.error().code != Code::kNotFound) return tl::make_unexpected(answer.error());
  return {};
}

Status WaitUntilGone(Client& client, const std::string& space) {
  std::string left;
  const auto gone = kubernetes::WaitForObjects(client, OursPath(space), After(kGone),
                                               [&](const Objects& pods) -> Result<bool> {
                                                 left = Join(pods, ", ", &Objects::value_type::first);
                                                 return pods.empty();
                                               });
  if (!gone) return FailWrapped(gone.error(), "wait until pods of " + space + " are gone (" + left + ")");
  return {};
}

Status RemoveAll(Client& client) {
  Status all;
  const auto keep_first = [&](const Status& status) {
    if (all && !status) all = status;
  };
  for (const char* space : kSpaces) keep_first(DeleteJob(client, space));
  for (const char* space : kSpaces) keep_first(WaitUntilGone(client, space));
  return all;
}

// What the pods that are not ready wait for, some of them by name.
std::string Waiting(const Objects& pods, const std::string& space) {
  std::string text;
  size_t count = 0;
  for (const auto& [name, pod] : pods) {
    const std::string missing = Missing(pod);
    if (!missing.empty() && count++ < kMostNamed) Append(text, "; ", space + "/" + name + ": " + missing);
  }
  if (count > kMostNamed) text += "; and " + std::to_string(count - kMostNamed) + " more";
  return text;
}

}  // namespace

KubernetesPods::KubernetesPods(kubernetes::Endpoint endpoint)
    : endpoint_(std::move(endpoint)), client_(endpoint_, kUserAgent) {}

Result<std::unique_ptr<KubernetesPods>> KubernetesPods::Find(const Choice& choice) {
  const auto environment = kubernetes::Environment::OfProcess();
  if (environment.host.empty() || Variable("POD_NAME").empty() || Variable("POD_NAMESPACE").empty())
    return Fail(Code::kInvalid,
                "--kubernetes is for a pod of the cluster, with POD_NAME and POD_NAMESPACE: kubectl apply -k "
                "manifests/accept makes one");
  RAIL_ASSIGN(auto endpoint, kubernetes::FindEndpoint({}, environment));
  std::unique_ptr<KubernetesPods> found(new KubernetesPods(std::move(endpoint)));
  RAIL_TRY(found->Choose(choice));
  return found;
}

Status KubernetesPods::Choose(const Choice& choice) {
  RAIL_ASSIGN(image_, OwnImage());
  RAIL_ASSIGN(
      const auto definitions,
      ListObjects(client_, "/apis/k8s.cni.cncf.io/v1/network-attachment-definitions", After(kAnswer)));
  RAIL_ASSIGN(networks_, ChooseNetworks(definitions, choice.networks));
  RAIL_ASSIGN(const auto nodes, ListObjects(client_, "/api/v1/nodes", After(kAnswer)));
  RAIL_ASSIGN(nodes_, ChooseNodes(nodes, networks_, choice.nodes));
  return {};
}

Result<Image> KubernetesPods::OwnImage() {
  const std::string path = PodsPath(Variable("POD_NAMESPACE")) + "/" + Variable("POD_NAME");
  RAIL_ASSIGN(const json pod, AskFor(client_, {.path = path}, "read my own pod", After(kAnswer)));
  const json& containers = kubernetes::At(pod, {"spec", "containers"});
  if (!containers.is_array() || containers.empty())
    return Fail(Code::kInvalid, "read my own pod: it has no container");
  return Image{TextAt(containers.front(), {"image"}), TextAt(containers.front(), {"imagePullPolicy"})};
}

Result<Cast> KubernetesPods::Make(std::ostream& err) {
  const Deadline began = Clock::now();
  RAIL_ASSIGN(keeper_, Keeper::Start(
                           kRenewal,
                           [this, began] {
                             Client client(endpoint_, kUserAgent);
                             const auto age = std::chrono::ceil<seconds>(Clock::now() - began);
                             for (const char* space : kSpaces)
                               (void)client.Ask({.method = "PATCH",
                                                 .path = JobPath(space, kJob),
                                                 .body = DumpJson(LifetimePatch(age + kLifetime)),
                                                 .content_type = "application/merge-patch+json"});
                           },
                           [this] {
                             client_.Stop();
                             Client client(endpoint_, kUserAgent);
                             (void)RemoveAll(client);  // what is left goes at the end of its lifetime
                           }));
  auto cast = MakeAll(err);
  if (!cast) (void)Remove();
  return cast;
}

Result<Cast> KubernetesPods::MakeAll(std::ostream& err) {
  RAIL_ASSIGN(const Certificates certificates, MakeCertificates(kValid));
  RAIL_TRY_AS(RemoveAll(client_), "take away what an earlier run has left");
  err << "making " << nodes_.size() * kTenants << " pods in " << kSpaces[0] << " and " << kSpaces[1] << '\n';
  for (const char* space : kSpaces) RAIL_TRY(MakeObjects(space, certificates));
  Cast cast;
  cast.tls = {certificates.ca, certificates.asker.cert, certificates.asker.key, kAgentName};
  cast.churn = [this](uint32_t times) { return Churn(times); };
  for (const char* space : kSpaces) {
    RAIL_ASSIGN(const Objects pods, WaitUntilReady(space));
    for (const auto& [name, pod] : pods) {
      if (space == kSpaces[0]) cast.nodes.push_back({name, AgentOf(pod)});
      cast.pods.push_back({space, name, name, AgentOf(pod)});
    }
  }
  return cast;
}

Status KubernetesPods::MakeObjects(const std::string& space, const Certificates& certificates) {
  RAIL_ASSIGN(const json job, Create(client_, JobPath(space, ""), JobObject(image_, kLifetime)));
  const Owner owner{TextAt(job, {"metadata", "uid"})};
  if (space == kSpaces[0]) owner_ = owner;
  RAIL_TRY(Create(client_, "/api/v1/namespaces/" + space + "/secrets", SecretObject(owner, certificates)));
  for (const std::string& node : nodes_)
    RAIL_TRY(Create(client_, PodsPath(space), PodObject(owner, image_, node, networks_)));
  return {};
}

Result<Objects> KubernetesPods::WaitUntilReady(const std::string& space) {
  std::string waiting;
  const auto ready = [&](const Objects& pods) -> Result<bool> {
    waiting = Waiting(pods, space);
    if (std::ranges::any_of(pods, [](const auto& pod) { return HasFailed(pod.second); }))
      return Fail(Code::kTransient, "one has ended");
    return waiting.empty() && pods.size() == nodes_.size();
  };
  auto pods = kubernetes::WaitForObjects(client_, AgentsPath(space), After(kReady), ready);
  if (!pods)
    return FailWrapped(pods.error(), "wait for pods (" + waiting + "; `kubectl -n " + space +
                                         " get events` says more; --nodes names other nodes)");
  return pods;
}

Status KubernetesPods::Churn(uint32_t times) {
  return AskAll(nodes_.size(), [&](size_t i) -> Status {
    Client client(endpoint_, kUserAgent);
    for (uint32_t time = 0; time < times; ++time) RAIL_TRY(ComeAndGo(client, nodes_[i]));
    return {};
  });
}

Status KubernetesPods::ComeAndGo(Client& client, const std::string& node) const {
  const std::string space = kSpaces[0];
  const json pod = ChurnPodObject(owner_, image_, node, networks_);
  const std::string name = TextAt(pod, {"metadata", "name"});
  const std::string path = PodsPath(space) + "?fieldSelector=metadata.name%3D" + kubernetes::Escaped(name);
  RAIL_TRY(Create(client, PodsPath(space), pod));
  std::string waiting;
  const auto came =
      kubernetes::WaitForObjects(client, path, After(kComes), [&](const Objects& pods) -> Result<bool> {
        if (pods.empty()) return Fail(Code::kTransient, "somebody has deleted it");
        waiting = Missing(pods.begin()->second);
        if (HasFailed(pods.begin()->second)) return Fail(Code::kTransient, "it has ended");
        return waiting.empty();
      });
  RAIL_TRY(AskFor(client, {.method = "DELETE", .path = PodsPath(space) + "/" + name},
                  "delete pod " + space + "/" + name, After(kAnswer)));
  RAIL_TRY_AS(kubernetes::WaitForObjects(client, path, After(kGone),
                                         [](const Objects& pods) -> Result<bool> { return pods.empty(); }),
              "wait until pod " + space + "/" + name + " is gone");
  if (!came) return FailWrapped(came.error(), "wait for pod " + space + "/" + name + " (" + waiting + ")");
  return {};
}

Status KubernetesPods::Remove() {
  keeper_.reset();
  return RemoveAll(client_);
}

}  // namespace rail::accept
