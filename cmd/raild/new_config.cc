#include "cmd/raild/new_config.h"

#include <algorithm>

#include "lib/base/log.h"
#include "lib/config/changes.h"

namespace rail::raild {
namespace {

// An editor writes a file in several steps, and an installer several files.
constexpr std::chrono::milliseconds kGather{100};

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

void ConfigFollower::Begin(bool look) {
  const Status watched = Watch();
  if (!watched) log::Warning("{}; a change of it needs a restart of raild", watched.error().message);
  if (look) loop_.Post([this] { Look(); });
}

Status ConfigFollower::Watch() {
  RAIL_ASSIGN(watch_, event::FileWatch::Open(path_));
  return loop_.Watch(watch_->fd(), [this] {
    if (!watch_->Drain() || std::exchange(look_is_due_, true)) return;
    loop_.After(kGather, [this] { Look(); });
  });
}

void ConfigFollower::Look() {
  look_is_due_ = false;
  auto next = judge_();
  if (!next) return;
  next_ = std::move(next);
  loop_.Stop();
}

}  // namespace rail::raild
