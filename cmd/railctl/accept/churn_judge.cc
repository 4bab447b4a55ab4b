#include "cmd/railctl/accept/churn_judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "lib/base/text.h"

namespace rail::accept {
namespace {

constexpr double kMostSeconds = 5;
constexpr double kForever = std::numeric_limits<double>::infinity();
const std::set<std::string> kLeftovers{"foreign-flows", "foreign-port",      "pending-work",    "add-died",
                                       "record-lost",   "delete-unfinished", "port-not-working"};

// What one plugin has done of one verb in between.
struct Runs {
  uint64_t runs = 0;
  uint64_t failed = 0;
  std::map<double, uint64_t> within;  // how many, by seconds
};

const v1::PluginRuns* Find(const NodeThen& then, const std::string& plugin, const std::string& verb) {
  const auto found = std::ranges::find_if(then.node.runs(), [&](const v1::PluginRuns& runs) {
    return runs.plugin() == plugin && runs.verb() == verb;
  });
  return found == then.node.runs().end() ? nullptr : &*found;
}

std::map<std::string, Runs> RunsBetween(const std::string& verb, const NodeThen& before,
                                        const NodeThen& after) {
  std::map<std::string, Runs> by_plugin;
  for (const v1::PluginRuns& now : after.node.runs()) {
    if (now.verb() != verb) continue;
    const v1::PluginRuns* const was = Find(before, now.plugin(), verb);
    Runs runs{now.runs() - (was == nullptr ? 0 : was->runs()),
              now.failed() - (was == nullptr ? 0 : was->failed()),
              {}};
    for (const auto& bucket : now.buckets()) runs.within[bucket.at_most()] = bucket.runs();
    if (was != nullptr)
      for (const auto& bucket : was->buckets()) runs.within[bucket.at_most()] -= bucket.runs();
    if (runs.runs > 0) by_plugin[now.plugin()] = std::move(runs);
  }
  return by_plugin;
}

// The bound below which so much of them ended.
double Quantile(const Runs& runs, double part) {
  const auto bucket = std::ranges::find_if(runs.within, [&](const auto& entry) {
    return static_cast<double>(entry.second) >= part * static_cast<double>(runs.runs);
  });
  return bucket == runs.within.end() ? kForever : bucket->first;
}

std::string Shown(const Runs& runs, double part) {
  const double bound = Quantile(runs, part);
  if (bound == kForever)
    return fmt::format("p{:.0f} more than {:.0f} ms", 100 * part,
                       runs.within.empty() ? 0 : 1000 * runs.within.rbegin()->first);
  return fmt::format("p{:.0f} at most {:.0f} ms", 100 * part, 1000 * bound);
}

bool IsSameRaild(const NodeThen& before, const NodeThen& after) {
  const auto& a = before.node.node().started();
  const auto& b = after.node.node().started();
  return a.seconds() == b.seconds() && a.nanos() == b.nanos();
}

std::vector<std::string> Without(const std::set<std::string>& all, const std::set<std::string>& those) {
  std::vector<std::string> left;
  std::ranges::set_difference(all, those, std::back_inserter(left));
  return left;
}

}  // namespace

bool IsAboutLeftovers(const v1::Finding& finding) {
  return kLeftovers.contains(finding.id());
}

uint64_t RunsOf(const std::string& verb, const NodeThen& before, const NodeThen& after) {
  if (!IsSameRaild(before, after)) return 0;
  uint64_t all = 0;
  for (const auto& [plugin, runs] : RunsBetween(verb, before, after)) all += runs.runs;
  return all;
}

Attempt JudgeVerb(const std::string& verb, const NodeThen& before, const NodeThen& after) {
  if (!IsSameRaild(before, after)) return NotMeasured("raild was started meanwhile, and counts anew");
  const auto by_plugin = RunsBetween(verb, before, after);
  if (by_plugin.empty()) return NotMeasured("no " + verb + " has ended");
  Attempt attempt;
  attempt.set_verdict(kPass);
  std::string seen;
  double longest = 0;
  for (const auto& [plugin, runs] : by_plugin) {
    const double p99 = Quantile(runs, 0.99);
    if (runs.failed > 0 || p99 > kMostSeconds) attempt.set_verdict(kFail);
    longest = std::max(longest, std::min(p99, runs.within.empty() ? 0 : runs.within.rbegin()->first));
    Append(seen, "; ",
           fmt::format("{}: {} runs, {} failed, {}, {}", plugin, runs.runs, runs.failed, Shown(runs, 0.5),
                       Shown(runs, 0.99)));
  }
  attempt.set_seen(seen);
  attempt.set_value(1000 * longest);
  attempt.set_unit("ms");
  return attempt;
}

std::vector<std::string> NotGone(const NodeThen& before, const NodeThen& after) {
  std::vector<std::string> left;
  for (const v1::Attachment& now : after.attachments) {
    const std::string name = now.pod().namespace_() + "/" + now.pod().name() + " (" + now.ifname() + ")";
    if (std::ranges::find(before.attachments, now.id(), &v1::Attachment::id) == before.attachments.end()) {
      left.push_back(name + " is attached");
    } else if (now.phase() != v1::Attachment::READY) {
      left.push_back(name + " is half detached");
    }
  }
  for (const std::string& remote : Without(after.remotes, before.remotes))
    left.push_back("it still sends to " + remote);
  return left;
}

std::vector<std::string> LeftOver(const NodeThen& before, const NodeThen& after) {
  std::vector<std::string> left = NotGone(before, after);
  for (const auto member : {&NodeThen::problems, &NodeThen::findings}) {
    for (std::string& sentence : Without(after.*member, before.*member)) left.push_back(std::move(sentence));
  }
  return left;
}

}  // namespace rail::accept
