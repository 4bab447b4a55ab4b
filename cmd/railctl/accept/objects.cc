#include "cmd/railctl/accept/objects.h"

#include <map>
#include <nlohmann/json.hpp>

#include "lib/base/text.h"
#include "lib/kubernetes/objects.h"
#include "lib/kubernetes/resource_api.h"

namespace rail::accept {
namespace {

using kubernetes::At;
using kubernetes::FindCondition;
using kubernetes::TextAt;
using nlohmann::json;

constexpr const char* kFolder = "/run/accept";  // of the certificates in a pod
constexpr const char* kRaild = "/run/railcni";

json Owned(const Owner& owner, const std::string& name, const char* mark = "agent") {
  return {{"name", name},
          {"labels", {{kMark, mark}}},
          {"ownerReferences", json::array({{{"apiVersion", "batch/v1"},
                                            {"kind", "Job"},
                                            {"name", kJob},
                                            {"uid", owner.uid},
                                            {"blockOwnerDeletion", false}}})}};
}

// A quantity of each resource, and what the agent itself takes.
json Resources(const std::vector<Network>& networks) {
  std::map<std::string, int> devices;
  for (const Network& network : networks) ++devices[network.resource];
  json limits = json::object();
  for (const auto& [resource, count] : devices) limits[resource] = std::to_string(count);
  json requests = limits;
  requests.update({{"cpu", "50m"}, {"memory", "64Mi"}});
  return {{"limits", std::move(limits)}, {"requests", std::move(requests)}};
}

json Container(const Image& image) {
  json container = {{"name", "agent"}, {"image", image.name}};
  if (!image.pull_policy.empty()) container["imagePullPolicy"] = image.pull_policy;
  return container;
}

// Which does nothing.
json Sleeper(const Image& image) {
  json container = Container(image);
  container.update({{"command", {"sleep", "infinity"}},
                    {"securityContext",
                     {{"runAsUser", 65534},
                      {"readOnlyRootFilesystem", true},
                      {"allowPrivilegeEscalation", false},
                      {"capabilities", {{"drop", {"ALL"}}}}}}});
  return container;
}

std::string File(const char* name) {
  return std::string(kFolder) + "/" + name;
}

json AgentContainer(const Image& image, const std::vector<Network>& networks) {
  json container = Container(image);
  container.update(
      {{"command",
        {"/usr/bin/railctl", "accept", "agent", "--listen", "$(POD_IP):" + std::to_string(kAgentPort),
         "--raild", std::string("unix:") + kRaild + "/raild.sock", "--ca-file", File("ca.crt"), "--cert-file",
         File("tls.crt"), "--key-file", File("tls.key")}},
       {"env",
        json::array({{{"name", "POD_IP"}, {"valueFrom", {{"fieldRef", {{"fieldPath", "status.podIP"}}}}}}})},
       {"readinessProbe", {{"tcpSocket", {{"port", kAgentPort}}}, {"periodSeconds", 1}}},
       {"resources", Resources(networks)},
       // NET_RAW: frames made by hand. IPC_LOCK: RDMA pins memory.
       {"securityContext",
        {{"runAsUser", 0},
         {"readOnlyRootFilesystem", true},
         {"allowPrivilegeEscalation", false},
         {"capabilities", {{"drop", {"ALL"}}, {"add", {"NET_RAW", "IPC_LOCK"}}}}}},
       {"volumeMounts", json::array({{{"name", "certificates"}, {"mountPath", kFolder}, {"readOnly", true}},
                                     {{"name", "raild"}, {"mountPath", kRaild}, {"readOnly", true}}})}});
  return container;
}

// On that node alone, whatever its taints.
json Affinity(const std::string& node) {
  const json term = {
      {"matchFields",
       json::array({{{"key", "metadata.name"}, {"operator", "In"}, {"values", json::array({node})}}})}};
  return {
      {"nodeAffinity",
       {{"requiredDuringSchedulingIgnoredDuringExecution", {{"nodeSelectorTerms", json::array({term})}}}}}};
}

json PodOn(const std::string& node, json metadata, const std::vector<Network>& networks, json container) {
  metadata["annotations"] = {{"k8s.v1.cni.cncf.io/networks", Join(networks, ",", &Network::name)}};
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", std::move(metadata)},
          {"spec",
           {{"restartPolicy", "Never"},
            {"automountServiceAccountToken", false},
            {"enableServiceLinks", false},
            {"tolerations", json::array({{{"operator", "Exists"}}})},
            {"affinity", Affinity(node)},
            {"containers", json::array({std::move(container)})}}}};
}

bool IsTrue(const json& condition) {
  return TextAt(condition, {"status"}) == "True";
}

std::string Why(const json& state) {
  std::string why = TextAt(state, {"reason"});
  if (const std::string message = TextAt(state, {"message"}); !message.empty()) Append(why, ": ", message);
  return why;
}

}  // namespace

json JobObject(const Image& image, std::chrono::seconds lifetime) {
  const json pod = {{"metadata", {{"labels", {{kMark, "run"}}}}},
                    {"spec",
                     {{"restartPolicy", "Never"},
                      {"automountServiceAccountToken", false},
                      {"enableServiceLinks", false},
                      {"terminationGracePeriodSeconds", 0},
                      {"containers", json::array({Sleeper(image)})}}}};
  return {{"apiVersion", "batch/v1"},
          {"kind", "Job"},
          {"metadata", {{"name", kJob}, {"labels", {{kMark, "run"}}}}},
          {"spec",
           {{"backoffLimit", 0},
            {"activeDeadlineSeconds", lifetime.count()},
            {"ttlSecondsAfterFinished", 0},
            {"template", pod}}}};
}

json LifetimePatch(std::chrono::seconds lifetime) {
  return {{"spec", {{"activeDeadlineSeconds", lifetime.count()}}}};
}

json SecretObject(const Owner& owner, const Certificates& certificates) {
  return {{"apiVersion", "v1"},
          {"kind", "Secret"},
          {"metadata", Owned(owner, owner.SecretName())},
          {"stringData",
           {{"ca.crt", certificates.ca},
            {"tls.crt", certificates.agents.cert},
            {"tls.key", certificates.agents.key}}}};
}

json PodObject(const Owner& owner, const Image& image, const std::string& node,
               const std::vector<Network>& networks) {
  json pod = PodOn(node, Owned(owner, node), networks, AgentContainer(image, networks));
  pod["spec"].update(
      {{"terminationGracePeriodSeconds", 5},
       // Where SELinux is on, raild's socket is closed to container_t.
       {"securityContext", {{"seLinuxOptions", {{"type", "spc_t"}, {"level", "s0"}}}}},
       {"volumes",
        json::array({{{"name", "certificates"},
                      {"secret", {{"secretName", owner.SecretName()}, {"defaultMode", 0400}}}},
                     {{"name", "raild"}, {"hostPath", {{"path", kRaild}, {"type", "Directory"}}}}})}});
  return pod;
}

json ChurnPodObject(const Owner& owner, const Image& image, const std::string& node,
                    const std::vector<Network>& networks) {
  json container = Sleeper(image);
  container["resources"] = Resources(networks);
  json pod = PodOn(node, Owned(owner, "churn-" + node, "churn"), networks, std::move(container));
  pod["spec"]["terminationGracePeriodSeconds"] = 1;  // 0: gone from the API before its DEL
  return pod;
}

std::string Missing(const json& pod) {
  const json& status = At(pod, {"status"});
  if (IsTrue(FindCondition(pod, "Ready"))) return "";
  if (HasFailed(pod)) {
    for (const json& container : At(status, {"containerStatuses"})) {
      const std::string why = Why(At(container, {"state", "terminated"}));
      if (!why.empty()) return "its agent ended: " + why;
    }
    return "it has failed: " + Why(status);
  }
  const json& scheduled = FindCondition(pod, "PodScheduled");
  if (!IsTrue(scheduled)) return "no node: " + (scheduled.is_null() ? "not looked at yet" : Why(scheduled));
  for (const json& container : At(status, {"containerStatuses"})) {
    const std::string why = Why(At(container, {"state", "waiting"}));
    if (!why.empty()) return why;
  }
  return "its agent is not ready";
}

bool HasFailed(const json& pod) {
  const std::string phase = TextAt(pod, {"status", "phase"});
  return phase == "Failed" || phase == "Succeeded";
}

std::string AgentOf(const json& pod) {
  const std::string address = TextAt(pod, {"status", "podIP"});
  const bool is_v6 = address.find(':') != std::string::npos;
  return (is_v6 ? "[" + address + "]" : address) + ":" + std::to_string(kAgentPort);
}

}  // namespace rail::accept
