#include "lib/wire/wire.h"
#include "plugins/tenant-isolation/tenant_isolation.h"

int main(int argc, char** argv) {
  using namespace rail;
  return wire::PluginMain(argc, argv, tenant_isolation::MakePlugin(wire::RealDeps()));
}
