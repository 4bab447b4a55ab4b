// Follows the state of every raild, and says of each what it has said last, or since when and why it does not answer. It spares raild: the
// first calls are spread, a node that fails is asked ever more rarely, and no two nodes in step.
//
// Use:      Followers followers(settings, loop, [&] { ...there are news, soon... });
//           RAIL_TRY(followers.Begin());
//           followers.Take(fleet, UnixMs());      // the news, into the fleet
//           followers.Stop();                     // after the loop's end
// Threads:  the loop's; ChannelOf: any
// Owns:     a connection to each raild
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "cmd/railfabric/backoff.h"
#include "cmd/railfabric/link.h"
#include "cmd/railfabric/settings.h"
#include "lib/event/loop.h"
#include "lib/fabric/fleet.h"
#include "lib/rpc/channel.h"

namespace rail::railfabric {

class Followers {
 public:
  // `news`: on the loop, when there is something to Take.
  Followers(const Settings& settings, event::Loop& loop, event::Callback news);
  ~Followers() { Stop(); }

  // Errors: those of the files for TLS.
  Status Begin();
  void Take(fabric::Fleet& fleet, int64_t now_ms);
  // Whether each node has answered or failed once.
  bool HasLookedAtAll() const { return looked_ == nodes_.size(); }
  // The connection to a node's raild; nullptr: it does not answer.
  std::shared_ptr<grpc::Channel> ChannelOf(const std::string& node) const;
  // Ends all calls. Safe to repeat.
  void Stop();

 private:
  struct Followed {
    NodeAddress address;
    Backoff backoff;
    std::shared_ptr<Link> link;  // nullptr: none is open
    bool looked = false;         // it has answered or failed once
    bool heard = false;          // this link has brought something
    std::string refused;         // why this link is given up: what it has brought makes no sense
    int64_t lost_ms =
        0;  // since when no link brings anything, of a node that was heard; 0: one does, or none ever has
  };

  void OpenAfter(size_t index, std::chrono::milliseconds wait);
  void Open(size_t index);
  void TakeResponse(Followed& node, News& news, fabric::Fleet& fleet, int64_t now_ms);
  void TakeEnd(size_t index, const grpc::Status& ended, fabric::Fleet& fleet, int64_t now_ms);
  void NoteLook(Followed& node);
  void Remember(const std::string& node, std::shared_ptr<grpc::Channel> channel);
  double Random() { return std::uniform_real_distribution<double>()(random_); }

  const Settings& settings_;
  event::Loop& loop_;
  Inbox inbox_;
  rpc::Way way_;
  std::vector<Followed> nodes_;
  size_t looked_ = 0;
  std::mt19937_64 random_{std::random_device()()};
  mutable std::mutex channels_mutex_;
  std::map<std::string, std::shared_ptr<grpc::Channel>> channels_;  // of nodes that answer
};

}  // namespace rail::railfabric
