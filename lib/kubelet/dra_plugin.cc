#include "lib/kubelet/dra_plugin.h"

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <list>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "dra/v1/dra.grpc.pb.h"
#include "dra/v1beta1/dra.grpc.pb.h"
#include "dra_health/v1/health.grpc.pb.h"
#include "dra_health/v1alpha1/health.grpc.pb.h"
#include "lib/base/socket_file.h"
#include "lib/base/thread.h"
#include "lib/base/utf8.h"
#include "lib/kubelet/watches.h"
#include "pluginregistration/v1/registration.grpc.pb.h"

namespace rail::kubelet {
namespace {

namespace apis = ::k8s::io::kubelet::pkg::apis::dra;
namespace dra = apis::v1;
namespace reg = ::pluginregistration;
using Call = grpc::CallbackServerContext;
using Reactor = grpc::ServerUnaryReactor;
using HealthList = ::v1::NodeWatchResourcesResponse;

constexpr std::chrono::milliseconds kLongestCall{45'000};  // the kubelet's
constexpr int kAnswerTime = 5;                             // s that Stop leaves to calls under way
constexpr size_t kLongestMessage = 1024;                   // bytes that the kubelet takes

// Work on claims: kMostCalls at a time, in the order of their arrival, and one at a time for each claim.
class Turns {
 public:
  using Work = std::function<void(bool in_time)>;

  Status Start() {
    for (int i = 0; i < DraPlugin::kMostCalls; ++i) {
      RAIL_ASSIGN(std::thread thread, StartThread([this] { Run(); }));
      threads_.push_back(std::move(thread));
    }
    return {};
  }
  void Add(std::string uid, Deadline until, Work work) {
    const std::lock_guard lock(mutex_);
    jobs_.push_back({std::move(uid), until, std::move(work)});
    changed_.notify_all();
  }
  void Stop() {
    const std::lock_guard lock(mutex_);
    stage_ = Stage::kStopping;
  }
  ~Turns() {
    {
      const std::lock_guard lock(mutex_);
      stage_ = Stage::kEnded;
      changed_.notify_all();
    }
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  struct Job {
    std::string uid;
    Deadline until;
    Work work;
  };

  void Run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      auto next = jobs_.end();
      changed_.wait(lock, [&] {
        next = std::ranges::find_if(jobs_, [this](const Job& job) { return !taken_.contains(job.uid); });
        return next != jobs_.end() || stage_ == Stage::kEnded;
      });
      if (next == jobs_.end()) return;
      Job job = std::move(*next);
      jobs_.erase(next);
      taken_.insert(job.uid);
      const bool in_time = stage_ == Stage::kServing && Clock::now() < job.until;
      lock.unlock();
      job.work(in_time);
      job.work = nullptr;  // the last of a call answers it
      lock.lock();
      taken_.erase(job.uid);
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Job> jobs_;
  std::set<std::string> taken_;  // uids of claims under way
  enum class Stage { kServing, kStopping, kEnded } stage_ = Stage::kServing;
  std::vector<std::thread> threads_;
};

Deadline UntilOf(const Call& call) {
  const gpr_timespec until = call.raw_deadline();
  const std::chrono::milliseconds left(gpr_time_to_millis(gpr_time_sub(until, gpr_now(until.clock_type))));
  return After(std::min(left, kLongestCall));
}

// Both calls of both versions: an answer for each claim, in an entry of its own.
template <class Request, class Response, class Answer>
Reactor* AnswerEach(Turns& turns, Call& call, const Request& request, Response& response,
                    const Answer& answer) {
  // The call is answered when nobody has it any more.
  const std::shared_ptr<Reactor> reactor(call.DefaultReactor(),
                                         [](Reactor* each) { each->Finish(grpc::Status::OK); });
  auto& entries = *response.mutable_claims();
  for (const auto& claim : request.claims()) entries[claim.uid()];  // all, before any is written
  const Deadline until = UntilOf(call);
  for (const auto& claim : request.claims()) {
    const auto work = [reactor, until, answer, entry = &entries.at(claim.uid()),
                       name = ClaimName{claim.namespace_(), claim.name(), claim.uid()}](bool in_time) {
      entry->Clear();
      const Status done =
          in_time
              ? answer(name, until, *entry)
              : Fail(Code::kBusy, "claim " + name.pod_namespace + "/" + name.name +
                                      " waits for a call before, or raild stops: the kubelet will ask again");
      if (!done) entry->set_error(ValidUtf8(done.error().message));
    };
    turns.Add(claim.uid(), until, work);
  }
  return reactor.get();
}

// Of one version.
template <class Base>
class Claims final : public Base {
 public:
  Claims(Turns& turns, const DraPlugin::Answers& answers) : turns_(turns), answers_(answers) {}

  Reactor* NodePrepareResources(Call* call, const dra::NodePrepareResourcesRequest* request,
                                dra::NodePrepareResourcesResponse* response) override {
    const auto prepare = [this](const ClaimName& claim, Deadline until, auto& entry) -> Status {
      RAIL_ASSIGN(const auto devices, answers_.prepare(claim, until));
      for (const PreparedDevice& each : devices) {
        dra::Device& device = *entry.add_devices();
        device.add_request_names(each.device.request.substr(0, each.device.request.find('/')));
        device.set_pool_name(each.device.pool);
        device.set_device_name(each.device.device);
        device.mutable_cdi_device_ids()->Assign(each.cdi_names.begin(), each.cdi_names.end());
      }
      return {};
    };
    return AnswerEach(turns_, *call, *request, *response, prepare);
  }

  Reactor* NodeUnprepareResources(Call* call, const dra::NodeUnprepareResourcesRequest* request,
                                  dra::NodeUnprepareResourcesResponse* response) override {
    const auto unprepare = [this](const ClaimName& claim, Deadline until, auto&) {
      return answers_.unprepare(claim, until);
    };
    return AnswerEach(turns_, *call, *request, *response, unprepare);
  }

 private:
  Turns& turns_;
  const DraPlugin::Answers& answers_;
};

std::string MessageOf(const DeviceHealth& health) {
  std::string message = ValidUtf8(health.message);
  if (message.size() <= kLongestMessage) return message;
  size_t end = kLongestMessage;
  while ((static_cast<unsigned char>(message[end]) & 0xC0) == 0x80) --end;  // inside a character
  return message.substr(0, end);
}

std::shared_ptr<const HealthList> ToMessage(const std::vector<DeviceHealth>& devices) {
  auto list = std::make_shared<HealthList>();
  for (const DeviceHealth& each : devices) {
    ::v1::DeviceHealth& health = *list->add_devices();
    health.mutable_device()->set_pool_name(each.pool);
    health.mutable_device()->set_device_name(each.device);
    health.set_health(static_cast<::v1::HealthStatus>(each.health));
    health.set_last_updated_time(each.since);
    health.set_message(MessageOf(each));
  }
  return list;
}

// Of one version.
template <class Base>
class HealthService final : public Base {
 public:
  explicit HealthService(Watches<HealthList>& watches) : watches_(watches) {}
  grpc::ServerWriteReactor<HealthList>* NodeWatchResources(Call* call,
                                                           const ::v1::NodeWatchResourcesRequest*) override {
    return watches_.Open(*call);
  }

 private:
  Watches<HealthList>& watches_;
};

// It waits for nothing: the kubelet leaves a second to GetInfo.
class Registration final : public reg::Registration::CallbackService {
 public:
  Registration(const DraPlugin::Options& options, const std::function<void()>& registered)
      : options_(options), registered_(registered) {}

  Reactor* GetInfo(Call* call, const reg::InfoRequest*, reg::PluginInfo* info) override {
    info->set_type("DRAPlugin");
    info->set_name(options_.driver);
    info->set_endpoint(options_.socket);
    for (const char* version :
         {"v1.DRAPlugin", "v1beta1.DRAPlugin", "v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth"})
      info->add_supported_versions(version);
    return Done(*call);
  }

  Reactor* NotifyRegistrationStatus(Call* call, const reg::RegistrationStatus* status,
                                    reg::RegistrationStatusResponse*) override {
    const bool taken = status->plugin_registered();
    {
      const std::lock_guard lock(mutex_);
      problem_ = taken ? "" : "the kubelet refuses driver " + options_.driver + ": " + status->error();
    }
    if (taken) registered_();
    return Done(*call);
  }

  std::string problem() const {
    const std::lock_guard lock(mutex_);
    return problem_;
  }

 private:
  static Reactor* Done(Call& call) {
    auto* reactor = call.DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  const DraPlugin::Options options_;
  const std::function<void()>& registered_;
  mutable std::mutex mutex_;
  std::string problem_ = "the kubelet has not come to " + options_.registration_socket +
                         " yet: is that folder its plugins_registry?";
};

}  // namespace

struct DraPlugin::Parts {
  Parts(SocketFile dra_file, SocketFile registration_file, const Options& options, Answers given)
      : file(std::move(dra_file)),
        registration_socket(std::move(registration_file)),
        answers(std::move(given)),
        registration(options, answers.registered) {}

  std::optional<SocketFile> file;  // none: stopped
  std::optional<SocketFile> registration_socket;
  const Answers answers;
  Turns turns;
  Watches<HealthList> health{"the DRA driver"};
  Claims<dra::DRAPlugin::CallbackService> claims{turns, answers};
  Claims<apis::v1beta1::DRAPlugin::CallbackService> claims_beta{turns, answers};
  HealthService<::v1::DRAResourceHealth::CallbackService> health_service{health};
  HealthService<::v1alpha1::DRAResourceHealth::CallbackService> health_alpha{health};
  Registration registration;
  std::unique_ptr<grpc::Server> server;
};

DraPlugin::DraPlugin(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

DraPlugin::~DraPlugin() {
  Stop();
}

Result<std::unique_ptr<DraPlugin>> DraPlugin::Start(const Options& options, Answers answers) {
  const std::string doing = "serve driver " + options.driver + " to the kubelet";
  const std::string& name = options.registration_socket;
  if (name.starts_with('/') && ::access(name.substr(0, name.rfind('/') + 1).c_str(), W_OK) != 0)
    return FailErrno(errno, doing + " on " + name);
  RAIL_ASSIGN_AS(SocketFile file, SocketFile::Prepare(options.socket), doing);
  RAIL_ASSIGN_AS(SocketFile registration, SocketFile::Prepare(options.registration_socket), doing);
  auto parts = std::make_unique<Parts>(std::move(file), std::move(registration), options, std::move(answers));
  RAIL_TRY_AS(parts->turns.Start(), doing);
  grpc::ServerBuilder builder;
  for (const auto* each : {&parts->file, &parts->registration_socket})
    builder.AddListeningPort("unix:" + (*each)->bind_path(), grpc::InsecureServerCredentials());
  builder.RegisterService(&parts->claims);
  builder.RegisterService(&parts->claims_beta);
  builder.RegisterService(&parts->health_service);
  builder.RegisterService(&parts->health_alpha);
  builder.RegisterService(&parts->registration);
  parts->server = builder.BuildAndStart();
  if (parts->server == nullptr) return Fail(Code::kInternal, doing + ": gRPC does not start");
  std::unique_ptr<DraPlugin> plugin(new DraPlugin(std::move(parts)));  // stops the server, should this fail
  RAIL_TRY_AS(plugin->parts_->file->Publish(""), doing);  // first: who finds the registration calls it
  RAIL_TRY_AS(plugin->parts_->registration_socket->Publish(""), doing);
  return plugin;
}

void DraPlugin::PublishHealth(const std::vector<DeviceHealth>& devices) {
  parts_->health.Publish(ToMessage(devices));
}

std::string DraPlugin::problem() const {
  return parts_->registration.problem();
}

bool DraPlugin::IsReachable() const {
  return parts_->file && parts_->file->IsThere() && parts_->registration_socket->IsThere();
}

void DraPlugin::Stop() {
  parts_->registration_socket.reset();
  parts_->file.reset();
  parts_->health.End();
  parts_->turns.Stop();
  parts_->server->Shutdown(
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_seconds(kAnswerTime, GPR_TIMESPAN)));
}

}  // namespace rail::kubelet
