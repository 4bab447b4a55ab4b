#include "lib/inspect/requests.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "lib/base/text.h"

namespace rail::inspect {
namespace {

// "": it is of no rail.
std::string RailOf(const std::string& id, const pcie::Machine& machine, const engine::NodeView& view) {
  const std::string address = pcie::PciAddressIn(id);
  if (const pcie::Nic* nic = machine.FindNic(address)) return nic->rail;
  for (const engine::RailView& rail : view.rails) {
    for (const config::DeviceEntry& entry : rail.rail.devices) {
      if (entry.device == id || entry.device == address) return rail.rail.name;
    }
  }
  return {};
}

}  // namespace

std::vector<Request> RequestsOnRails(const std::vector<pcie::PodDevices>& pods, const pcie::Machine& machine,
                                     const engine::NodeView& view) {
  std::map<std::tuple<std::string, std::string, std::string>, Request> all;
  const auto of = [&](const std::string& pod_namespace, const std::string& pod,
                      const std::string& rail) -> Request& {
    Request& request = all[{pod_namespace, pod, rail}];
    request.pod_namespace = pod_namespace;
    request.pod = pod;
    request.rail = rail;
    return request;
  };
  for (const pcie::PodDevices& pod : pods) {
    for (const pcie::PodDevices::Device& device : pod.devices) {
      const std::string rail = RailOf(device.id, machine, view);
      if (rail.empty()) continue;
      Request& request = of(pod.pod_namespace, pod.pod, rail);
      request.resource = device.resource;
      request.devices.push_back(device.id);
    }
    for (const engine::AttachmentView& shown : view.attachments) {
      const state::Attachment& a = shown.attachment;
      if (a.pod_namespace == pod.pod_namespace && a.pod_name == pod.pod && a.phase != state::Phase::kDeleting)
        ++of(a.pod_namespace, a.pod_name, a.rail).interfaces;
    }
  }
  std::vector<Request> requests;
  for (auto& [key, request] : all) requests.push_back(std::move(request));
  return requests;
}

std::string WithoutNetwork(const Request& request) {
  if (request.devices.size() <= request.interfaces) return {};
  std::string devices = Join(request.devices, ", ");
  const std::string has = request.interfaces == 0 ? "no interface"
                                                  : fmt::format("{} of {} interfaces", request.interfaces,
                                                                request.devices.size());
  return fmt::format("the kubelet has given it {} ({}), and it has {} on {}", request.resource, devices, has,
                     request.rail);
}

std::string NetworkRemedy(const Request& request) {
  return fmt::format(
      "name the network of {} in the pod's annotation `k8s.v1.cni.cncf.io/networks` (of a Deployment or Job: "
      "spec.template.metadata.annotations); if it is named there, `kubectl describe pod` says why Multus has "
      "not attached it",
      request.rail);
}

}  // namespace rail::inspect
