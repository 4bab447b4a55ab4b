#include "lib/engine/repair/bgp_publisher.h"

#include <set>
#include <utility>

#include "lib/base/log.h"
#include "lib/base/text.h"

namespace rail::engine {

BgpPublisher::BgpPublisher(const config::NodeConfig& config, const Deps& deps, RecordReader& record,
                           NodeStatus& node_status, TenantRemotes& remotes)
    : config_(config),
      deps_(deps),
      record_(record),
      node_status_(node_status),
      remotes_(remotes),
      started_(deps.now()),
      own_(config),
      leaves_(config, deps.leaves_file.empty() ? LeafOfRail() : ReadLeaves(deps.leaves_file)) {}

bool BgpPublisher::Publish(const BgpSessions& sessions, const BgpFeeds& feeds, bool changed) {
  own_.Read(record_, remotes_);
  const bool news = remotes_.TakeNews();
  const RemoteTable& table = remotes_.table();
  changed = own_.Look(table, deps_.now()) || changed;
  const std::string other = remotes_.other_cluster();
  const std::string problem = ProblemOf(table);
  node_status_.Note(Part::kCluster, other.empty() ? Status() : Fail(Code::kInvalid, other));
  node_status_.Note(Part::kPodAddresses, own_.health());
  node_status_.Note(Part::kBgpPrefixes, sessions.PrefixHealth());
  node_status_.Note(Part::kBgpRemotes, problem.empty() ? Status() : Fail(Code::kInvalid, problem));
  // A problem that is reported with a delay is news when it is reported.
  const Told before =
      std::exchange(told_, {.problem = problem + other, .bmp_up = feeds.are_up(), .alike = feeds.alike()});
  if (told_.bmp_up != before.bmp_up) node_status_.Note(Part::kBgpFeed, feeds.health());
  if (!news && !changed && told_ == before) return false;
  if (remotes_.complete() && !std::exchange(was_complete_, true)) {
    log::Info("{} remotes of {} tenants learned, {} ms after the start", table.known, table.by_tenant.size(),
              std::chrono::duration_cast<std::chrono::milliseconds>(deps_.now() - started_).count());
  }
  LookAtLeaves(sessions);
  std::map<std::string, KnownLeaf> leaves;
  for (const config::Rail& rail : config_.rails) {
    if (const auto leaf = leaves_.of(rail.name)) leaves[rail.name] = *leaf;
  }
  node_status_.SetLearned(
      std::make_shared<const engine::Learned>(engine::Learned{.remotes = table,
                                                              .sessions = sessions.all(),
                                                              .complete = remotes_.complete(),
                                                              .bmp_up = told_.bmp_up,
                                                              .bmp_ambiguous = told_.alike,
                                                              .elsewhere = own_.lasting(),
                                                              .leaves = std::move(leaves),
                                                              .unit = leaves_.unit()}));
  node_status_.Changed();
  return true;
}

std::string BgpPublisher::ProblemOf(const RemoteTable& table) {
  std::string problem = remotes_.problem();
  if (!table.example) {
    contested_since_.reset();
    return problem;
  }
  if (!contested_since_) contested_since_ = deps_.now();
  if (deps_.now() - *contested_since_ < kContestedGrace) return problem;
  const std::set<tenancy::TenantId>& tenants = table.example->tenants;
  Append(problem, "; ",
         table.example->address.ToString() + " is announced for " + std::to_string(tenants.size()) +
             " tenants (" + tenants.begin()->ToString() + ", " + tenants.rbegin()->ToString() +
             ") and reaches nobody");
  if (table.contested > 1) problem += ", as are " + std::to_string(table.contested - 1) + " more";
  return problem;
}

// A restart while a leaf is silent gives the unit the same name.
void BgpPublisher::LookAtLeaves(const BgpSessions& sessions) {
  const std::string before = leaves_.unit();
  leaves_.Look(sessions.ByBridge());
  if (leaves_.unit() != before) log::Info("the leaves make the unit {}", leaves_.unit());
  if (!leaves_.TakeChanged() || deps_.leaves_file.empty()) return;
  const Status kept = WriteLeaves(deps_.leaves_file, leaves_.to_keep());
  if (!kept)
    log::Warning("{}: after a restart the unit has no name while a leaf is silent", kept.error().message);
}

std::optional<Deadline> BgpPublisher::next() const {
  std::optional<Deadline> next;
  if (contested_since_) next = *contested_since_ + kContestedGrace;
  next = next > deps_.now() ? next : std::nullopt;
  return own_.next() > deps_.now() ? Earlier(next, own_.next()) : next;
}

}  // namespace rail::engine
