// The thread that publishes what raild's parts know. What changes while it publishes is published next, all together.
//
// Use:      PublishWorker publisher(std::move(store), node_status, [&] { ... });
//           RAIL_TRY(publisher.Open());  publisher.Start();  node_status.Changed();  ...  publisher.Stop();
// Threads:  Start and Stop by one
// Owns:     its thread, its connection to the record
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "cmd/raild/workers/worker.h"
#include "lib/engine/repair/node_status.h"

namespace rail::raild {

class PublishWorker {
 public:
  // Takes the place of what NodeStatus::OnChange was given before.
  // `published`: called after each, on the thread.
  PublishWorker(std::unique_ptr<state::Store> store, engine::NodeStatus& node_status,
                std::function<void()> published);

  Status Open() { return worker_.Open(); }
  // Publishes once, then after each change.
  void Start();
  void Stop() { worker_.Stop(); }
  event::Loop& loop() { return worker_.loop(); }

 private:
  void Publish();

  const std::unique_ptr<state::Store> store_;
  engine::RecordReader record_;
  engine::NodeStatus& node_status_;
  const std::function<void()> published_;
  std::atomic<bool> due_ = false;
  Worker worker_;  // last: its thread ends first
};

}  // namespace rail::raild
