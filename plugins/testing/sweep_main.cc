// One round of raild's repair and sweep on this node, without the minute's grace that raild gives a DEL that may still come. Built
// for the lab's fault matrix and never installed.
#include <cstdio>

#include "lib/engine/repair_bgp.h"
#include "lib/engine/repair_switch.h"
#include "lib/engine/sweep.h"
#include "lib/wire/wire.h"

int main() {
  using namespace rail;
  const engine::Deps deps = wire::RealDeps();
  const auto config = deps.load_config();
  const auto store = deps.open_store();
  if (!config || !store) {
    std::fprintf(stderr, "%s\n", (!config ? config.error() : store.error()).message.c_str());
    return 1;
  }
  engine::Board board;
  engine::Picture picture(*config, {.hostname = "sweep", .raild_version = "test"}, board);
  engine::Sweeper(*config, deps, **store, picture, Clock::duration::zero()).Run();
  return 0;
}
