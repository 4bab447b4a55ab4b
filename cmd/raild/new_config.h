// Whether a raild that runs takes node.json as it is now.
//
// Use:      NewConfig now = JudgeConfig(config, config::Load(path), {.tls = CheckTlsFiles, .lacks = ...});
//           if (now.take) ... begin anew by it ...   else node_status.Note(Part::kNodeFile, now.problem);
// Threads:  any thread
// Source:   lib/config/README.md ("Changes while raild runs")
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/config/node_config.h"

namespace rail::raild {

struct NewConfig {
  std::optional<config::NodeConfig> take;  // nullopt: raild goes on by the one that it has
  Status problem;  // why the file is not what raild runs by; {}: it is, or is about to be
};

struct ConfigChecks {
  std::function<Status(const config::Api&)> tls;
  // Whether the pods that run can go on by it (engine::KeepsMode).
  std::function<Status(const config::NodeConfig&)> keeps;
  // What of a configuration this node lacks, a sentence each (lib/preflight).
  std::function<Result<std::vector<std::string>>(const config::NodeConfig&)> lacks;
};

// Takes all of the file or nothing: half of it would be a configuration that nobody has written. A file that names something which this
// node lacks is not taken, unless the node lacks it already under `runs`: a NIC that has died stops no change of something else.
NewConfig JudgeConfig(const config::NodeConfig& runs, const Result<config::NodeConfig>& file,
                      const ConfigChecks& checks);

}  // namespace rail::raild
