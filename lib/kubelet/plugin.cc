#include "lib/kubelet/plugin.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "lib/base/socket_file.h"
#include "lib/kubelet/watches.h"
#include "v1beta1/deviceplugin.grpc.pb.h"

namespace rail::kubelet {
namespace {

constexpr int kAnswerTime = 5;  // s that Stop leaves to calls under way

using Ids = std::vector<std::string>;
using List = v1beta1::ListAndWatchResponse;

std::shared_ptr<const List> ToMessage(const std::vector<Device>& devices) {
  auto list = std::make_shared<List>();
  for (const Device& each : devices) {
    v1beta1::Device& device = *list->add_devices();
    device.set_id(each.id);
    device.set_health(each.healthy ? "Healthy" : "Unhealthy");
    if (each.numa) device.mutable_topology()->add_nodes()->set_id(*each.numa);
  }
  return list;
}

void ToMessage(const Allocation& allocation, v1beta1::ContainerAllocateResponse& response) {
  response.mutable_envs()->insert(allocation.envs.begin(), allocation.envs.end());
  response.mutable_annotations()->insert(allocation.annotations.begin(), allocation.annotations.end());
  for (const Mount& each : allocation.mounts) {
    v1beta1::Mount& mount = *response.add_mounts();
    mount.set_container_path(each.container_path);
    mount.set_host_path(each.host_path);
    mount.set_read_only(each.read_only);
  }
  for (const DeviceNode& each : allocation.nodes) {
    v1beta1::DeviceSpec& node = *response.add_devices();
    node.set_container_path(each.container_path);
    node.set_host_path(each.host_path);
    node.set_permissions(each.permissions);
  }
  for (const std::string& each : allocation.cdi_names) response.add_cdi_devices()->set_name(each);
}

template <class Texts>
Ids Sorted(const Texts& texts) {
  Ids ids(texts.begin(), texts.end());
  std::ranges::sort(ids, IsBefore);
  return ids;
}

// The devices on the list, and the calls of ListAndWatch.
class Offer {
 public:
  Offer() { Publish({}); }

  void Publish(const std::vector<Device>& devices) {
    const std::lock_guard lock(mutex_);
    devices_ = devices;
    watches_.Publish(ToMessage(devices));
  }

  grpc::ServerWriteReactor<List>* Open(grpc::CallbackServerContext& call) { return watches_.Open(call); }
  void End() { watches_.End(); }

  // Whether all devices of `request` can be given away.
  grpc::Status Check(const v1beta1::AllocateRequest& request) const {
    const std::lock_guard lock(mutex_);
    std::set<std::string_view> ids;
    for (const auto& container : request.container_requests()) {
      for (const std::string& id : container.devices_ids()) {
        if (!ids.insert(id).second)
          return {grpc::StatusCode::INVALID_ARGUMENT,
                  "the request has device " + id + " twice: report a bug of the kubelet"};
        const auto device = std::ranges::find(devices_, id, &Device::id);
        if (device == devices_.end())
          return {grpc::StatusCode::INVALID_ARGUMENT,
                  "device " + id + " is not on this plugin's list, or not any more: create the pod anew"};
        if (!device->healthy)
          return {grpc::StatusCode::FAILED_PRECONDITION, "device " + id + " is unhealthy (" + device->reason +
                                                             "): mend that, then create the pod anew"};
      }
    }
    return grpc::Status::OK;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Device> devices_;
  Watches<List> watches_{"the device plugin"};
};

// Allocate may take a while, so it runs on threads of this server and not on those that all servers of the process share.
class Service final
    : public v1beta1::DevicePlugin::WithCallbackMethod_ListAndWatch<v1beta1::DevicePlugin::Service> {
 public:
  Service(Offer& offer, Answers answers) : offer_(offer), answers_(std::move(answers)) {}

  grpc::Status GetDevicePluginOptions(grpc::ServerContext*, const v1beta1::Empty*,
                                      v1beta1::DevicePluginOptions* response) override {
    response->set_get_preferred_allocation_available(true);
    return grpc::Status::OK;
  }

  grpc::ServerWriteReactor<List>* ListAndWatch(grpc::CallbackServerContext* call,
                                               const v1beta1::Empty*) override {
    return offer_.Open(*call);
  }

  grpc::Status Allocate(grpc::ServerContext*, const v1beta1::AllocateRequest* request,
                        v1beta1::AllocateResponse* response) override {
    if (const grpc::Status status = offer_.Check(*request); !status.ok()) return status;
    for (const auto& container : request->container_requests()) {
      const auto allocation = answers_.allocate(Sorted(container.devices_ids()));
      if (!allocation) return {grpc::StatusCode::FAILED_PRECONDITION, allocation.error().message};
      ToMessage(*allocation, *response->add_container_responses());
    }
    return grpc::Status::OK;
  }

  grpc::Status GetPreferredAllocation(grpc::ServerContext*,
                                      const v1beta1::PreferredAllocationRequest* request,
                                      v1beta1::PreferredAllocationResponse* response) override {
    for (const auto& container : request->container_requests()) {
      const Ids preferred =
          Preferred(Sorted(container.available_deviceids()), Sorted(container.must_include_deviceids()),
                    static_cast<size_t>(std::max(container.allocation_size(), 0)));
      response->add_container_responses()->mutable_deviceids()->Assign(preferred.begin(), preferred.end());
    }
    return grpc::Status::OK;
  }

 private:
  // An error here would cost the pod, for advice alone.
  Ids Preferred(const Ids& available, const Ids& must_include, size_t size) const {
    Ids chosen = answers_.prefer(available, must_include, size);
    const std::set<std::string_view> distinct(chosen.begin(), chosen.end());
    const auto is_chosen = [&](const std::string& id) { return distinct.contains(id); };
    const auto is_offered = [&](const std::string& id) {
      return std::ranges::find(available, id) != available.end() ||
             std::ranges::find(must_include, id) != must_include.end();
    };
    if (chosen.size() == size && distinct.size() == size && std::ranges::all_of(must_include, is_chosen) &&
        std::ranges::all_of(chosen, is_offered)) {
      return chosen;
    }
    Ids first = must_include;
    for (const std::string& id : available) {
      if (first.size() >= size) break;
      if (std::ranges::find(must_include, id) == must_include.end()) first.push_back(id);
    }
    return first;
  }

  Offer& offer_;
  const Answers answers_;
};

}  // namespace

struct DevicePlugin::Parts {
  Parts(SocketFile socket, Answers answers) : file(std::move(socket)), service(offer, std::move(answers)) {}

  std::optional<SocketFile> file;  // none: stopped
  Offer offer;
  Service service;
  std::unique_ptr<grpc::Server> server;
};

DevicePlugin::DevicePlugin(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

DevicePlugin::~DevicePlugin() {
  Stop();
}

Result<std::unique_ptr<DevicePlugin>> DevicePlugin::Start(const std::string& socket, Answers answers) {
  const std::string doing = "serve a device plugin on " + socket;
  if (socket.starts_with('/') && ::access(socket.substr(0, socket.rfind('/') + 1).c_str(), W_OK) != 0)
    return FailErrno(errno, doing);
  RAIL_ASSIGN(SocketFile file, SocketFile::Prepare(socket));
  auto parts = std::make_unique<Parts>(std::move(file), std::move(answers));
  grpc::ResourceQuota quota("device plugin");
  quota.SetMaxThreads(kMostCalls + 1);  // one waits for the next call
  grpc::ServerBuilder builder;
  builder.SetResourceQuota(quota);
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 1);
  builder.AddListeningPort("unix:" + parts->file->bind_path(), grpc::InsecureServerCredentials());
  builder.RegisterService(&parts->service);
  parts->server = builder.BuildAndStart();
  if (parts->server == nullptr) return Fail(Code::kInternal, doing + ": gRPC does not start");
  RAIL_TRY(parts->file->Publish(""));
  return std::unique_ptr<DevicePlugin>(new DevicePlugin(std::move(parts)));
}

void DevicePlugin::Publish(const std::vector<Device>& devices) {
  parts_->offer.Publish(devices);
}

bool DevicePlugin::IsReachable() const {
  return parts_->file && parts_->file->IsThere();
}

void DevicePlugin::Stop() {
  parts_->file.reset();
  parts_->offer.End();
  parts_->server->Shutdown(
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_seconds(kAnswerTime, GPR_TIMESPAN)));
}

}  // namespace rail::kubelet
