#include <sys/resource.h>

#include <cstdio>
#include <utility>

#include "cmd/railfabric/daemon.h"
#include "cmd/railfabric/flags.h"
#include "cmd/railfabric/settings.h"
#include "lib/base/log.h"

namespace {

using namespace rail;

constexpr rlim_t kOthers = 512;  // descriptors: clients, the loop, gRPC's own

int Failed(const Error& error) {
  log::Error("{}", error.message);
  return 1;
}

// Each raild has a connection.
void RaiseDescriptors(size_t nodes) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_max < nodes + kOthers)
    log::Warning("{} descriptors are allowed (LimitNOFILE, ulimit -n), and {} nodes need {}", limit.rlim_max,
                 nodes, nodes + kOthers);
}

}  // namespace

int main(int argc, char** argv) {
  const railfabric::Flags flags = railfabric::ParseFlags(argc, argv);
  if (flags.exit_status >= 0) return flags.exit_status;
  log::Init("railfabric", flags.level);
  auto settings = railfabric::ReadSettings(flags.config);
  if (!settings) return Failed(settings.error());
  if (flags.check_config) {
    std::printf("%s: %zu nodes, right\n", flags.config.c_str(), settings->nodes.size());
    return 0;
  }
  RaiseDescriptors(settings->nodes.size());
  const auto daemon = railfabric::Daemon::Start(std::move(*settings));
  if (!daemon) return Failed(daemon.error());
  (*daemon)->Run();
  return 0;
}
