// raild's watch over bgpd.
//
// Use:      BgpWorker worker(config, deps, std::move(store), picture, {.learned = ..., .right_again = ...});
//           RAIL_TRY(worker.Open());  worker.Start();   worker.Stop();
// Threads:  the events are called on the worker's thread
// Owns:     its thread and its connection to the record
#pragma once

#include <functional>
#include <memory>

#include "cmd/raild/worker.h"
#include "lib/engine/repair_bgp.h"

namespace rail::raild {

class BgpWorker {
 public:
  struct Events {
    std::function<void()> learned;  // the picture holds something new from BGP
    std::function<void()>
        right_again;  // after a round in which the configuration came right that had failed before
  };
  BgpWorker(const config::NodeConfig& config, const engine::Deps& deps, std::unique_ptr<state::Store> store,
            engine::Picture& picture, Events events);

  Status Open() { return worker_.Open(); }
  void Start();  // every worker is open by then: they call each other
  void Stop() { worker_.Stop(); }

 private:
  void Audit();
  void Poll();

  const std::unique_ptr<state::Store> store_;
  engine::BgpRepair repair_;
  const Events events_;
  Worker worker_;  // last: its thread ends first
};

}  // namespace rail::raild
