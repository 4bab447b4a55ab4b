#include "lib/kubelet/podresources.h"

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <cerrno>

#include "v1/podresources.grpc.pb.h"

namespace rail::kubelet {
namespace {

// A node has some hundred pods; the kubelet's own clients allow as much.
constexpr int kLargestAnswer = 16 << 20;  // bytes

}  // namespace

Result<std::vector<pcie::PodDevices>> ListPodDevices(const std::string& socket, Deadline until) {
  const std::string doing = "ask the kubelet for the devices of pods at " + socket;
  if (::access(socket.c_str(), F_OK) != 0) return FailErrno(errno, doing);
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kLargestAnswer);
  const auto channel =
      grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments);
  const auto stub = v1::PodResourcesLister::NewStub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + (until - Clock::now()));
  v1::ListPodResourcesResponse response;
  const grpc::Status status = stub->List(&context, v1::ListPodResourcesRequest(), &response);
  if (!status.ok()) return Fail(Code::kTransient, doing + ": " + status.error_message());
  std::vector<pcie::PodDevices> pods;
  for (const v1::PodResources& pod : response.pod_resources()) {
    pcie::PodDevices& found = pods.emplace_back();
    found.pod_namespace = pod.namespace_();
    found.pod = pod.name();
    for (const v1::ContainerResources& container : pod.containers()) {
      for (const v1::ContainerDevices& devices : container.devices()) {
        for (const std::string& id : devices.device_ids())
          found.devices.push_back({devices.resource_name(), id});
      }
    }
  }
  return pods;
}

}  // namespace rail::kubelet
