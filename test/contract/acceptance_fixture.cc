#include "test/contract/acceptance_fixture.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace rail::testing {

using nlohmann::json;

Acceptance::Acceptance() {
  char name[] = "/tmp/railcni-acceptance-XXXXXX";
  folder_ = ::mkdtemp(name);
}

Acceptance::~Acceptance() {
  std::filesystem::remove_all(folder_);
}

std::string Acceptance::Read(const std::string& name) const {
  std::ostringstream text;
  text << std::ifstream(folder_ + "/" + name).rdbuf();
  return text.str();
}

void Acceptance::Install(const std::string& name, const std::string& body) const {
  const std::string file = folder_ + "/" + name;
  std::ofstream(file) << "#!/bin/sh\necho \"$CNI_COMMAND\" >> " << folder_ << "/calls\ncat > " << folder_
                      << "/in.$CNI_COMMAND\n"
                      << body << "\n";
  ::chmod(file.c_str(), 0755);
}

engine::Deps Acceptance::DepsWithRealIpam() {
  engine::Deps deps = world.deps();
  deps.ipam = &exec_;
  deps.openers = [inner = deps.openers](const config::NodeConfig& config) {
    engine::Openers openers = inner(config);
    openers.release_addresses = cni::Release;
    return openers;
  };
  return deps;
}

cni::testing::Ran Acceptance::WithRealIpam(const std::string& verb, const json& more) {
  json config = {{"cniVersion", "1.1.0"}, {"name", "rail0"}, {"rail", "rail0"}, {"ipam", {{"type", "x"}}}};
  config.update(more);
  return cni::testing::RunPlugin(
      ovs_provider::MakePlugin(DepsWithRealIpam()),
      {{"CNI_COMMAND", verb}, {"CNI_CONTAINERID", ""}, {"CNI_IFNAME", ""}, {"CNI_PATH", folder_}},
      config.dump());
}

}  // namespace rail::testing
