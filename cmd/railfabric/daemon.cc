#include "cmd/railfabric/daemon.h"

#include <chrono>
#include <csignal>
#include <utility>

#include "lib/base/log.h"

namespace rail::railfabric {
namespace {

constexpr std::chrono::seconds kFirstLook{15};  // then it is ready, whoever has not answered

}  // namespace

Daemon::Daemon(Settings settings, std::unique_ptr<event::Loop> loop)
    : settings_(std::move(settings)),
      loop_(std::move(loop)),
      overview_(*loop_, [this](fabric::Fleet& fleet, int64_t now_ms) { TakeNews(fleet, now_ms); }),
      followers_(settings_, *loop_, [this] { overview_.Changed(); }) {}

Result<std::unique_ptr<Daemon>> Daemon::Start(Settings settings) {
  RAIL_ASSIGN(std::unique_ptr<event::Loop> loop, event::Loop::Open());
  std::unique_ptr<Daemon> daemon(new Daemon(std::move(settings), std::move(loop)));
  RAIL_TRY(daemon->loop_->OnSignal({SIGTERM, SIGINT}, [loop = daemon->loop_.get()] { loop->Stop(); }));
  for (const NodeAddress& node : daemon->settings_.nodes) daemon->overview_.Expect(node.name);
  daemon->overview_.Changed();
  RAIL_TRY(daemon->followers_.Begin());
  RAIL_ASSIGN(daemon->server_, Server::Start(daemon->settings_, daemon->overview_,
                                             [&followers = daemon->followers_](const std::string& node) {
                                               return followers.ChannelOf(node);
                                             }));
  return daemon;
}

void Daemon::TakeNews(fabric::Fleet& fleet, int64_t now_ms) {
  followers_.Take(fleet, now_ms);
  if (followers_.HasLookedAtAll()) SetReady("every node has answered or failed");
}

// What was taken is looked at before the next question is answered.
void Daemon::SetReady(const char* why) {
  if (std::exchange(ready_, true)) return;
  log::Info("ready: {}", why);
  server_->SetReady();
}

void Daemon::Run() {
  log::Info("started: {} nodes", settings_.nodes.size());
  loop_->After(kFirstLook, [this] { SetReady("some nodes have not answered so far"); });
  loop_->Run();
  server_->Stop();
  followers_.Stop();
  log::Info("stopped");
}

}  // namespace rail::railfabric
