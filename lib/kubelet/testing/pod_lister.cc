#include "lib/kubelet/testing/pod_lister.h"

#include <grpcpp/grpcpp.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "v1/podresources.grpc.pb.h"

namespace rail::kubelet::testing {
namespace {

void Claim(const Given& given, v1::ContainerResources& container) {
  v1::DynamicResource& claim = *container.add_dynamic_resources();
  claim.set_claim_name("devices");
  claim.set_claim_namespace(given.pod_namespace);
  for (const std::string& id : given.ids) {
    v1::ClaimResource& device = *claim.add_claim_resources();
    device.add_cdi_devices()->set_name("k8s." + given.resource + "/claim=" + id);
    if (given.resource.empty()) continue;
    device.set_driver_name(given.resource);
    device.set_pool_name("node1");
    device.set_device_name(id);
  }
}

class Service final : public v1::PodResourcesLister::Service {
 public:
  Service(std::vector<Given> allocations, std::optional<pcie::ResourceDevices> allocatable)
      : allocations_(std::move(allocations)), allocatable_(std::move(allocatable)) {}
  grpc::Status List(grpc::ServerContext*, const v1::ListPodResourcesRequest*,
                    v1::ListPodResourcesResponse* response) override {
    for (const Given& each : allocations_) {
      v1::PodResources& pod = *response->add_pod_resources();
      pod.set_name(each.pod);
      pod.set_namespace_(each.pod_namespace);
      v1::ContainerResources& container = *pod.add_containers();
      container.set_name("main");
      if (each.claim) {
        Claim(each, container);
        *pod.add_containers() = container;
        continue;
      }
      v1::ContainerDevices& devices = *container.add_devices();
      devices.set_resource_name(each.resource);
      for (const std::string& id : each.ids) devices.add_device_ids(id);
    }
    return grpc::Status::OK;
  }
  grpc::Status GetAllocatableResources(grpc::ServerContext*, const v1::AllocatableResourcesRequest*,
                                       v1::AllocatableResourcesResponse* response) override {
    if (!allocatable_) return {grpc::StatusCode::UNIMPLEMENTED, "unknown method"};
    for (const auto& [resource, ids] : *allocatable_) {
      for (const std::string& id : ids) {
        v1::ContainerDevices& one = *response->add_devices();
        one.set_resource_name(resource);
        one.add_device_ids(id);
      }
    }
    return grpc::Status::OK;
  }

 private:
  std::vector<Given> allocations_;
  std::optional<pcie::ResourceDevices> allocatable_;
};

}  // namespace

struct PodLister::Parts {
  Parts(std::vector<Given> allocations, std::optional<pcie::ResourceDevices> allocatable)
      : service(std::move(allocations), std::move(allocatable)) {}
  Service service;
  std::unique_ptr<grpc::Server> server;
};

PodLister::PodLister(std::vector<Given> allocations, std::optional<pcie::ResourceDevices> allocatable)
    : parts_(std::make_unique<Parts>(std::move(allocations), std::move(allocatable))) {
  std::string pattern = (std::filesystem::temp_directory_path() / "railcni-kubelet-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    std::perror("make a folder for a test");
    std::abort();
  }
  socket_ = pattern + "/kubelet.sock";
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + socket_, grpc::InsecureServerCredentials());
  builder.RegisterService(&parts_->service);
  parts_->server = builder.BuildAndStart();
}

PodLister::~PodLister() {
  parts_->server->Shutdown();
  std::error_code ignored;
  std::filesystem::remove_all(std::filesystem::path(socket_).parent_path(), ignored);
}

}  // namespace rail::kubelet::testing
