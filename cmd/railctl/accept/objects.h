// The objects of a run in Kubernetes. In the namespace of each tenant a Job whose pod only waits owns all else, so that its end is the
// end of all.
//
// Use:      const json job = JobObject(look);   ... its uid ...   SecretObject(uid, certificates), PodObject(uid, "gpu-1", look)
// Threads:  pure functions
// Source:   batch/v1 Job (activeDeadlineSeconds, ttlSecondsAfterFinished: Kubernetes 1.21), Kubernetes, "Garbage Collection" (owners)
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cmd/railctl/accept/authority.h"
#include "cmd/railctl/accept/casting.h"

namespace rail::accept {

// Of the namespaces of manifests/accept, one a tenant.
constexpr const char* kSpaces[kTenants] = {"railcni-accept-a", "railcni-accept-b"};
constexpr const char* kMark =
    "railcni.io/accept";  // the label of all: "agent", "churn" of pods that come and go, or "run" of the Job and its pod
constexpr const char* kJob = "run";  // the name of the Job
constexpr int kAgentPort = 9500;

// As the pod has it in which railctl runs.
struct Image {
  std::string name;
  std::string pull_policy;
};

nlohmann::json JobObject(const Image& image, std::chrono::seconds lifetime);
// What makes a Job last so long from its start on: a merge patch.
nlohmann::json LifetimePatch(std::chrono::seconds lifetime);

struct Owner {
  std::string uid;  // of the Job

  std::string SecretName() const { return "certificates-" + uid.substr(0, uid.find('-')); }
};
nlohmann::json SecretObject(const Owner& owner, const Certificates& certificates);
// The pod has the node's name.
nlohmann::json PodObject(const Owner& owner, const Image& image, const std::string& node,
                         const std::vector<Network>& networks);

// As PodObject, and it does nothing. Its name begins with churn-.
nlohmann::json ChurnPodObject(const Owner& owner, const Image& image, const std::string& node,
                              const std::vector<Network>& networks);

// What a pod waits for; "": it is ready.
std::string Missing(const nlohmann::json& pod);
// Whether it will not be ready any more.
bool HasFailed(const nlohmann::json& pod);
// Where its agent listens.
std::string AgentOf(const nlohmann::json& pod);

}  // namespace rail::accept
