// Random histories of a node: pods come and go, verbs and namespaces die, dependencies fail, somebody deletes what is ours, raild looks,
// sweeps and starts anew. Whatever happens, what is alive is never touched, what belongs to others neither, and in the end nothing
// is left.
//
// RAILCNI_SEED=N runs the histories from N on. A history that fails is made shorter step by step and printed.

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <random>

#include "lib/base/log.h"
#include "plugins/testing/rail_chain.h"

namespace rail {
namespace {

using engine::testing::Chain;
using engine::testing::Crash;
using engine::testing::Dependency;
using engine::testing::PodSpec;
using engine::testing::Raild;
using engine::testing::World;

constexpr int kHistories = 150;
constexpr int kSteps = 25;

enum class Do { kAdd, kDel, kEnd, kAudit, kRecord, kPoll, kRestart, kShut, kOpen, kVandal };
constexpr const char* kNames[] = {"ADD",
                                  "DEL",
                                  "namespace ends",
                                  "audit",
                                  "record changed",
                                  "poll",
                                  "raild restart",
                                  "dependency shuts",
                                  "connections open",
                                  "vandal"};

struct Step {
  Do what;
  unsigned number;  // everything that is decided within the step
};

struct Slot {
  std::string device, representor, rail;
  PodSpec pod = {};
  enum { kNone, kAlive, kUnsure, kGone } state = kNone;
};

class History {
 public:
  History() {
    for (const int i : {0, 1, 2, 3})
      slots_.push_back({fmt::format("vf{}", i), fmt::format("rep{}", i), "rail0"});
    for (const int i : {10, 11}) slots_.push_back({fmt::format("vf{}", i), fmt::format("rep{}", i), "rail1"});
    chain_.more_config = "\"wait_ms\": 0";
    world_.ovsdb.AddDevice("foreign0");
    (void)world_.ovsdb.AddPort({.bridge = "br-rail0",
                                .name = "foreign0",
                                .external_ids = {{"x", "1"}},
                                .mtu = 0,
                                .ofport_request = {}},
                               {});
    PutForeign();
    world_.LearnRemote("10.0.9.1", "ns-a");
    raild_ = world_.StartRaild(std::chrono::hours(1));
  }

  // "" or what went wrong.
  std::string Run(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      if (auto wrong = Take(step); !wrong.empty()) return wrong;
    }
    return End();
  }

 private:
  void PutForeign() {
    (void)world_.Bridge().Commit({.remove_by_cookie = {}, .remove = {}, .add = {kForeign}}, {});
    world_.bgp.AddForeignNetwork(*IpAddress::Parse("192.0.2.1"));
  }

  std::string Take(const Step& step) {
    Slot& slot = slots_[step.number % slots_.size()];
    const unsigned more = step.number / 8;
    switch (step.what) {
      case Do::kAdd:
        if (slot.state != Slot::kNone) return "";
        slot.pod = world_.MakePod(fmt::format("p{}", ++pods_), more % 2 == 0 ? "ns-a" : "ns-b", slot.device,
                                  slot.rail);
        slot.state = Verb(more, [&] { return bool(chain_.Add(slot.pod)); }) ? Slot::kAlive : Slot::kUnsure;
        return "";
      case Do::kDel:
        if (slot.state == Slot::kNone) return "";
        if (Verb(more, [&] { return bool(chain_.Del(slot.pod)); })) {
          slot.state = slot.state == Slot::kGone ? Slot::kGone : Slot::kNone;
        } else if (slot.state == Slot::kAlive) {
          slot.state = Slot::kUnsure;
        }
        return "";
      case Do::kEnd:  // its device goes with it, so the slot is not used again
        if (slot.state == Slot::kNone || slot.state == Slot::kGone) return "";
        world_.EndNamespace(slot.pod);
        slot.state = Slot::kGone;
        return "";
      case Do::kShut:
        world_.faults.down.insert(std::array{Dependency::kOvsdb, Dependency::kOpenFlow, Dependency::kBgp,
                                             Dependency::kIpam, Dependency::kDevices}[more % 5]);
        return "";
      case Do::kOpen: world_.faults.down.clear(); return "";
      case Do::kVandal: Vandal(more, slot); return "";
      case Do::kAudit: return Watched([&] { raild_->Audit(); }, world_.faults.down.empty());
      case Do::kRecord: return Watched([&] { raild_->RecordChanged(); }, false);
      case Do::kPoll: return Watched([&] { raild_->Poll(); }, false);
      case Do::kRestart:
        raild_ = world_.StartRaild(more % 2 == 0 ? std::chrono::hours(0) : std::chrono::hours(1));
        return "";
    }
    return "";
  }

  // Runs a verb, every fourth time with a plugin that dies on the way.
  template <class F>
  bool Verb(unsigned more, const F& verb) {
    if (more % 4 == 3) world_.CrashAt(1 + static_cast<int>(more / 4 % 40));
    bool well = false;
    try {
      well = verb();
    } catch (const Crash&) {
    }
    world_.NoCrash();
    return well;
  }

  void Vandal(unsigned more, const Slot& slot) {
    disturbed_ = true;
    switch (more % 4) {
      case 0:
        if (const auto rules = world_.Bridge().rules();
            !rules.empty() && rules[more % rules.size()] != kForeign) {
          (void)world_.Bridge().Commit(
              {.remove_by_cookie = {}, .remove = {rules[more % rules.size()]}, .add = {}}, {});
        }
        return;
      case 1: world_.Bridge().LoseAllRules(); return PutForeign();
      case 2: world_.bgp.Restart(); return PutForeign();
      default:
        (void)world_.ovsdb.DeletePort("br-" + slot.rail, slot.representor, {}, ovs::Ovsdb::Wait::kCommitted,
                                      {});
    }
  }

  // What a living pod has; rules, port and announcement only where nobody has deleted any.
  std::set<std::string> Facts(const Slot& slot) {
    std::set<std::string> facts;
    const auto found = world_.FindAttachment(slot.pod);
    if (!found) return facts;
    facts.insert(fmt::format("record: phase {}", static_cast<int>(found->phase)));
    for (const state::Step& step : world_.Steps(slot.pod)) facts.insert("record: step " + step.kind);
    for (const auto& [key, prefix] : world_.ipam.held()) {
      if (key.find(slot.pod.container) != std::string::npos) facts.insert("IPAM: " + prefix);
    }
    if (const auto where = world_.devices.Where(slot.device); where && *where == slot.pod.identity)
      facts.insert("its device is in it");
    if (disturbed_) return facts;
    for (const ovs::Rule& rule : world_.RulesOf(slot.pod))
      facts.insert(fmt::format("rule: {} {} {}", rule.table, rule.match, rule.actions));
    if (const auto port = world_.ovsdb.FindPort(slot.representor, {}); port && *port)
      facts.insert(fmt::format("port {} {}", (*port)->ofport, fmt::join((*port)->external_ids, ",")));
    if (const auto announced = world_.bgp.Announced({})) {
      for (const frr::Announcement& one : *announced) {
        if (std::ranges::find(found->addresses, one.address) != found->addresses.end())
          facts.insert("announced: " + one.address.ToString());
      }
    }
    return facts;
  }

  std::string Foreign() {
    const auto rules = world_.Bridge().rules();
    if (std::ranges::find(rules, kForeign) == rules.end()) return "somebody else's rule is gone";
    if (const auto port = world_.ovsdb.FindPort("foreign0", {});
        !port || !*port || (*port)->external_ids.at("x") != "1")
      return "somebody else's port is gone";
    if (world_.bgp.foreign_networks().empty()) return "somebody else's prefix is gone";
    return "";
  }

  // Runs raild's `work`. Nothing of what is alive may go. `everything`: raild could do all its work, so everything of what is
  // alive is right afterwards.
  std::string Watched(const std::function<void()>& work, bool everything) {
    std::map<const Slot*, std::set<std::string>> before;
    for (const Slot& slot : slots_) {
      if (slot.state == Slot::kAlive) before[&slot] = Facts(slot);
    }
    work();
    for (const auto& [slot, facts] : before) {
      const auto now = Facts(*slot);
      for (const std::string& fact : facts) {
        if (!now.contains(fact))
          return fmt::format("raild took from the living {}: {}", slot->pod.name, fact);
      }
    }
    if (everything) {
      disturbed_ = false;
      for (const config::Rail& rail : world_.config.rails) world_.bgp.SetSession(rail.bridge, "Established");
      for (const auto& [slot, facts] : before) {
        if (const auto checked = chain_.Check(slot->pod); !checked)
          return fmt::format("after an audit {} is not right: {}", slot->pod.name, checked.text);
      }
    }
    return Foreign();
  }

  std::string End() {
    world_.faults.down.clear();
    raild_ = world_.StartRaild(std::chrono::hours(0));
    if (auto wrong = Watched([&] { raild_->Audit(); }, true); !wrong.empty()) return "in the end: " + wrong;
    for (size_t i = 0; i < slots_.size(); ++i) {
      Slot& slot = slots_[i];
      if (slot.state == Slot::kUnsure || (slot.state == Slot::kAlive && i % 2 == 0)) {
        if (const auto deleted = chain_.Del(slot.pod); !deleted)
          return "in the end: DEL failed: " + deleted.text;
      } else if (slot.state == Slot::kAlive) {
        world_.EndNamespace(slot.pod);
      }
    }
    raild_->Audit();
    world_.passed +=
        std::chrono::seconds(61);  // an announcement that no record explains has its time to be explained
    raild_->Audit();
    raild_->Audit();
    auto left = world_.Leftovers();
    std::erase(left, "OVS: port foreign0");
    if (!left.empty()) return fmt::format("in the end there is left: {}", fmt::join(left, "; "));
    return Foreign();
  }

  inline static const ovs::Rule kForeign{
      .table = 0, .priority = 998, .cookie = 0x1234, .match = "in_port=9", .actions = "NORMAL"};

  World world_;
  Chain chain_ = testing::RailChain(world_);
  std::vector<Slot> slots_;
  std::unique_ptr<Raild> raild_;
  bool disturbed_ = false;  // somebody has deleted something of ours since raild's last whole audit
  int pods_ = 0;
};

std::vector<Step> Make(unsigned seed) {
  std::mt19937 random(seed);
  // ADD is more frequent, so that something is alive most of the time.
  std::discrete_distribution<int> what({8, 4, 2, 4, 2, 2, 1, 1, 2, 2});
  std::vector<Step> steps;
  for (int i = 0; i < kSteps; ++i)
    steps.push_back({static_cast<Do>(what(random)), static_cast<unsigned>(random() & 0xffffff)});
  return steps;
}

std::string RunAnew(const std::vector<Step>& steps) {
  return std::make_unique<History>()->Run(steps);
}

// Makes a history as short as it can be and still fail in any way.
std::vector<Step> Shrink(std::vector<Step> steps) {
  for (size_t i = steps.size(); i-- > 0;) {
    std::vector<Step> shorter = steps;
    shorter.erase(shorter.begin() + static_cast<ptrdiff_t>(i));
    if (!RunAnew(shorter).empty()) steps = std::move(shorter);
  }
  return steps;
}

TEST(Histories, WhatIsAliveIsNeverTouchedAndNothingIsLeft) {
  log::Init("railcni", log::Level::kError);
  const char* given = std::getenv("RAILCNI_SEED");
  const unsigned first =
      given != nullptr ? static_cast<unsigned>(std::atoi(given)) : std::random_device()() % 1000000;
  std::printf("[          ] RAILCNI_SEED=%u\n", first);
  for (unsigned seed = first; seed < first + kHistories; ++seed) {
    std::vector<Step> steps = Make(seed);
    if (RunAnew(steps).empty()) continue;
    steps = Shrink(std::move(steps));
    std::string text;
    for (const Step& step : steps)
      text += fmt::format("\n  {} {}", kNames[static_cast<int>(step.what)], step.number);
    FAIL() << "RAILCNI_SEED=" << seed << ": " << RunAnew(steps) << text;
  }
}

}  // namespace
}  // namespace rail
