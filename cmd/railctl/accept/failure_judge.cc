#include "cmd/railctl/accept/failure_judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cmd/railctl/accept/parts.h"
#include "lib/base/text.h"
#include "lib/printing/findings.h"

namespace rail::accept {
namespace {

constexpr double kMostSeconds = 10;  // until nobody sends there any more, and the doctor has named it
// Until the kubelet hears of it: twice kubelet.grace_s of node.json, as it is by default.
constexpr double kDeviceSeconds = 30;

// A finding that cuts the rail off, and was not there before.
const v1::Finding* NewFinding(const v1::DoctorResponse& found, const FailureJudge::Subject& subject) {
  const auto every = printing::EveryFinding(found);
  const auto named = std::ranges::find_if(every, [&](const v1::Finding* finding) {
    return finding->severity() == v1::Finding::CRITICAL && finding->rail() == subject.rail &&
           !subject.findings.contains(finding->id());
  });
  return named == every.end() ? nullptr : *named;
}

Attempt Of(Verdict verdict, std::string seen) {
  Attempt attempt;
  attempt.set_verdict(verdict);
  attempt.set_seen(std::move(seen));
  return attempt;
}

Attempt Took(double seconds, Verdict verdict, std::string seen) {
  Attempt attempt = Of(verdict, std::move(seen));
  attempt.set_value(seconds);
  attempt.set_unit("s");
  return attempt;
}

std::string Short(double lasted, double wanted) {
  return fmt::format("; it was down for {:.1f} s alone: {:.0f} s say more", lasted, wanted);
}

}  // namespace

FailureJudge::FailureJudge(std::vector<Subject> subjects) {
  for (Subject& subject : subjects) watched_.push_back({.subject = std::move(subject)});
}

void FailureJudge::SawRails(double at, const std::string& node, const v1::ListRailsResponse& rails) {
  if (const auto asked = asked_.find(node); asked != asked_.end()) asked->second = true;
  for (Watched& watched : watched_) {
    if (watched.subject.node != node) continue;
    const auto rail = std::ranges::find(rails.rails(), watched.subject.rail, &v1::Rail::name);
    if (rail != rails.rails().end()) Note(watched, at, *rail);
  }
}

void FailureJudge::Note(Watched& watched, double at, const v1::Rail& rail) {
  const bool was = std::exchange(watched.connected, rail.connected());
  if (!watched.before) watched.before = rail;
  if (was && !rail.connected()) {
    if (!watched.fault) watched.fault = Fault{.down = at};
    watched.fault->up.reset();
    watched.fault->echoed.reset();
    ++changes_;
  }
  if (!watched.fault) return;
  Fault& fault = *watched.fault;
  fault.problem = rail.bgp_problem();
  if (!rail.carrier()) {
    fault.lost_carrier = true;
    fault.carrier.reset();
  } else if (fault.lost_carrier && !fault.carrier) {
    fault.carrier = at;
  }
  if (!was && rail.connected()) {
    fault.up = at;
    fault.back.clear();
    ++changes_;
  }
  if (rail.devices_healthy() < watched.before->devices_healthy()) {
    if (!fault.unhealthy) fault.unhealthy = at;
    fault.healthy.reset();
    if (!rail.device_problem().empty()) fault.device_problem = rail.device_problem();
  } else if (fault.unhealthy && !fault.healthy) {
    fault.healthy = at;
  }
}

void FailureJudge::SawRemotes(double at, const std::string& node, const std::string& rail,
                              const std::set<std::string>& addresses) {
  for (Watched& watched : watched_) {
    const std::set<std::string>& its = watched.subject.addresses;
    if (watched.subject.rail != rail || watched.subject.node == node) continue;
    const auto has = [&](const std::string& address) { return addresses.contains(address); };
    const bool all = std::ranges::all_of(its, has);
    if (!watched.fault) {
      watched.knew[node] = all;
      continue;
    }
    Fault& fault = *watched.fault;
    if (!fault.up && std::ranges::none_of(its, has)) fault.gone.emplace(node, at);
    if (!all) {
      fault.back.erase(node);
    } else if (fault.up && fault.back.insert(node).second) {
      ++changes_;
    }
  }
}

void FailureJudge::SawFindings(double at, const std::string& node, const Result<v1::DoctorResponse>& found) {
  if (std::exchange(asked_[node], false)) ++changes_;
  asked_.erase(node);
  for (Watched& watched : watched_) {
    if (watched.subject.node != node || !watched.fault || watched.fault->told) continue;
    Fault& fault = *watched.fault;
    const v1::Finding* const named = found ? NewFinding(*found, watched.subject) : nullptr;
    if (named != nullptr) {
      fault.told = at;
      fault.finding = named->id() + ": " + named->what();
      ++changes_;
    } else if (!fault.up) {
      fault.finding = found ? fmt::format("nothing new in {} looks", found->checks()) : found.error().message;
    }
  }
}

void FailureJudge::SawEcho(double at, const std::string& node, const std::string& rail,
                           const Status& passed) {
  for (Watched& watched : watched_) {
    if (watched.subject.node != node || watched.subject.rail != rail || !watched.fault) continue;
    watched.fault->echo = passed ? "" : passed.error().message;
    if (passed && watched.fault->up) watched.fault->echoed = at;
    ++changes_;
  }
}

std::vector<std::string> FailureJudge::RemotesOf(const std::string& node) const {
  std::set<std::string> rails;
  for (const Watched& watched : watched_) {
    if (watched.subject.node == node) continue;
    const auto knew = watched.knew.find(node);
    const bool waits =
        watched.fault && knew != watched.knew.end() && knew->second &&
        (watched.fault->up ? !watched.fault->back.contains(node) : !watched.fault->gone.contains(node));
    if (waits || (knew == watched.knew.end() && !watched.fault)) rails.insert(watched.subject.rail);
  }
  return {rails.begin(), rails.end()};
}

bool FailureJudge::AskDoctor(const std::string& node) {
  const bool wanted = std::ranges::any_of(watched_, [&](const Watched& watched) {
    return watched.subject.node == node && watched.fault && !watched.fault->up && !watched.fault->told;
  });
  return wanted && asked_.emplace(node, false).second;
}

std::optional<std::string> FailureJudge::EchoOf(const std::string& node) const {
  const auto found = std::ranges::find_if(watched_, [&](const Watched& watched) {
    return watched.subject.node == node && watched.fault && watched.fault->up && !watched.fault->echoed &&
           watched.IsBackEverywhere();
  });
  if (found == watched_.end()) return std::nullopt;
  return found->subject.rail;
}

bool FailureJudge::IsDone() const {
  const auto is_back = [](const Watched& watched) {
    return !watched.fault ||
           (watched.fault->echoed && (!watched.fault->unhealthy || watched.fault->healthy.has_value()));
  };
  return asked_.empty() && std::ranges::all_of(watched_, is_back) &&
         std::ranges::any_of(watched_, [](const Watched& watched) { return watched.fault.has_value(); });
}

std::vector<Book::Found> FailureJudge::Verdicts(double seconds) const {
  std::vector<Book::Found> found;
  const auto add = [&](const Watched& watched, const char* check, Attempt attempt) {
    if (!watched.subject.control) attempt = NotMeasured(watched.subject.control.error().message);
    attempt.set_from(watched.subject.node);
    attempt.set_rail(watched.subject.rail);
    attempt.set_did(fmt::format("followed raild of all nodes while {} had no session for {:.1f} s",
                                watched.Where(), watched.Lasted(seconds)));
    if (watched.subject.control)
      attempt.set_control("before, the session was Established, and an echo passed between " +
                          watched.subject.pair);
    found.push_back({check, std::move(attempt)});
  };
  for (const Watched& watched : watched_) {
    if (!watched.fault) continue;
    add(watched, "failure.withdrawn", watched.Withdrawn(seconds));
    add(watched, "failure.devices", watched.Devices(seconds));
    add(watched, "failure.told", watched.Told(seconds));
    add(watched, "failure.back", watched.Back());
  }
  if (!found.empty()) return found;
  std::set<std::string> nodes;
  for (const Watched& watched : watched_) nodes.insert(watched.subject.node);
  const Attempt none = NotMeasured(fmt::format(
      "no session has gone down within {:.0f} s: take a leaf's port to one of {} down, and up after {:.0f} s",
      seconds, Join(nodes, ", "), kDeviceSeconds));
  for (const CheckKind& kind : AllChecks())
    if (GroupOf(kind.id) == "failure") found.push_back({kind.id, none});
  return found;
}

bool FailureJudge::Watched::IsBackEverywhere() const {
  return std::ranges::all_of(
      knew, [&](const auto& entry) { return !entry.second || fault->back.contains(entry.first); });
}

double FailureJudge::Watched::Lasted(double seconds) const {
  return fault->up.value_or(seconds) - fault->down;
}

std::string FailureJudge::Watched::Where() const {
  const std::string leaf = before->leaf().name().empty() ? before->leaf().router_id() : before->leaf().name();
  return subject.node + " on " + subject.rail + (leaf.empty() ? "" : " (leaf " + leaf + ")");
}

Attempt FailureJudge::Watched::Withdrawn(double seconds) const {
  std::string kept;
  double last = 0;
  size_t others = 0;
  for (const auto& [node, had] : knew) {
    if (!had) continue;
    ++others;
    const auto gone = fault->gone.find(node);
    if (gone == fault->gone.end()) {
      Append(kept, ", ", node);
    } else {
      last = std::max(last, gone->second - fault->down);
    }
  }
  if (others == 0) return NotMeasured("no other node knew its addresses before");
  const double lasted = Lasted(seconds);
  if (!kept.empty()) {
    const std::string seen = kept + " had addresses of it to the end";
    if (lasted < kMostSeconds) return NotMeasured(seen + Short(lasted, kMostSeconds));
    return Took(lasted, kFail, seen);
  }
  return Took(last, last <= kMostSeconds ? kPass : kFail,
              fmt::format("{} other nodes had lost its addresses after {:.1f} s", others, last));
}

Attempt FailureJudge::Watched::Devices(double seconds) const {
  if (!before->offers_devices()) return NotMeasured("raild offers no device of the rail to the kubelet");
  if (before->devices_healthy() == 0) return NotMeasured("no device of the rail was healthy before");
  const double lasted = Lasted(seconds);
  if (!fault->unhealthy) {
    const std::string seen = fmt::format("{} devices were healthy all the time", before->devices_healthy());
    return lasted < kDeviceSeconds ? NotMeasured(seen + Short(lasted, kDeviceSeconds)) : Of(kFail, seen);
  }
  const double after = *fault->unhealthy - fault->down;
  const std::string seen = fmt::format("unhealthy after {:.1f} s ({})", after, fault->device_problem);
  if (fault->healthy)
    return Took(after, kPass,
                seen + fmt::format(", healthy {:.1f} s later", *fault->healthy - *fault->unhealthy));
  if (!fault->up) return NotMeasured(seen + ", and the session did not come back");
  return Of(kFail, seen + ", and not healthy again");
}

Attempt FailureJudge::Watched::Told(double seconds) const {
  if (fault->told) return Took(*fault->told - fault->down, kPass, fault->finding);
  const double lasted = Lasted(seconds);
  const std::string seen = "the doctor names no fault of the rail: " + fault->finding;
  return lasted < kMostSeconds ? NotMeasured(seen + Short(lasted, kMostSeconds)) : Of(kFail, seen);
}

Attempt FailureJudge::Watched::Back() const {
  if (!fault->up) return Of(kFail, Where() + " did not get its session back: " + fault->problem);
  std::string without;
  for (const auto& [node, had] : knew)
    if (had && !fault->back.contains(node)) Append(without, ", ", node);
  if (!without.empty())
    return Of(kFail, Where() + " has its session, and these do not have its addresses back: " + without);
  if (!fault->echoed)
    return Of(kFail, Where() + " is back, and no echo passes between " + subject.pair + ": " + fault->echo);
  const double from = fault->carrier ? std::min(*fault->carrier, *fault->up) : *fault->up;
  return Took(*fault->echoed - from, kPass,
              fmt::format("{} has its session, remotes and an echo {:.1f} s after its {}", Where(),
                          *fault->echoed - from, fault->carrier ? "carrier" : "session"));
}

}  // namespace rail::accept
