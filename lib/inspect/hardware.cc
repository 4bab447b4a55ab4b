#include "lib/inspect/hardware.h"

#include <utility>

namespace rail::inspect {

Machinery LookAtMachinery(const config::NodeConfig& config, const Hardware& hardware, Deadline until) {
  Machinery seen;
  if (hardware.sysfs.empty()) return seen;
  std::vector<std::pair<std::string, std::string>> rails;
  for (const config::Rail& rail : config.rails) rails.emplace_back(rail.name, rail.pf);
  seen.machine = pcie::Look(sriov::Sysfs(hardware.sysfs), hardware.nvidia, rails);
  if (!hardware.pods) return seen;
  auto pods = hardware.pods(until);
  if (pods) {
    seen.gpus_of_pods = pcie::GpusOfPods(*pods, seen.machine);
    seen.pods = std::move(*pods);
  } else if (!seen.machine.gpus.empty()) {
    seen.gpus_of_pods = tl::make_unexpected(std::move(pods.error()));
  }
  return seen;
}

}  // namespace rail::inspect
