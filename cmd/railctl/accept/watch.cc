#include "cmd/railctl/accept/watch.h"

namespace rail::accept {

Status SendRounds(const Port& from, const std::vector<std::string>& frames, uint32_t rounds) {
  v1::SendFramesRequest request;
  request.set_interface(from.ifname);
  request.set_rounds(rounds);
  for (const std::string& frame : frames) request.add_frames(frame);
  RAIL_TRY(Ask(*from.agent->stub, &v1::AcceptAgent::Stub::SendFrames, request, from.agent->Whom()));
  return {};
}

Result<std::unique_ptr<Watch>> Watch::Open(const PodAgent& agent, const std::vector<std::string>& interfaces,
                                           const std::vector<std::string>& marks) {
  std::unique_ptr<Watch> watch(new Watch(agent.Whom()));
  v1::WatchFramesRequest request;
  request.mutable_interfaces()->Add(interfaces.begin(), interfaces.end());
  request.mutable_marks()->Add(marks.begin(), marks.end());
  watch->reader_ = agent.stub->WatchFrames(&watch->context_, request);
  watch->thread_ = std::thread([self = watch.get()] { self->Read(); });
  std::unique_lock lock(watch->mutex_);
  const bool answered = watch->changed_.wait_for(
      lock, kShort, [&] { return watch->newest_.counts_size() > 0 || !watch->ended_; });
  if (!watch->ended_) return tl::make_unexpected(watch->ended_.error());
  if (!answered) return Fail(Code::kTransient, agent.Whom() + " does not open its sockets");
  lock.unlock();
  return watch;
}

Watch::~Watch() {
  context_.TryCancel();
  if (thread_.joinable()) thread_.join();
}

void Watch::Read() {
  v1::WatchFramesResponse answer;
  while (reader_->Read(&answer)) {
    const std::lock_guard lock(mutex_);
    newest_ = answer;
    changed_.notify_all();
  }
  const Status ended = ToStatus(reader_->Finish(), whom_);
  const std::lock_guard lock(mutex_);
  ended_ = ended ? Fail(Code::kTransient, whom_ + " has ended the watch") : ended;
  changed_.notify_all();
}

bool Watch::WaitFor(size_t mark, uint64_t frames, Milliseconds patience) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [&] {
    return newest_.counts(static_cast<int>(mark)).frames() >= frames || !ended_;
  }) && ended_.has_value();
}

void Watch::Settle(Milliseconds quiet) {
  std::unique_lock lock(mutex_);
  for (int i = 0; i < 10 && changed_.wait_for(lock, quiet) == std::cv_status::no_timeout; ++i) {
  }
}

std::vector<Watch::Count> Watch::Counts() {
  const std::lock_guard lock(mutex_);
  return {newest_.counts().begin(), newest_.counts().end()};
}

Status Watch::Alive() {
  const std::lock_guard lock(mutex_);
  return ended_;
}

}  // namespace rail::accept
