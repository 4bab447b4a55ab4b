// The newest message of a kind, and the calls that follow it: a stream that opens gets it, and each that is published later. One that
// is not read gets the newest when it is, none between.
//
// Use:      Watches<v1beta1::ListAndWatchResponse> watches("the device plugin");   return watches.Open(*call);   // a reaction
//           watches.Publish(std::make_shared<const v1beta1::ListAndWatchResponse>(list));
// Threads:  any; a stream takes none
// Owns:     the message. A stream belongs to gRPC, which ends it: the server ends before this does
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace rail::kubelet {

// gRPC runs a reaction on another thread than the one that calls the reactor, so one lock is enough.
template <class Message>
class Watches {
 public:
  using Newest = std::shared_ptr<const Message>;

  explicit Watches(const std::string& who) : stopping_(grpc::StatusCode::UNAVAILABLE, who + " is stopping") {}

  void Publish(Newest message) {
    const std::lock_guard lock(mutex_);
    newest_ = std::move(message);
    for (Watch* watch : watches_) watch->Send(newest_);
  }

  grpc::ServerWriteReactor<Message>* Open(grpc::CallbackServerContext& call) {
    const std::lock_guard lock(mutex_);
    auto* watch = new Watch(*this, call);  // deletes itself in OnDone
    if (stage_ == Stage::kStopping) {
      watch->Close(stopping_);
    } else {
      watches_.insert(watch);
      watch->Send(newest_);
    }
    return watch;
  }

  // Each stream ends with UNAVAILABLE, or CANCELLED if a message is under way; so does one that opens later.
  void End() {
    const std::lock_guard lock(mutex_);
    stage_ = Stage::kStopping;
    for (Watch* watch : watches_) watch->End();
    watches_.clear();
  }

 private:
  // One call. All but its reactions are called with the lock held.
  class Watch final : public grpc::ServerWriteReactor<Message> {
   public:
    Watch(Watches& watches, grpc::CallbackServerContext& call) : watches_(watches), call_(call) {}

    void Send(Newest message) {
      next_ = std::move(message);
      Write();
    }
    void Close(const grpc::Status& status) {
      if (std::exchange(call_is_, Call::kEnded) == Call::kOpen) this->Finish(status);
    }
    void End() {
      if (writing_ == nullptr) return Close(watches_.stopping_);
      call_.TryCancel();  // the kubelet may never read what is under way
    }

    void OnWriteDone(bool ok) override {
      const std::lock_guard lock(watches_.mutex_);
      writing_.reset();
      if (ok) return Write();
      Close(grpc::Status::CANCELLED);
    }
    void OnCancel() override {
      const std::lock_guard lock(watches_.mutex_);
      Close(grpc::Status::CANCELLED);
    }
    void OnDone() override {
      {
        const std::lock_guard lock(watches_.mutex_);
        watches_.watches_.erase(this);
      }
      delete this;
    }

   private:
    void Write() {
      if (call_is_ == Call::kEnded || writing_ != nullptr || next_ == nullptr) return;
      writing_ = std::move(next_);
      this->StartWrite(writing_.get());
    }

    Watches& watches_;
    grpc::CallbackServerContext& call_;
    Newest writing_;
    Newest next_;  // replaced by the newest while a write is under way
    enum class Call { kOpen, kEnded } call_is_ = Call::kOpen;
  };

  const grpc::Status stopping_;
  std::mutex mutex_;
  Newest newest_;  // none: nothing was published
  std::set<Watch*> watches_;
  enum class Stage { kServing, kStopping } stage_ = Stage::kServing;
};

}  // namespace rail::kubelet
