#include "cmd/railctl/accept/configuration.h"

#include <algorithm>
#include <map>
#include <set>

#include "lib/base/text.h"
#include "lib/printing/findings.h"

namespace rail::accept {
namespace {

const std::set<std::string> kOfCabling{
    "rails-on-one-leaf",   "rail-on-other-leaf",   "address-by-other-rail",
    "leaf-in-two-units",   "remote-on-other-leaf", "leaf-as-unlike-siblings",
    "cable-in-other-leaf", "rail-in-other-plane",  "leaf-in-two-planes"};
const std::set<std::string> kOfOffload{"userspace-datapath", "hw-offload-off",        "max-idle-short",
                                       "min-revalidate-pps", "megaflows-in-software", "slow-path-used"};
constexpr const char* kInUserspace = "userspace-datapath";

std::string CheckOf(const v1::Finding& finding) {
  if (kOfCabling.contains(finding.id())) return "configuration.cabling";
  if (kOfOffload.contains(finding.id())) return "offload.ready";
  return "configuration.findings";
}

std::string Sentence(const v1::Finding& finding) {
  return finding.id() + " (" + finding.subject() + "): " + finding.what();
}

// A node's findings of one check, from WARNING on.
Attempt AttemptOf(const Node& node, const std::string& check) {
  if (!node.doctor) return NotMeasured(node.doctor.error().message);
  std::vector<const v1::Finding*> found;
  for (const v1::Finding* finding : printing::EveryFinding(*node.doctor)) {
    if (finding->severity() >= v1::Finding::WARNING && CheckOf(*finding) == check) found.push_back(finding);
  }
  if (std::ranges::find(found, kInUserspace, &v1::Finding::id) != found.end())
    return NotMeasured("the datapath is in userspace, where no NIC carries flows (finding " +
                       std::string(kInUserspace) + ")");
  Attempt attempt;
  attempt.set_verdict(found.empty() ? kPass : kFail);
  attempt.set_seen(found.empty() ? "none in " + std::to_string(node.doctor->checks()) + " looks"
                                 : Join(found, "; ", [](const v1::Finding* f) { return Sentence(*f); }));
  return attempt;
}

// Who has which version of one thing.
Attempt Compare(const std::string& thing, const std::string& did,
                const std::map<std::string, std::vector<std::string>>& versions) {
  Attempt attempt;
  attempt.set_verdict(versions.size() == 1 ? kPass : kFail);
  attempt.set_did(did);
  attempt.set_seen(Join(versions, "; ", [&](const auto& entry) {
    return thing + " " + entry.first + ": " + Join(entry.second, ", ");
  }));
  return attempt;
}

void CompareVersions(const Stage& stage, Book& book) {
  std::map<std::string, std::vector<std::string>> railds;
  std::map<std::string, std::vector<std::string>> kernels;
  for (const auto& node : stage.nodes()) railds[node->info.version()].push_back(node->name);
  for (const auto& agent : stage.agents()) kernels[agent->has.kernel()].push_back(agent->node);
  book.Add("configuration.versions", Compare("raild", "`railctl version` on each node", railds));
  book.Add("configuration.versions", Compare("kernel", "uname(2) in each pod", kernels));
}

// By the leaves that BGP names: where a leaf is another rail's for more nodes than it is this one's, the cable is in the wrong one.
void CompareLeaves(const Stage& stage, Book& book) {
  std::map<std::string, std::map<std::string, size_t>> nodes;  // by leaf and rail
  for (const auto& node : stage.nodes()) {
    for (const v1::Rail& rail : node->rails) ++nodes[LeafOf(rail)][rail.name()];
  }
  for (const auto& node : stage.nodes()) {
    for (const v1::Rail& rail : node->rails) {
      const std::string leaf = LeafOf(rail);
      const auto& [most, count] =
          *std::ranges::max_element(nodes[leaf], {}, [](const auto& entry) { return entry.second; });
      Attempt attempt = leaf.empty() ? NotMeasured("the leaf has not been heard") : Attempt();
      if (!leaf.empty()) {
        attempt.set_verdict(count > nodes[leaf][rail.name()] ? kFail : kPass);
        attempt.set_seen(attempt.verdict() == kPass ? "leads to " + leaf
                                                    : "leads to " + leaf + ", which " +
                                                          std::to_string(count) + " nodes have on " + most);
      }
      attempt.set_from(node->name);
      attempt.set_rail(rail.name());
      attempt.set_did("the leaf of each rail, as it names itself in BGP");
      book.Add("configuration.cabling", std::move(attempt));
    }
  }
}

}  // namespace

bool IsInUserspace(const Node& node) {
  if (!node.doctor) return false;
  return std::ranges::any_of(printing::EveryFinding(*node.doctor),
                             [](const v1::Finding* finding) { return finding->id() == kInUserspace; });
}

void AddFindings(const Stage& stage, const std::string& check, Book& book) {
  for (const auto& node : stage.nodes()) {
    Attempt attempt = AttemptOf(*node, check);
    attempt.set_from(node->name);
    attempt.set_did("`railctl doctor` on " + node->name);
    book.Add(check, std::move(attempt));
  }
}

void CheckConfiguration(const Stage& stage, Book& book) {
  AddFindings(stage, "configuration.findings", book);
  CompareLeaves(stage, book);
  AddFindings(stage, "configuration.cabling", book);
  CompareVersions(stage, book);
}

}  // namespace rail::accept
