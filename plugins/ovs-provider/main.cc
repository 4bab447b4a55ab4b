#include "lib/wire/wire.h"
#include "plugins/ovs-provider/ovs_provider.h"

int main(int argc, char** argv) {
  using namespace rail;
  return wire::PluginMain(argc, argv, ovs_provider::MakePlugin(wire::RealDeps()));
}
