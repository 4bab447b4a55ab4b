#include "lib/kubelet/podresources.h"

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "v1/podresources.grpc.pb.h"

namespace rail::kubelet {
namespace {

// A node has some hundred pods; the kubelet's own clients allow as much.
constexpr int kLargestAnswer = 16 << 20;  // bytes

// Containers of a pod may share a claim.
void AddClaimed(const v1::ContainerResources& container, std::vector<pcie::PodDevices::Device>& devices) {
  for (const v1::DynamicResource& claim : container.dynamic_resources()) {
    for (const v1::ClaimResource& given : claim.claim_resources()) {
      const pcie::PodDevices::Device device{given.driver_name(), given.device_name()};
      if (!device.resource.empty() && std::ranges::count(devices, device) == 0) devices.push_back(device);
    }
  }
}

using Stub = v1::PodResourcesLister::Stub;

template <class Request, class Response>
Result<Response> Ask(const std::string& doing, const std::string& socket, Deadline until,
                     grpc::Status (Stub::*call)(grpc::ClientContext*, const Request&, Response*)) {
  if (::access(socket.c_str(), F_OK) != 0) return FailErrno(errno, doing);
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kLargestAnswer);
  const auto channel =
      grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments);
  const auto stub = v1::PodResourcesLister::NewStub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + (until - Clock::now()));
  Response response;
  const grpc::Status status = (stub.get()->*call)(&context, Request(), &response);
  if (status.ok()) return response;
  const bool is_known = status.error_code() != grpc::StatusCode::UNIMPLEMENTED;
  return Fail(is_known ? Code::kTransient : Code::kUnsupported, doing + ": " + status.error_message());
}

}  // namespace

Result<std::vector<pcie::PodDevices>> ListPodDevices(const std::string& socket, Deadline until) {
  RAIL_ASSIGN(const auto response,
              Ask("ask the kubelet for the devices of pods at " + socket, socket, until, &Stub::List));
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
      AddClaimed(container, found.devices);
    }
  }
  return pods;
}

Result<pcie::ResourceDevices> ListAllocatable(const std::string& socket, Deadline until) {
  RAIL_ASSIGN(const auto response, Ask("ask the kubelet for all devices at " + socket, socket, until,
                                       &Stub::GetAllocatableResources));
  pcie::ResourceDevices all;
  for (const v1::ContainerDevices& devices : response.devices()) {
    std::vector<std::string>& ids = all[devices.resource_name()];
    ids.insert(ids.end(), devices.device_ids().begin(), devices.device_ids().end());
  }
  return all;
}

}  // namespace rail::kubelet
