// GPUs and NICs of the node, whose they are, what the kubelet has given to pods, and which are badly paired; what a pod's NCCL is to be told.
//
// Use:      const Machinery seen = LookAtMachinery(config, hardware, After(1s));
//           RAIL_ASSIGN(const LibsAnswer answer, AskLibs({"ml", "train-0", ""}, *view, config, hardware, After(2s)));
// Threads:  any
// Source:   lib/pcie and lib/kubelet (their README.md)
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/engine/view.h"
#include "lib/pcie/libs.h"
#include "lib/pcie/pairs.h"

namespace rail::inspect {

// Where the hardware is read. What is empty is not read.
struct Hardware {
  std::string sysfs;   // "/sys"
  std::string nvidia;  // "/proc/driver/nvidia"
  // The folders of pods' library files: "/run/railcni/libs".
  std::string libraries;
  // As kubelet::ListPodDevices.
  std::function<Result<std::vector<pcie::PodDevices>>(Deadline)> pods;
  // As kubelet::ListAllocatable.
  std::function<Result<pcie::ResourceDevices>(Deadline)> allocatable;
};

using GpusOfPods = std::map<pcie::PodName, std::vector<std::string>>;

struct Machinery {
  pcie::Machine machine;
  std::vector<pcie::PodDevices> pods;  // as the kubelet says; {}: it does not answer, or there is none
  pcie::ResourceDevices allocatable;   // for the doctor alone; {}: as above
  Result<GpusOfPods> gpus_of_pods = GpusOfPods();  // none on a node without GPUs
};
Machinery LookAtMachinery(const config::NodeConfig& config, const Hardware& hardware, Deadline until);

struct LibsQuestion {
  std::string pod_namespace;  // "": any, when one pod alone has the name
  std::string pod;
  libs::Version version;
};

struct LibsAnswer {
  libs::Pod pod;
  std::vector<libs::Setting> settings;
  std::vector<std::string> problems;
  std::string topology;  // "": nothing of the pod is on PCIe
};

// Errors: kNotFound no pod of the name has an attachment here, or its namespace is gone; kInvalid several pods have the name; of the look
// into the namespace.
Result<LibsAnswer> AskLibs(const LibsQuestion& question, const engine::NodeView& view,
                           const config::NodeConfig& config, const Hardware& hardware, Deadline until);

// The attachment's interface, as the sysfs of the pod's namespace shows it.
libs::Port PortOf(const sriov::Sysfs& inside, const config::Rail& rail, const state::Attachment& a);

// Which GIDs of the attachment's addresses are not where its library files below `libraries` have them (libs::MovedGids). {}: none, or
// there are no such files. Errors: of the look into the namespace.
Result<std::vector<std::string>> LookAtGids(const std::string& libraries, const config::Rail& rail,
                                            const state::Attachment& a);

}  // namespace rail::inspect
