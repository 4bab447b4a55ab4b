#include "cmd/railctl/accept/book.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "cmd/railctl/accept/report.h"

namespace rail::accept {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr CheckKind kChecks[] = {
    {"isolation.other-tenant", "A pod's datagrams do not reach pods of another tenant", "SDN04"},
    {"isolation.handmade-rocev2",
     "RoCEv2 packets (UDP port 4791) made by hand do not reach pods of another tenant", "SDN04"},
    {"isolation.verbs",
     "What a pod sends by verbs, RC and UD, does not reach queue pairs of another tenant's pod", "SDN04"},
    {"isolation.forged-source", "A pod cannot send with another pod's IPv4 address", "SDN04"},
    {"isolation.forged-gid", "A pod cannot send with another pod's IPv6 address, of which GIDs are made",
     "SDN04"},
    {"isolation.forged-mac", "A pod cannot send with another pod's MAC address", "SDN04"},
    {"isolation.vlan", "A pod cannot send with a VLAN tag", "SDN04"},
    {"isolation.arp-nd", "A pod's ARP, neighbour and router advertisements reach nobody", "SDN04"},
    {"isolation.flood", "A pod's broadcasts and multicasts reach nobody", "SDN04"},
    {"isolation.announced", "Nobody who speaks BGP answers a pod, and others' addresses keep their owner",
     "SDN04"},
    {"offload.ready", "Each node is set up so that its NICs can carry flows", "ClusterMAX"},
    {"offload.hardware", "At load, flows of pods are in the NIC", "ClusterMAX"},
    {"offload.one-megaflow", "All connections of a pair of pods share one megaflow each way", "ClusterMAX"},
    {"offload.masks", "At load, a NIC looks packets up by few masks", "ClusterMAX"},
    {"speed.reach", "Every pair of pods of a tenant loses nothing, and is as near as the others of the rail",
     "ClusterMAX NET01"},
    {"speed.mtu", "Packets as large as the rail's MTU pass with DF", "ClusterMAX"},
    {"speed.write-bandwidth", "RDMA writes of every pair are as fast as those of the others of the rail",
     "ClusterMAX"},
    {"speed.write-latency", "The latency of RDMA writes of every pair is as those of the others of the rail",
     "ClusterMAX"},
    {"restart.silence", "While daemons restart, no pair of a tenant's pods is silent for a second",
     "ClusterMAX"},
    {"restart.queue-pairs", "While daemons restart, no queue pair is lost", "ClusterMAX"},
    {"failure.withdrawn", "While a leaf's port is down, no other node sends to the pods behind it",
     "ClusterMAX SDN09"},
    {"failure.devices", "While a leaf's port is down, the kubelet gives no pod a device behind it",
     "ClusterMAX SDN09"},
    {"failure.told", "While a leaf's port is down, raild's doctor names it", "SDN09"},
    {"failure.back", "When the port is up again, session, remotes and traffic are back", "ClusterMAX SDN09"},
    {"churn.add", "Each ADD of a pod passes, 99 % of them within 5 s", "ClusterMAX"},
    {"churn.del", "Each DEL of a pod passes, 99 % of them within 5 s", "ClusterMAX"},
    {"churn.left", "Of pods that came and went nothing is left", "ClusterMAX"},
    {"qos.dscp", "DSCP and ECN arrive as they were sent", "ClusterMAX"},
    {"qos.neighbour", "A noisy tenant on the same node costs a pod no datagram and no long wait",
     "ClusterMAX"},
    {"qos.pauses", "At load both uplinks pause for the same priorities, for no other, and discard nothing",
     "ClusterMAX"},
    {"configuration.findings", "raild finds nothing wrong on any node", "SDN09"},
    {"configuration.cabling", "Each cable leads to the leaf of its rail", "NET01"},
    {"configuration.versions", "All nodes run the same versions", "ClusterMAX"},
};

// The worst attempt, or what all of them come to.
std::string WhyOf(const Check& check) {
  const auto count = [&](auto verdict) {
    return std::ranges::count(check.attempts(), verdict, &Attempt::verdict);
  };
  const auto all = std::to_string(check.attempts_size());
  if (check.verdict() == kPass)
    return all + (check.attempts_size() == 1 ? " attempt" : " attempts") + ", all as they should be";
  const auto worst = std::ranges::find(check.attempts(), check.verdict(), &Attempt::verdict);
  if (worst == check.attempts().end()) return "nothing could be tried";
  const std::string where = worst->from().empty()
                                ? ""
                                : worst->from() + (worst->to().empty() ? "" : " to " + worst->to()) +
                                      (worst->rail().empty() ? "" : " on " + worst->rail()) + ": ";
  return std::to_string(count(check.verdict())) + " of " + all + ", the first: " + where + worst->seen();
}

}  // namespace

std::span<const CheckKind> AllChecks() {
  return kChecks;
}

Attempt NotMeasured(std::string why) {
  Attempt attempt;
  attempt.set_verdict(kCouldNotMeasure);
  attempt.set_seen(std::move(why));
  return attempt;
}

Book::Book(v1::AcceptReport& report, std::vector<std::string> only,
           std::function<void(const std::string&)> says)
    : report_(report), only_(std::move(only)), says_(std::move(says)) {}

bool Book::Wants(const std::string& check) const {
  return only_.empty() || std::ranges::find(only_, GroupOf(check)) != only_.end() ||
         std::ranges::find(only_, check) != only_.end();
}

bool Book::IsDone(const std::string& group) const {
  return std::ranges::all_of(kChecks, [&](const CheckKind& kind) {
    return group != GroupOf(kind.id) || !Wants(kind.id) ||
           std::ranges::find(report_.checks(), kind.id, &Check::id) != report_.checks().end();
  });
}

void Book::Begin(const std::string& group) {
  auto& checks = *report_.mutable_checks();
  checks.erase(
      std::remove_if(checks.begin(), checks.end(), [&](const Check& c) { return c.group() == group; }),
      checks.end());
  for (const CheckKind& kind : kChecks) {
    if (group != GroupOf(kind.id) || !Wants(kind.id)) continue;
    Check& check = *checks.Add();
    check.set_id(kind.id);
    check.set_group(group);
    check.set_title(kind.title);
    std::istringstream words(kind.requirements);
    for (std::string word; words >> word;) check.add_requirements(word);
  }
  last_ = std::chrono::steady_clock::now();
}

Check* Book::Find(const std::string& id) {
  const auto found = std::ranges::find(*report_.mutable_checks(), id, &Check::id);
  return found == report_.mutable_checks()->end() ? nullptr : &*found;
}

void Book::AddTogether(std::vector<Found> found) {
  const auto now = std::chrono::steady_clock::now();
  std::erase_if(found, [this](const Found& each) { return Find(each.check) == nullptr; });
  const double seconds = Seconds(now - std::exchange(last_, now)).count() / static_cast<double>(found.size());
  for (auto& [check, attempt] : found) {
    Check& kept = *Find(check);
    *kept.add_attempts() = std::move(attempt);
    kept.set_seconds(kept.seconds() + seconds);
  }
}

void Book::AddToAll(const std::string& group, const Attempt& attempt) {
  for (Check& check : *report_.mutable_checks()) {
    if (check.group() == group) *check.add_attempts() = attempt;
  }
}

void Book::Explain(const std::string& check, std::string why) {
  if (Check* const found = Find(check)) found->set_why(std::move(why));
}

void Book::End(const std::string& group) {
  for (Check& check : *report_.mutable_checks()) {
    if (check.group() != group) continue;
    check.set_verdict(Worst(check));
    if (check.why().empty()) check.set_why(WhyOf(check));
  }
}

}  // namespace rail::accept
