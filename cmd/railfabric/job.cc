#include "cmd/railfabric/job.h"

#include <grpc/support/time.h>

#include <deque>
#include <mutex>
#include <set>
#include <unordered_set>
#include <utility>
#include <vector>

#include "lib/fabric/job.h"
#include "lib/rpc/server.h"
#include "rail/v1/node.grpc.pb.h"

namespace rail::railfabric {
namespace {

constexpr int kMostJobs = 2;              // at once, of all clients
constexpr size_t kMostNodes = 512;        // that are asked for one job
constexpr size_t kAtOnce = 16;            // of these
constexpr size_t kMostRemotes = 400'000;  // that are kept for one job: 120 MB
constexpr uint32_t kPage = 2'000;
constexpr int64_t kPatience = 5'000;  // ms for all of it

// A page of what one node has learned of one tenant.
struct Question {
  Question(std::string name, const std::shared_ptr<grpc::Channel>& channel, const std::string& tenant)
      : node(std::move(name)), stub(v1::Node::NewStub(channel)) {
    request.set_tenant(tenant);
    request.set_page_size(kPage);
  }
  std::string node;
  std::shared_ptr<v1::Node::Stub> stub;
  v1::ListRemotesRequest request;
};

struct Asked {
  explicit Asked(Question asked) : question(std::move(asked)) {}
  Question question;
  grpc::ClientContext context;
  v1::ListRemotesResponse response;
};

// What nobody could ask, or did not want to keep, is not known: its node is left out of what was learned.
class JobCall : public std::enable_shared_from_this<JobCall> {
 public:
  JobCall(grpc::CallbackServerContext* call, const v1::GetJobRequest& request, v1::GetJobResponse& response,
          const JobSources& sources)
      : call_(call),
        reactor_(call->DefaultReactor()),
        request_(request),
        response_(response),
        sources_(sources),
        until_(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(kPatience, GPR_TIMESPAN))) {}

  grpc::ServerUnaryReactor* Begin() {
    grpc::ServerUnaryReactor* const reactor = reactor_;  // Finish may come before the return
    std::vector<fabric::JobNode> nodes;
    const Status known = sources_.overview.Look([&](const Seen& seen) -> Status {
      RAIL_ASSIGN(response_, fabric::GetJob(seen.fleet, seen.grid, {}, request_));
      nodes = fabric::NodesOfJob(seen.fleet, request_);
      return {};
    });
    if (!known) {
      End(known);
      return reactor;
    }
    for (const v1::JobPod& pod : response_.pods())
      addresses_.insert(pod.addresses().begin(), pod.addresses().end());
    for (const fabric::JobNode& each : nodes) {
      const auto channel = learned_.size() < kMostNodes ? sources_.channel_of(each.node) : nullptr;
      if (channel == nullptr) continue;
      learned_[each.node] = {};
      for (const std::string& tenant : each.tenants) waiting_.emplace_back(each.node, channel, tenant);
    }
    Go();
    return reactor;
  }

 private:
  // Asks until enough is under way; answers when nothing is.
  void Go() {
    for (;;) {
      std::shared_ptr<Asked> asked;
      {
        const std::lock_guard lock(mutex_);
        if (!ended_ && call_->IsCancelled()) waiting_.clear();
        if (waiting_.empty() || under_way_ == kAtOnce) {
          if (under_way_ > 0 || std::exchange(ended_, true)) return;
          break;
        }
        asked = std::make_shared<Asked>(std::move(waiting_.front()));
        waiting_.pop_front();
        ++under_way_;
      }
      asked->context.set_deadline(until_);
      asked->question.stub->async()->ListRemotes(
          &asked->context, &asked->question.request, &asked->response,
          [self = shared_from_this(), asked](const grpc::Status& status) { self->Take(*asked, status); });
    }
    Answer();
  }

  void Take(Asked& asked, const grpc::Status& status) {
    {
      const std::lock_guard lock(mutex_);
      --under_way_;
      if (!status.ok() || remotes_ >= kMostRemotes) {
        unknown_.insert(asked.question.node);
      } else {
        Keep(asked);
      }
    }
    Go();
  }

  void Keep(Asked& asked) {
    std::vector<v1::Remote>& of_node = learned_[asked.question.node];
    for (v1::Remote& remote : *asked.response.mutable_remotes()) {
      if (!addresses_.contains(remote.address())) continue;
      remote.clear_as_path();
      remote.mutable_tenant()->clear_name();
      of_node.push_back(std::move(remote));
      ++remotes_;
    }
    if (asked.response.next_page_token().empty()) return;
    asked.question.request.set_page_token(asked.response.next_page_token());
    waiting_.push_front(std::move(asked.question));
  }

  void Answer() {
    for (const std::string& node : unknown_) learned_.erase(node);
    End(sources_.overview.Look([&](const Seen& seen) -> Status {
      RAIL_ASSIGN(response_, fabric::GetJob(seen.fleet, seen.grid, learned_, request_));
      return {};
    }));
  }

  // Nothing of the call or of the server is there any more after it.
  void End(const Status& done) {
    --sources_.under_way;
    reactor_->Finish(done ? grpc::Status::OK : rpc::ToGrpc(done.error()));
  }

  grpc::CallbackServerContext* const call_;
  grpc::ServerUnaryReactor* const reactor_;
  const v1::GetJobRequest& request_;
  v1::GetJobResponse& response_;
  const JobSources sources_;
  const gpr_timespec until_;
  std::unordered_set<std::string> addresses_;  // of the job's pods
  std::mutex mutex_;
  std::deque<Question> waiting_;
  size_t under_way_ = 0;
  size_t remotes_ = 0;
  bool ended_ = false;
  fabric::Learned learned_;
  std::set<std::string> unknown_;  // nodes
};

}  // namespace

grpc::ServerUnaryReactor* AnswerJob(grpc::CallbackServerContext* call, const v1::GetJobRequest& request,
                                    v1::GetJobResponse& response, const JobSources& sources) {
  if (++sources.under_way > kMostJobs) {
    --sources.under_way;
    grpc::ServerUnaryReactor* const reactor = call->DefaultReactor();
    reactor->Finish(
        {grpc::StatusCode::RESOURCE_EXHAUSTED, "too many jobs are asked for already: ask again in a moment"});
    return reactor;
  }
  return std::make_shared<JobCall>(call, request, response, sources)->Begin();
}

}  // namespace rail::railfabric
