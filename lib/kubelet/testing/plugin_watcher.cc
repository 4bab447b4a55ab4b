#include "lib/kubelet/testing/plugin_watcher.h"

#include <grpc/grpc.h>
#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <thread>
#include <utility>

#include "dra/v1/dra.grpc.pb.h"
#include "dra/v1beta1/dra.grpc.pb.h"
#include "dra_health/v1/health.grpc.pb.h"
#include "dra_health/v1alpha1/health.grpc.pb.h"
#include "lib/base/fd.h"
#include "pluginregistration/v1/registration.grpc.pb.h"

namespace rail::kubelet::testing {
namespace {

namespace apis = ::k8s::io::kubelet::pkg::apis::dra;
namespace dra = apis::v1;
using std::chrono::seconds;

// The kubelet's limits.
constexpr seconds kDialTime{10}, kInfoTime{1}, kNotifyTime{5};
constexpr const char* kName = "rail.railcni.io";

std::string ToText(const grpc::Status& status) {
  static const std::map<grpc::StatusCode, std::string> names{
      {grpc::StatusCode::OK, "OK"},
      {grpc::StatusCode::CANCELLED, "CANCELLED"},
      {grpc::StatusCode::DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED"},
      {grpc::StatusCode::UNAVAILABLE, "UNAVAILABLE"}};
  const auto name = names.find(status.error_code());
  return (name == names.end() ? std::to_string(status.error_code()) : name->second) + ": " +
         status.error_message();
}

std::shared_ptr<grpc::Channel> Dial(const std::string& socket) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // A list of some 100 KB fills it when it is not read.
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 65535);
  auto channel = grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments);
  return channel->WaitForConnected(std::chrono::system_clock::now() + kDialTime) ? channel : nullptr;
}

void Limit(grpc::ClientContext& context, seconds longest) {
  context.set_deadline(std::chrono::system_clock::now() + longest);
}

// What is kept of a registered driver.
struct Client {
  std::shared_ptr<grpc::Channel> channel;
  std::array<grpc::ClientContext, 2> contexts;  // of the health streams
  std::array<std::thread, 2> readers;
  Driver driver;
};

}  // namespace

struct PluginWatcher::Parts {
  explicit Parts(std::string in) : folder(std::move(in)) {}

  // Registers those that were there, and then, until it is told to stop, what appears. Creation and removal of a name are all that the
  // kubelet looks for.
  void Watch(const Fd& inotify, const std::vector<std::string>& there) {
    for (const std::string& name : there) Register(name);
    alignas(inotify_event) char buffer[4096];
    pollfd ready[2] = {{inotify.get(), POLLIN, 0}, {stop.get(), POLLIN, 0}};
    while (::poll(ready, 2, -1) > 0 && ready[1].revents == 0) {
      const ssize_t size = ::read(inotify.get(), buffer, sizeof buffer);
      for (ssize_t at = 0; at < size;) {
        const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
        at += static_cast<ssize_t>(sizeof *event + event->len);
        if ((event->mask & IN_DELETE) == 0) {
          Register(event->name);
        } else if (const auto client = Find(event->name)) {
          const std::lock_guard lock(mutex);
          client->driver.registered = false;
          changed.notify_all();
        }
      }
    }
  }

  void Register(const std::string& name) {
    if (name.starts_with(".") || !std::filesystem::is_socket(folder + "/plugins_registry/" + name)) return;
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return pace == Pace::kRuns || ending; });
    lock.unlock();
    while (!ending && !TryToRegister(name)) continue;  // each has its deadlines
  }

  // False: to be done again.
  bool TryToRegister(const std::string& name) {
    const auto channel = Dial(folder + "/plugins_registry/" + name);
    if (channel == nullptr) return true;  // nobody serves it
    const auto stub = pluginregistration::Registration::NewStub(channel);
    pluginregistration::PluginInfo info;
    {
      grpc::ClientContext context;
      Limit(context, kInfoTime);
      if (!stub->GetInfo(&context, {}, &info).ok()) return false;
    }
    const auto client = std::make_shared<Client>();
    client->driver = {.type = info.type(),
                      .name = info.name(),
                      .endpoint = info.endpoint(),
                      .versions = {info.supported_versions().begin(), info.supported_versions().end()}};
    const std::string problem = Take(name, client);
    grpc::ClientContext context;
    Limit(context, kNotifyTime);
    pluginregistration::RegistrationStatus status;
    status.set_plugin_registered(problem.empty());
    status.set_error(problem);
    pluginregistration::RegistrationStatusResponse response;
    if (!stub->NotifyRegistrationStatus(&context, status, &response).ok()) return false;
    const std::lock_guard lock(mutex);
    client->driver.registered = problem.empty();
    client->driver.refused = !problem.empty();
    changed.notify_all();
    return true;
  }

  // Why it is refused.
  std::string Take(const std::string& name, const std::shared_ptr<Client>& client) {
    Forget(name);
    Driver& driver = client->driver;
    {
      const std::lock_guard lock(mutex);
      clients[name] = client;
      if (!refusal.empty()) return refusal;
      if (driver.type != "DRAPlugin") return "no handler registered for plugin type: " + driver.type;
      const auto chosen = std::ranges::find_first_of(driver.versions, known);
      if (chosen == driver.versions.end()) return "none of the plugin's services are supported";
      driver.chosen = *chosen;
    }
    const auto channel = Dial(driver.endpoint);
    if (channel == nullptr) return "failed to dial " + driver.endpoint;
    const std::lock_guard lock(mutex);
    client->channel = channel;
    client->readers[0] = std::thread([this, client = client.get()] {
      ReadLists(*client, 0, ::v1::DRAResourceHealth::NewStub(client->channel));
    });
    client->readers[1] = std::thread([this, client = client.get()] {
      ReadLists(*client, 1, ::v1alpha1::DRAResourceHealth::NewStub(client->channel));
    });
    return "";
  }

  template <class Stub>
  void ReadLists(Client& client, size_t version, const Stub& stub) {
    const auto stream = stub->NodeWatchResources(&client.contexts[version], {});
    HealthStream& seen = client.driver.health[version];
    ::v1::NodeWatchResourcesResponse list;
    for (;;) {
      std::unique_lock lock(mutex);
      seen.opened = true;
      seen.waits = pace == Pace::kHangs;
      changed.notify_all();
      changed.wait(lock, [this] { return pace == Pace::kRuns || ending; });
      seen.waits = false;
      lock.unlock();
      if (!stream->Read(&list)) break;
      lock.lock();
      auto& devices = seen.lists.emplace_back();
      for (const ::v1::DeviceHealth& each : list.devices()) {
        devices.push_back({each.device().pool_name(), each.device().device_name(),
                           static_cast<Health>(each.health()), each.last_updated_time(), each.message()});
      }
      changed.notify_all();
    }
    const grpc::Status status = stream->Finish();
    const std::lock_guard lock(mutex);
    seen.ended = ToText(status);
    changed.notify_all();
  }

  void Forget(const std::string& name) {
    const auto client = Find(name);
    if (client == nullptr) return;
    for (auto& context : client->contexts) context.TryCancel();
    for (auto& reader : client->readers) {
      if (reader.joinable()) reader.join();
    }
    const std::lock_guard lock(mutex);
    clients.erase(name);
  }

  std::shared_ptr<Client> Find(const std::string& name) {
    const std::lock_guard lock(mutex);
    const auto found = clients.find(name);
    return found == clients.end() ? nullptr : found->second;
  }

  template <class Request, class Response, class Ask>
  Result<Answers> Call(const std::string& instance, const std::vector<ClaimName>& claims, seconds longest,
                       const Ask& ask) {
    const auto client = Find(NameOf(instance));
    if (client == nullptr || client->channel == nullptr)
      return Fail(Code::kNotFound, instance + " has not registered");
    Request request;
    for (const ClaimName& each : claims) {
      dra::Claim& claim = *request.add_claims();
      claim.set_namespace_(each.pod_namespace);
      claim.set_name(each.name);
      claim.set_uid(each.uid);
    }
    grpc::ClientContext context;
    Limit(context, longest);
    Response response;
    const grpc::Status status = ask(client->channel, context, request, response);
    if (!status.ok()) return Fail(Code::kInvalid, ToText(status));
    Answers answers;
    for (const auto& [uid, entry] : response.claims()) answers[uid] = ToAnswer(entry);
    return answers;
  }

  static Answer ToAnswer(const dra::NodeUnprepareResourceResponse& entry) { return {{}, entry.error()}; }
  static Answer ToAnswer(const dra::NodePrepareResourceResponse& entry) {
    Answer answer{{}, entry.error()};
    for (const dra::Device& each : entry.devices()) {
      answer.devices.push_back({{each.request_names_size() == 1 ? each.request_names(0) : "not one request",
                                 each.pool_name(), each.device_name()},
                                {each.cdi_device_ids().begin(), each.cdi_device_ids().end()}});
    }
    return answer;
  }

  static std::string NameOf(const std::string& instance) {
    return std::string(kName) + "-" + instance + "-reg.sock";
  }

  const std::string folder;
  std::mutex mutex;
  std::condition_variable changed;
  std::string refusal;
  std::vector<std::string> known{"v1.DRAPlugin", "v1beta1.DRAPlugin"};
  Pace pace = Pace::kRuns;
  std::atomic<bool> ending = false;
  std::map<std::string, std::shared_ptr<Client>> clients;  // by the name of the registration's socket
  Fd stop;
  std::thread watcher;
};

PluginWatcher::PluginWatcher(const std::string& folder) : parts_(std::make_unique<Parts>(folder)) {
  // gRPC's last user waits for up to 10 s for its threads: so this process remains one.
  static const bool kept = (grpc_init(), true);
  (void)kept;
  std::filesystem::create_directories(plugins());
  std::filesystem::create_directories(registry());
  Start();
}

PluginWatcher::~PluginWatcher() {
  Stop();
}

std::string PluginWatcher::plugins() const {
  return parts_->folder + "/plugins";
}

std::string PluginWatcher::registry() const {
  return parts_->folder + "/plugins_registry";
}

DraPlugin::Options PluginWatcher::OptionsFor(const std::string& instance) const {
  return {.driver = kName,
          .socket = plugins() + "/" + kName + "/" + instance + "-dra.sock",
          .registration_socket = registry() + "/" + Parts::NameOf(instance)};
}

void PluginWatcher::Start() {
  Fd inotify(::inotify_init1(IN_CLOEXEC));
  parts_->stop = Fd(::eventfd(0, EFD_CLOEXEC));
  if (!inotify || !parts_->stop ||
      ::inotify_add_watch(inotify.get(), registry().c_str(), IN_CREATE | IN_MOVED_TO | IN_DELETE) < 0) {
    std::perror("watch the folder of registrations");
    std::abort();
  }
  std::vector<std::string> there;
  for (const auto& entry : std::filesystem::directory_iterator(registry()))
    there.push_back(entry.path().filename());
  parts_->ending = false;
  parts_->watcher = std::thread([this, fd = std::move(inotify), there] { parts_->Watch(fd, there); });
}

void PluginWatcher::Stop() {
  if (!parts_->watcher.joinable()) return;
  {
    const std::lock_guard lock(parts_->mutex);
    parts_->ending = true;
    parts_->changed.notify_all();
  }
  ::eventfd_write(parts_->stop.get(), 1);
  parts_->watcher.join();
  while (!parts_->clients.empty()) parts_->Forget(std::string(parts_->clients.begin()->first));
}

void PluginWatcher::Refuse(std::string words) {
  const std::lock_guard lock(parts_->mutex);
  parts_->refusal = std::move(words);
}

void PluginWatcher::Know(std::vector<std::string> versions) {
  const std::lock_guard lock(parts_->mutex);
  parts_->known = std::move(versions);
}

void PluginWatcher::Set(Pace pace) {
  const std::lock_guard lock(parts_->mutex);
  parts_->pace = pace;
  parts_->changed.notify_all();
}

bool PluginWatcher::Waits(const std::string& instance, const std::function<bool(const Driver&)>& is_so) {
  std::unique_lock lock(parts_->mutex);
  return parts_->changed.wait_for(lock, kLongest, [&] {
    const auto found = parts_->clients.find(Parts::NameOf(instance));
    return found != parts_->clients.end() && is_so(found->second->driver);
  });
}

Driver PluginWatcher::Of(const std::string& instance) {
  const auto client = parts_->Find(Parts::NameOf(instance));
  const std::lock_guard lock(parts_->mutex);
  return client == nullptr ? Driver{} : client->driver;
}

bool PluginWatcher::HearsGoodbye(const std::string& instance) {
  const auto client = parts_->Find(Parts::NameOf(instance));
  return client->channel->WaitForStateChange(GRPC_CHANNEL_READY, std::chrono::system_clock::now() + kLongest);
}

Result<PluginWatcher::Answers> PluginWatcher::Prepare(const std::string& instance, Version version,
                                                      const std::vector<ClaimName>& claims, seconds longest) {
  return parts_->Call<dra::NodePrepareResourcesRequest, dra::NodePrepareResourcesResponse>(
      instance, claims, longest, [&](auto& channel, auto& context, auto& request, auto& into) {
        return version == Version::kV1
                   ? dra::DRAPlugin::NewStub(channel)->NodePrepareResources(&context, request, &into)
                   : apis::v1beta1::DRAPlugin::NewStub(channel)->NodePrepareResources(&context, request,
                                                                                      &into);
      });
}

Result<PluginWatcher::Answers> PluginWatcher::Unprepare(const std::string& instance, Version version,
                                                        const std::vector<ClaimName>& claims,
                                                        seconds longest) {
  return parts_->Call<dra::NodeUnprepareResourcesRequest, dra::NodeUnprepareResourcesResponse>(
      instance, claims, longest, [&](auto& channel, auto& context, auto& request, auto& into) {
        return version == Version::kV1
                   ? dra::DRAPlugin::NewStub(channel)->NodeUnprepareResources(&context, request, &into)
                   : apis::v1beta1::DRAPlugin::NewStub(channel)->NodeUnprepareResources(&context, request,
                                                                                        &into);
      });
}

}  // namespace rail::kubelet::testing
