#include "lib/kubelet/testing/pod_lister.h"

#include <grpcpp/grpcpp.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "v1/podresources.grpc.pb.h"

namespace rail::kubelet::testing {
namespace {

class Service final : public v1::PodResourcesLister::Service {
 public:
  explicit Service(std::vector<Given> allocations) : allocations_(std::move(allocations)) {}
  grpc::Status List(grpc::ServerContext*, const v1::ListPodResourcesRequest*,
                    v1::ListPodResourcesResponse* response) override {
    for (const Given& each : allocations_) {
      v1::PodResources& pod = *response->add_pod_resources();
      pod.set_name(each.pod);
      pod.set_namespace_(each.pod_namespace);
      v1::ContainerResources& container = *pod.add_containers();
      container.set_name("main");
      v1::ContainerDevices& devices = *container.add_devices();
      devices.set_resource_name(each.resource);
      for (const std::string& id : each.ids) devices.add_device_ids(id);
    }
    return grpc::Status::OK;
  }

 private:
  std::vector<Given> allocations_;
};

}  // namespace

struct PodLister::Parts {
  explicit Parts(std::vector<Given> allocations) : service(std::move(allocations)) {}
  Service service;
  std::unique_ptr<grpc::Server> server;
};

PodLister::PodLister(std::vector<Given> allocations)
    : parts_(std::make_unique<Parts>(std::move(allocations))) {
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
