// What is sent from a pod by hand, and what arrives in one, by the marks that frames carry: the eyes of a check, open before anything is sent.
//
// Use:      RAIL_ASSIGN(const auto eyes, Watch::Open(agent, {"net1"}, {mark}));   // returns when the sockets are open
//           RAIL_TRY(SendRounds(from, {frame}, 20));
//           eyes->WaitFor(0, 20, patience);                                       // until 20 frames with the first mark have come
//           eyes->Counts()[0].frames()
// Threads:  one; a thread of its own reads
// Owns:     the call and the thread
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cmd/railctl/accept/stage.h"

namespace rail::accept {

// All frames, `rounds` times. Errors: those of asking its agent.
Status SendRounds(const Port& from, const std::vector<std::string>& frames, uint32_t rounds);

class Watch {
 public:
  using Count = v1::WatchFramesResponse::Count;

  // Errors: the agent does not answer, or may not open the sockets.
  static Result<std::unique_ptr<Watch>> Open(const PodAgent& agent,
                                             const std::vector<std::string>& interfaces,
                                             const std::vector<std::string>& marks);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Whether `frames` with the mark have come by then, and the call still lives.
  bool WaitFor(size_t mark, uint64_t frames, Milliseconds patience);
  // Returns when nothing has come for that long, after ten times as long at the latest.
  void Settle(Milliseconds quiet);
  std::vector<Count> Counts();
  // Why the call has ended; nothing: it goes on.
  Status Alive();

 private:
  explicit Watch(std::string whom) : whom_(std::move(whom)) {}
  void Read();

  const std::string whom_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::WatchFramesResponse>> reader_;
  std::mutex mutex_;
  std::condition_variable changed_;
  v1::WatchFramesResponse newest_;  // guarded by mutex_
  Status ended_;                    // guarded by mutex_
  std::thread thread_;
};

}  // namespace rail::accept
