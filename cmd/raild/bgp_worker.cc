#include "cmd/raild/bgp_worker.h"

#include "lib/base/log.h"

namespace rail::raild {
namespace {

constexpr std::chrono::seconds kAuditInterval{30};
constexpr std::chrono::milliseconds kPollInterval{250};

}  // namespace

BgpWorker::BgpWorker(const config::NodeConfig& config, const engine::Deps& deps,
                     std::unique_ptr<state::Store> store, engine::Picture& picture, Events events)
    : store_(std::move(store)), repair_(config, deps, *store_, picture), events_(std::move(events)) {}

void BgpWorker::Start() {
  worker_.Start([this] {
    log::Info("remotes are learned by asking bgpd four times a second");
    Audit();
    worker_.loop().Every(kAuditInterval, [this] { Audit(); });
    worker_.loop().Every(kPollInterval, [this] { Poll(); });
  });
}

void BgpWorker::Audit() {
  const bool broken = repair_.next_retry().has_value();
  const bool news = repair_.Audit();
  worker_.RetryAt(repair_.next_retry(), [this] { Audit(); });
  if (news) events_.learned();
  if (broken && !repair_.next_retry()) events_.right_again();
}

void BgpWorker::Poll() {
  if (repair_.Poll()) events_.learned();
}

}  // namespace rail::raild
