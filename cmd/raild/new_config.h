// Whether a raild that runs takes node.json as it is now.
//
// Use:      ConfigFollower file(path, loop, [&] { return JudgeConfig(config, config::Load(path), checks).take; });
//           file.Begin(true);   loop.Run();   if (auto next = file.Take()) ... begin anew by it ...
// Threads:  JudgeConfig any thread; ConfigFollower the loop's
// Owns:     the watch of the file
// Source:   lib/config/README.md ("Changes while raild runs")
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/config/node_config.h"
#include "lib/event/file_watch.h"
#include "lib/event/loop.h"

namespace rail::raild {

struct NewConfig {
  std::optional<config::NodeConfig> take;  // nullopt: raild goes on by the one that it has
  Status problem;  // why the file is not what raild runs by; {}: it is, or is about to be
};

struct ConfigChecks {
  std::function<Status(const config::Api&)> tls;
  // Whether the pods that run can go on by it (engine::KeepsMode).
  std::function<Status(const config::NodeConfig&)> keeps;
  // What of a configuration this node lacks, a sentence each (check_node).
  std::function<Result<std::vector<std::string>>(const config::NodeConfig&)> lacks;
};

// Takes all of the file or nothing: half of it would be a configuration that nobody has written. A file that names something which this
// node lacks is not taken, unless the node lacks it already under `runs`: a NIC that has died stops no change of something else.
NewConfig JudgeConfig(const config::NodeConfig& runs, const Result<config::NodeConfig>& file,
                      const ConfigChecks& checks);

// Has the file judged whenever it has changed, and stops the loop once it can be taken.
class ConfigFollower {
 public:
  using Judge = std::function<std::optional<config::NodeConfig>()>;  // NewConfig::take of the file as it is
  ConfigFollower(std::string path, event::Loop& loop, Judge judge)
      : path_(std::move(path)), loop_(loop), judge_(std::move(judge)) {}

  // `look`: also at the file as it is, which may have changed before it was watched.
  void Begin(bool look);
  // The configuration for which it has stopped the loop.
  std::optional<config::NodeConfig> Take() { return std::move(next_); }

 private:
  Status Watch();
  void Look();

  const std::string path_;
  event::Loop& loop_;
  const Judge judge_;
  std::optional<event::FileWatch> watch_;
  bool look_is_due_ = false;
  std::optional<config::NodeConfig> next_;
};

}  // namespace rail::raild
