#include "lib/kubelet/testing/device_manager.h"

#include <grpc/grpc.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "v1beta1/deviceplugin.grpc.pb.h"

namespace rail::kubelet::testing {
namespace {

constexpr auto kDialTime = std::chrono::seconds(10);  // the kubelet's
constexpr auto kLongest = std::chrono::seconds(30);   // of a call or a wait

std::string ToText(const grpc::Status& status) {
  static const std::map<grpc::StatusCode, std::string> names{
      {grpc::StatusCode::OK, "OK"},
      {grpc::StatusCode::CANCELLED, "CANCELLED"},
      {grpc::StatusCode::INVALID_ARGUMENT, "INVALID_ARGUMENT"},
      {grpc::StatusCode::FAILED_PRECONDITION, "FAILED_PRECONDITION"},
      {grpc::StatusCode::UNAVAILABLE, "UNAVAILABLE"}};
  const auto name = names.find(status.error_code());
  return (name == names.end() ? std::to_string(status.error_code()) : name->second) + ": " +
         status.error_message();
}

std::vector<Device> ToDevices(const v1beta1::ListAndWatchResponse& list) {
  std::vector<Device> devices;
  for (const v1beta1::Device& each : list.devices()) {
    Device& device = devices.emplace_back(Device{.id = each.id(), .healthy = each.health() == "Healthy"});
    if (each.topology().nodes_size() > 0) device.numa = static_cast<int>(each.topology().nodes(0).id());
  }
  return devices;
}

Allocation ToAllocation(const v1beta1::ContainerAllocateResponse& response) {
  Allocation allocation;
  allocation.envs = {response.envs().begin(), response.envs().end()};
  allocation.annotations = {response.annotations().begin(), response.annotations().end()};
  for (const auto& each : response.mounts())
    allocation.mounts.push_back({each.container_path(), each.host_path(), each.read_only()});
  for (const auto& each : response.devices())
    allocation.nodes.push_back({each.container_path(), each.host_path(), each.permissions()});
  for (const auto& each : response.cdi_devices()) allocation.cdi_names.push_back(each.name());
  return allocation;
}

// The connection to one plugin, and the thread that reads its lists.
struct Client {
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1beta1::DevicePlugin::Stub> stub;
  grpc::ClientContext context;  // of ListAndWatch
  Plugin plugin;
  std::thread reader;
};

}  // namespace

struct FakeDeviceManager::Parts final : v1beta1::Registration::Service {
  explicit Parts(std::string in) : folder(std::move(in)) {}

  grpc::Status Register(grpc::ServerContext*, const v1beta1::RegisterRequest* request,
                        v1beta1::Empty*) override {
    {
      const std::lock_guard lock(mutex);
      if (!refusal.empty()) return {grpc::StatusCode::UNKNOWN, refusal};
      if (request->version() != "v1beta1") return {grpc::StatusCode::UNKNOWN, "unsupported API version"};
    }
    const auto client = std::make_shared<Client>();
    client->plugin.resource = request->resource_name();
    client->plugin.preferred = request->options().get_preferred_allocation_available();
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    // A list of some 100 KB fills it when it is not read.
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 65535);
    client->channel = grpc::CreateCustomChannel("unix:" + folder + "/" + request->endpoint(),
                                                grpc::InsecureChannelCredentials(), arguments);
    if (!client->channel->WaitForConnected(std::chrono::system_clock::now() + kDialTime))
      return {grpc::StatusCode::UNKNOWN, "failed to dial device plugin"};
    client->stub = v1beta1::DevicePlugin::NewStub(client->channel);
    client->reader = std::thread([this, client = client.get()] { ReadLists(*client); });
    const std::lock_guard lock(mutex);
    auto& slot = clients[request->endpoint()];
    if (slot != nullptr) replaced.push_back(std::move(slot));
    slot = client;
    changed.notify_all();
    return grpc::Status::OK;
  }

  void ReadLists(Client& client) {
    const auto stream = client.stub->ListAndWatch(&client.context, v1beta1::Empty());
    v1beta1::ListAndWatchResponse list;
    for (;;) {
      std::unique_lock lock(mutex);
      client.plugin.waits = reading == Reading::kOff;
      changed.notify_all();
      changed.wait(lock, [this] { return reading == Reading::kOn; });
      client.plugin.waits = false;
      lock.unlock();
      if (!stream->Read(&list)) break;
      lock.lock();
      client.plugin.lists.push_back(ToDevices(list));
      changed.notify_all();
    }
    const grpc::Status status = stream->Finish();
    const std::lock_guard lock(mutex);
    client.plugin.ended = ToText(status);
    changed.notify_all();
  }

  std::shared_ptr<Client> Find(const std::string& endpoint) {
    const std::lock_guard lock(mutex);
    const auto found = clients.find(endpoint);
    return found == clients.end() ? nullptr : found->second;
  }

  template <class Response, class Ask>
  Result<Response> Call(const std::string& endpoint, const Ask& ask) {
    const auto client = Find(endpoint);
    if (client == nullptr) return Fail(Code::kNotFound, endpoint + " has not registered");
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kLongest);
    Response response;
    const grpc::Status status = ask(*client->stub, context, response);
    if (!status.ok()) return Fail(Code::kInvalid, ToText(status));
    return response;
  }

  const std::string folder;
  std::mutex mutex;
  std::condition_variable changed;
  std::string refusal;
  Reading reading = Reading::kOn;
  std::map<std::string, std::shared_ptr<Client>> clients;  // by endpoint
  std::vector<std::shared_ptr<Client>> replaced;
  std::unique_ptr<grpc::Server> server;
};

FakeDeviceManager::FakeDeviceManager(std::string folder)
    : folder_(std::move(folder)), parts_(std::make_unique<Parts>(folder_)) {
  Start();
}

FakeDeviceManager::~FakeDeviceManager() {
  Stop();
}

void FakeDeviceManager::Start() {
  // gRPC's last user waits for up to 10 s for its threads: so this process remains one.
  static const bool kept = (grpc_init(), true);
  (void)kept;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    if (!entry.is_directory() && entry.path().filename() != kCheckpoint)
      std::filesystem::remove(entry.path());
  }
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + socket(), grpc::InsecureServerCredentials());
  builder.RegisterService(parts_.get());
  parts_->server = builder.BuildAndStart();
}

void FakeDeviceManager::Stop() {
  if (parts_->server == nullptr) return;
  parts_->server->Shutdown(std::chrono::system_clock::now() + kLongest);
  parts_->server.reset();
  Read(Reading::kOn);
  auto gone = std::exchange(parts_->clients, {});
  for (auto& client : std::exchange(parts_->replaced, {}))
    gone.emplace("replaced " + std::to_string(gone.size()), client);
  for (const auto& [endpoint, client] : gone) {
    client->context.TryCancel();
    client->reader.join();
  }
}

void FakeDeviceManager::Refuse(std::string words) {
  const std::lock_guard lock(parts_->mutex);
  parts_->refusal = std::move(words);
}

void FakeDeviceManager::Read(Reading reading) {
  const std::lock_guard lock(parts_->mutex);
  parts_->reading = reading;
  parts_->changed.notify_all();
}

bool FakeDeviceManager::Waits(const std::string& endpoint, const std::function<bool(const Plugin&)>& is_so) {
  std::unique_lock lock(parts_->mutex);
  return parts_->changed.wait_for(lock, kLongest, [&] {
    const auto found = parts_->clients.find(endpoint);
    return found != parts_->clients.end() && is_so(found->second->plugin);
  });
}

Plugin FakeDeviceManager::Of(const std::string& endpoint) {
  const auto client = parts_->Find(endpoint);
  const std::lock_guard lock(parts_->mutex);
  return client == nullptr ? Plugin{} : client->plugin;
}

bool FakeDeviceManager::HearsGoodbye(const std::string& endpoint) {
  return parts_->Find(endpoint)->channel->WaitForStateChange(GRPC_CHANNEL_READY,
                                                             std::chrono::system_clock::now() + kLongest);
}

Result<std::vector<Allocation>> FakeDeviceManager::Allocate(
    const std::string& endpoint, const std::vector<std::vector<std::string>>& containers) {
  v1beta1::AllocateRequest request;
  for (const auto& ids : containers)
    request.add_container_requests()->mutable_devices_ids()->Assign(ids.begin(), ids.end());
  RAIL_ASSIGN(const auto response,
              parts_->Call<v1beta1::AllocateResponse>(endpoint, [&](auto& stub, auto& context, auto& into) {
                return stub.Allocate(&context, request, &into);
              }));
  std::vector<Allocation> allocations;
  for (const auto& each : response.container_responses()) allocations.push_back(ToAllocation(each));
  return allocations;
}

Result<std::vector<std::string>> FakeDeviceManager::Prefer(const std::string& endpoint,
                                                           const std::vector<std::string>& available,
                                                           const std::vector<std::string>& must_include,
                                                           int size) {
  v1beta1::PreferredAllocationRequest request;
  auto& container = *request.add_container_requests();
  container.mutable_available_deviceids()->Assign(available.begin(), available.end());
  container.mutable_must_include_deviceids()->Assign(must_include.begin(), must_include.end());
  container.set_allocation_size(size);
  RAIL_ASSIGN(const auto response, parts_->Call<v1beta1::PreferredAllocationResponse>(
                                       endpoint, [&](auto& stub, auto& context, auto& into) {
                                         return stub.GetPreferredAllocation(&context, request, &into);
                                       }));
  if (response.container_responses_size() != 1) return Fail(Code::kInternal, "not one answer");
  const auto& ids = response.container_responses(0).deviceids();
  return std::vector<std::string>(ids.begin(), ids.end());
}

Result<Options> FakeDeviceManager::GetOptions(const std::string& endpoint) {
  RAIL_ASSIGN(const auto response, parts_->Call<v1beta1::DevicePluginOptions>(
                                       endpoint, [&](auto& stub, auto& context, auto& into) {
                                         return stub.GetDevicePluginOptions(&context, {}, &into);
                                       }));
  return Options{response.pre_start_required(), response.get_preferred_allocation_available()};
}

}  // namespace rail::kubelet::testing
