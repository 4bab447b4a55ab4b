#include "cmd/railctl/accept/churn.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "cmd/railctl/accept/churn_judge.h"
#include "cmd/railctl/accept/follow.h"
#include "cmd/railctl/accept/window.h"
#include "lib/base/text.h"
#include "lib/base/thread.h"
#include "lib/printing/findings.h"

namespace rail::accept {
namespace {

constexpr std::chrono::seconds kGone{30};  // until what has been detached is gone everywhere

class Churning {
 public:
  explicit Churning(const Stage& stage) : stage_(stage), before_(Count()), after_(Count()) {
    for (const Port& port : stage.ports()) tenants_.emplace(port.tenant_id, port.tenant);
  }

  Status Begin() { return LookAtAll(before_); }
  // Returns when nothing is left, or what is left has had its time.
  Status End() {
    Follow follow(stage_);
    follow.Run(After(kGone), [&](const Node& node) {
      const auto found = Brief(node);
      const std::lock_guard lock(mutex_);
      const size_t number = NumberOf(node);
      if (!found) return;
      after_[number] = *found;
      seen_.insert(number);
      if (seen_.size() == Count() && NothingIsLeft()) follow.End();
    });
    return LookAtAll(after_);
  }

  void Judge(const std::string& problem, const std::string& did, Book& book) const {
    std::vector<Book::Found> found;
    const auto add = [&](const char* check, Attempt attempt, const Node* node) {
      if (node != nullptr) attempt.set_from(node->name);
      attempt.set_did(did);
      found.push_back({check, std::move(attempt)});
    };
    bool churned = false;
    for (size_t i = 0; i < Count(); ++i) {
      if (RunsOf("ADD", before_[i], after_[i]) == 0) continue;
      churned = true;
      const Node* const node = stage_.nodes()[i].get();
      add("churn.add", JudgeVerb("ADD", before_[i], after_[i]), node);
      add("churn.del", JudgeVerb("DEL", before_[i], after_[i]), node);
    }
    if (!churned)
      return book.AddToAll("churn", NotMeasured("raild has counted no ADD meanwhile" +
                                                (problem.empty() ? "" : ": " + problem)));
    for (size_t i = 0; i < Count(); ++i) {
      const auto left = LeftOver(before_[i], after_[i]);
      Attempt attempt;
      attempt.set_verdict(left.empty() ? kPass : kFail);
      attempt.set_seen(left.empty()
                           ? fmt::format("attachments: {}, remotes: {}, as before; nothing more from "
                                         "Check and doctor",
                                         after_[i].attachments.size(), after_[i].remotes.size())
                           : Join(left, "; "));
      add("churn.left", std::move(attempt), stage_.nodes()[i].get());
    }
    if (!problem.empty())
      for (const char* check : {"churn.add", "churn.del", "churn.left"})
        add(check, NotMeasured(problem), nullptr);
    book.AddTogether(std::move(found));
  }

  std::string Tenants() const {
    return Join(tenants_, ", ", [](const auto& tenant) { return tenant.second; });
  }

 private:
  size_t Count() const { return stage_.nodes().size(); }
  size_t NumberOf(const Node& node) const {
    return static_cast<size_t>(
        std::ranges::find(stage_.nodes(), &node, [](const auto& each) { return each.get(); }) -
        stage_.nodes().begin());
  }
  bool NothingIsLeft() const {
    for (size_t i = 0; i < Count(); ++i)
      if (!NotGone(before_[i], after_[i]).empty()) return false;
    return true;
  }

  Status LookAtAll(std::vector<NodeThen>& then) const {
    return AskAll(Count(), [&](size_t i) -> Status {
      RAIL_ASSIGN(then[i], Look(*stage_.nodes()[i]));
      return {};
    });
  }

  // What follows the record, and BGP.
  Result<NodeThen> Brief(const Node& node) const {
    NodeThen then;
    RAIL_ASSIGN(const auto all, Ask(*node.raild, &v1::Node::Stub::ListAttachments, {}, node.Whom()));
    for (const v1::Attachment& each : all.attachments())
      if (each.tenant().id().empty() || tenants_.contains(each.tenant().id()))
        then.attachments.push_back(each);
    std::set<std::string> ids;
    for (const auto& [id, name] : tenants_) ids.insert(id);
    for (const v1::Rail& rail : node.rails) {
      RAIL_ASSIGN(const auto learned, Learned(node, rail.name(), ids));
      for (const std::string& address : learned) then.remotes.insert(address + " on " + rail.name());
    }
    return then;
  }

  Result<NodeThen> Look(const Node& node) const {
    RAIL_ASSIGN(NodeThen then, Brief(node));
    RAIL_ASSIGN(then.node, Ask(*node.raild, &v1::Node::Stub::GetNode, {}, node.Whom()));
    for (const auto& [id, name] : tenants_) {
      if (std::ranges::none_of(then.attachments,
                               [&](const v1::Attachment& each) { return each.tenant().id() == id; }))
        continue;
      v1::CheckRequest request;
      request.mutable_selector()->set_tenant(id);
      RAIL_ASSIGN(const auto checked, Ask(*node.raild, &v1::Node::Stub::Check, request, node.Whom()));
      for (const auto& each : checked.attachments())
        for (const std::string& problem : each.problems())
          then.problems.insert(each.attachment().pod().name() + ": " + problem);
    }
    RAIL_ASSIGN(const auto doctor, Ask(*node.raild, &v1::Node::Stub::Doctor, {}, node.Whom()));
    for (const v1::Finding* finding : printing::EveryFinding(doctor))
      if (IsAboutLeftovers(*finding))
        then.findings.insert(finding->id() + " (" + finding->subject() + "): " + finding->what());
    return then;
  }

  const Stage& stage_;
  std::map<std::string, std::string> tenants_;  // id -> name
  std::vector<NodeThen> before_;
  std::mutex mutex_;
  std::vector<NodeThen> after_;  // guarded by mutex_ in End, as are seen_
  std::set<size_t> seen_;
};

}  // namespace

void CheckChurn(const Stage& stage, const Churn& churn, std::ostream& err, Book& book) {
  Churning churning(stage);
  const auto not_asked = [&](const Status& asked) {
    if (!asked) book.AddToAll("churn", NotMeasured(asked.error().message));
    return !asked;
  };
  if (not_asked(churning.Begin())) return;
  Status made;
  std::string did;
  if (stage.churn()) {
    did = fmt::format("a pod came and went {} times on each node, on all at once", churn.times);
    book.Say("churn, " + did);
    made = stage.churn()(churn.times);
  } else {
    did = fmt::format("pods came and went for {} s", churn.seconds);
    const Window window(err, "pods", "attach and detach pods now, of " + churning.Tenants(), churn.seconds);
    StopSignal().Wait(window.until() - Clock::now());
  }
  if (not_asked(churning.End())) return;
  churning.Judge(made ? "" : made.error().message, did, book);
}

}  // namespace rail::accept
