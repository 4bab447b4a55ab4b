#include "cmd/raild/api/hardware.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "lib/base/utf8.h"
#include "lib/kubelet/podresources.h"

namespace rail::raild {
namespace {

v1::PcieRelation RelationOf(pcie::Relation relation) {
  switch (relation) {
    case pcie::Relation::kSameSwitch: return v1::SAME_SWITCH;
    case pcie::Relation::kSameRoot: return v1::SAME_ROOT_COMPLEX;
    case pcie::Relation::kSameSocket: return v1::SAME_SOCKET;
    case pcie::Relation::kOtherSocket: return v1::OTHER_SOCKET;
  }
  return v1::PCIE_RELATION_UNSPECIFIED;
}

std::string FromEnvironment(const char* name, const char* usual) {
  const char* value = std::getenv(name);
  return value == nullptr ? usual : value;
}

void Fill(v1::PciePath& message, const pcie::Path& path) {
  message.set_address(path.address);
  message.set_root(path.root);
  for (const std::string& bridge : path.bridges) message.add_bridges(bridge);
  if (path.numa_node) message.set_numa_node(*path.numa_node);
  if (path.socket) message.set_socket(*path.socket);
  message.set_link_speed(ValidUtf8(path.speed));
  message.set_link_width(path.width);
}

}  // namespace

inspect::Hardware RealHardware(const config::Paths& paths) {
  const std::string socket =
      FromEnvironment("RAILCNI_PODRESOURCES", "/var/lib/kubelet/pod-resources/kubelet.sock");
  return {.sysfs = paths.sysfs,
          .nvidia = FromEnvironment("RAILCNI_NVIDIA", "/proc/driver/nvidia"),
          .libraries = std::filesystem::path(paths.socket).parent_path() / "libs",
          .pods = [socket](Deadline until) { return kubelet::ListPodDevices(socket, until); },
          .allocatable = [socket](Deadline until) { return kubelet::ListAllocatable(socket, until); }};
}

v1::ListNicsResponse ToNics(const inspect::Machinery& seen, const engine::NodeView& view) {
  v1::ListNicsResponse response;
  for (const pcie::Nic& nic : seen.machine.nics) {
    v1::Nic& message = *response.add_nics();
    message.set_rail(nic.rail);
    message.set_pf(nic.netdev);
    message.set_rdma(ValidUtf8(nic.rdma));
    if (nic.path) Fill(*message.mutable_path(), *nic.path);
    for (const std::string& address : nic.vfs) {
      v1::Nic::Function& vf = *message.add_vfs();
      vf.set_address(address);
      const auto owner = std::ranges::find_if(
          view.attachments, [&](const engine::AttachmentView& a) { return a.attachment.device == address; });
      if (owner == view.attachments.end()) continue;
      vf.set_pod_namespace(ValidUtf8(owner->attachment.pod_namespace));
      vf.set_pod(ValidUtf8(owner->attachment.pod_name));
    }
    for (const pcie::Gpu& gpu : seen.machine.gpus) {
      if (!nic.path) continue;
      v1::Nic::Distance& distance = *message.add_gpus();
      distance.set_gpu(gpu.path.address);
      distance.set_relation(RelationOf(Relate(gpu.path, *nic.path)));
    }
  }
  return response;
}

v1::ListGpusResponse ToGpus(const inspect::Machinery& seen) {
  v1::ListGpusResponse response;
  if (!seen.gpus_of_pods) response.set_pods_problem(ValidUtf8(seen.gpus_of_pods.error().message));
  for (const pcie::Gpu& gpu : seen.machine.gpus) {
    v1::Gpu& message = *response.add_gpus();
    Fill(*message.mutable_path(), gpu.path);
    message.set_vendor(gpu.vendor);
    message.set_model(ValidUtf8(gpu.model));
    message.set_uuid(ValidUtf8(gpu.uuid));
    std::vector<const pcie::Nic*> nics;
    for (const pcie::Nic& nic : seen.machine.nics) {
      if (nic.path) nics.push_back(&nic);
    }
    std::ranges::stable_sort(nics, {}, [&](const pcie::Nic* nic) { return Relate(gpu.path, *nic->path); });
    for (const pcie::Nic* nic : nics) {
      v1::Gpu::Distance& distance = *message.add_nics();
      distance.set_rail(nic->rail);
      distance.set_nic(nic->path->address);
      distance.set_relation(RelationOf(Relate(gpu.path, *nic->path)));
    }
    if (!seen.gpus_of_pods) continue;
    for (const auto& [pod, gpus] : *seen.gpus_of_pods) {
      if (std::ranges::count(gpus, gpu.path.address) == 0) continue;
      if (!message.pod().empty()) {
        message.set_other_pods(message.other_pods() + 1);
        continue;
      }
      message.set_pod_namespace(ValidUtf8(pod.first));
      message.set_pod(ValidUtf8(pod.second));
    }
  }
  return response;
}

Result<inspect::LibsQuestion> ToQuestion(const v1::GetLibsRequest& request) {
  inspect::LibsQuestion question{.pod_namespace = request.namespace_(), .pod = request.pod(), .version = {}};
  RAIL_ASSIGN(question.version, libs::ParseVersion(request.version()));
  return question;
}

v1::GetLibsResponse ToMessage(const inspect::LibsAnswer& answer) {
  v1::GetLibsResponse response;
  for (const libs::Port& port : answer.pod.ports) {
    v1::LibsPort& message = *response.add_ports();
    message.set_ifname(ValidUtf8(port.ifname));
    message.set_rail(port.rail);
    message.set_rail_index(port.rail_index);
    message.set_plane(port.plane);
    message.set_pci_address(port.pci_address);
    if (port.rdma.empty()) continue;
    message.set_rdma(ValidUtf8(port.rdma));
    message.set_port(port.port);
    for (const libs::Gid& gid : port.gids) {
      v1::LibsPort::Gid& entry = *message.add_gids();
      entry.set_index(gid.index);
      entry.set_gid(gid.gid);
      entry.set_type(ValidUtf8(gid.type));
    }
  }
  for (const libs::Setting& setting : answer.settings) {
    v1::LibsSetting& message = *response.add_settings();
    message.set_name(setting.name);
    message.set_value(ValidUtf8(setting.value));
    message.set_reason(ValidUtf8(setting.reason));
    message.set_leave(setting.leave);
  }
  for (const std::string& problem : answer.problems) response.add_problems(ValidUtf8(problem));
  response.set_topology(ValidUtf8(answer.topology));
  for (const libs::File& file : libs::Files(answer.settings, answer.problems, answer.topology)) {
    v1::LibsFile& message = *response.add_files();
    message.set_name(file.name);
    message.set_text(ValidUtf8(file.text));
  }
  return response;
}

}  // namespace rail::raild
