// The thread that reads the counters of uplinks and attachments: at each tick of a timer, or without `bursts` in node.json when the
// sampler says (each second while somebody asks, else each 10 s).
//
// Use:      PortsWorker ports(config, views, paths.sysfs);  RAIL_TRY(ports.Open());  ports.Start();  ...  ports.Stop();
// Threads:  Open, Start and Stop by one; sampler(): any
// Owns:     the timer and the sampler
#pragma once

#include "cmd/raild/workers/worker.h"
#include "lib/base/fd.h"
#include "lib/counters/sampler.h"

namespace rail::raild {

class PortsWorker {
 public:
  PortsWorker(const config::NodeConfig& config, const engine::ViewPublisher& views, const std::string& sysfs)
      : config_(config), sampler_(config, views, sysfs) {}

  // Errors: kTransient the kernel gives no timer or no socket.
  Status Open();
  void Start();
  void Stop() { worker_.Stop(); }
  event::Loop& loop() { return worker_.loop(); }
  const counters::Sampler& sampler() const { return sampler_; }

 private:
  void Tick();
  void TickAtItsPace();

  const config::NodeConfig& config_;
  counters::Sampler sampler_;
  Fd timer_;
  bool failing_ = false;
  Worker worker_;  // last: its thread ends first
};

}  // namespace rail::raild
