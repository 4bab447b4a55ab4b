// A served board in a folder of its own, for tests of what goes over the socket.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "cmd/raild/service.h"
#include "lib/engine/view.h"

namespace rail {

// 2026-01-02 03:04:05 UTC: when the daemon of SampleView was started.
constexpr int64_t kStartedMs = 1767323045000;

// Two rails, three attachments (ready, adding, with undo work left) and three remotes.
engine::NodeView SampleView();

class Served : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  std::string root_;
  std::string socket_;
  engine::Board board_;
  std::unique_ptr<raild::Server> server_;
};

}  // namespace rail
