// A request of the runtime: the environment and the network configuration, validated.
//
// Threads:  values
// Source:   CNI SPEC.md 1.1.0 section 2 (parameters), section 1 (configuration); reference skel for the order
// of checks
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lib/cni/error.h"

namespace rail::cni {

// The pod's identity, from CNI_ARGS. The runtime and Multus write these keys after everything that a pod can
// influence, and the last duplicate wins. No other key of CNI_ARGS is read.
struct PodIdentity {
  std::string pod_namespace;  // K8S_POD_NAMESPACE
  std::string name;           // K8S_POD_NAME
  std::string uid;            // K8S_POD_UID
};

struct Request {
  std::string command;            // "ADD", ...
  std::string container_id;       // validated; "" for GC and STATUS
  std::string netns;              // a path; may be "" for DEL
  std::string ifname;             // validated, but for DEL
  std::string args;               // CNI_ARGS as received
  std::vector<std::string> path;  // CNI_PATH
  PodIdentity pod;

  // DEL is called with any configuration, also with none that can be read.
  std::string cni_version;                       // of the configuration; one that we support (DEL: any text)
  std::string network;                           // "name", validated (DEL: "" where it is not known)
  std::string config_text;                       // stdin as received
  std::shared_ptr<const nlohmann::json> config;  // the same, parsed; an object (DEL: {} where it is none)
  std::shared_ptr<const nlohmann::json> prev_result;  // null when absent

  // Top-level "deviceID": the only place from which a device is taken. "" when absent.
  std::string device_id;
};

// "K=V;K=V" split at the first '='; empty pairs are skipped; the last duplicate wins.
std::map<std::string, std::string> ParseArgs(const std::string& args);

}  // namespace rail::cni
