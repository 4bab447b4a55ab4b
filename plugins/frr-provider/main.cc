#include "lib/wire/wire.h"
#include "plugins/frr-provider/frr_provider.h"

int main(int argc, char** argv) {
  using namespace rail;
  return wire::PluginMain(argc, argv, frr_provider::MakePlugin(wire::RealDeps()));
}
