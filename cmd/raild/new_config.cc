#include "cmd/raild/new_config.h"

#include <algorithm>

#include "lib/config/changes.h"

namespace rail::raild {
namespace {

NewConfig Refuse(const Error& error, const std::string& why) {
  return {std::nullopt, Fail(error.code, why + ", and raild goes on as before: " + error.message)};
}

}  // namespace

NewConfig JudgeConfig(const config::NodeConfig& runs, const Result<config::NodeConfig>& file,
                      const ConfigChecks& checks) {
  if (!file) return Refuse(file.error(), "it cannot be taken");
  const std::vector<config::Change> changes = config::Changes(runs, *file);
  if (changes.empty()) return {};
  const std::string has_changed = config::Keys(changes) + " cannot be taken";
  // First, since a restart would not help.
  if (const Status keeps = checks.keeps(*file); !keeps) return Refuse(keeps.error(), has_changed);
  std::vector<config::Change> wait;
  std::ranges::copy_if(changes, std::back_inserter(wait),
                       [](const config::Change& change) { return change.takes == config::Takes::kRestart; });
  if (!wait.empty()) {
    return {std::nullopt,
            Fail(Code::kBusy, config::Keys(wait) +
                                  " may cut off pods that run, so a change takes a restart of raild; "
                                  "until then raild goes on as before with all of the file")};
  }
  if (!file->api.listen.empty()) {
    if (const Status tls = checks.tls(file->api); !tls) return Refuse(tls.error(), has_changed);
  }
  const auto lacks = checks.lacks(*file);
  const auto lacked = checks.lacks(runs);
  for (const auto* known : {&lacks, &lacked}) {
    if (!*known) return Refuse(known->error(), has_changed);
  }
  for (const std::string& problem : *lacks) {
    if (std::ranges::find(*lacked, problem) == lacked->end())
      return Refuse({Code::kInvalid, problem}, has_changed);
  }
  return {*file, {}};
}

}  // namespace rail::raild
