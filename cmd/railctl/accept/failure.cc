#include "cmd/railctl/accept/failure.h"

#include <fmt/format.h>

#include <future>
#include <map>
#include <mutex>
#include <utility>

#include "cmd/railctl/accept/echo_pair.h"
#include "cmd/railctl/accept/failure_judge.h"
#include "cmd/railctl/accept/follow.h"
#include "cmd/railctl/accept/partners.h"
#include "cmd/railctl/accept/window.h"
#include "lib/base/thread.h"
#include "lib/printing/findings.h"

namespace rail::accept {
namespace {

constexpr uint32_t kDatagrams = 20;
constexpr uint32_t kBytes = 256;
constexpr const char* kWhatToDo =
    "take down now, at its leaf, the port to a node, and after 30 s take it up again";

// An interface and its mate on another node.
using Couple = std::pair<const Port*, const Port*>;

Status EchoPasses(const Couple& couple) {
  RAIL_ASSIGN(const auto answer, Echo(*couple.first, *couple.second, kDatagrams, kBytes));
  if (answer.received() == kDatagrams) return {};
  return Fail(Code::kTransient,
              fmt::format("{} of {} datagrams came back between {} and {}", answer.received(), kDatagrams,
                          couple.first->pod(), couple.second->pod()));
}

std::set<std::string> CutOff(const Node& node, const std::string& rail) {
  std::set<std::string> ids;
  if (!node.doctor) return ids;
  for (const v1::Finding* finding : printing::EveryFinding(*node.doctor))
    if (finding->severity() == v1::Finding::CRITICAL && finding->rail() == rail) ids.insert(finding->id());
  return ids;
}

class Failing {
 public:
  explicit Failing(const Stage& stage)
      : stage_(stage), judge_(Subjects()), follow_(stage), began_(Clock::now()) {}

  // What is before.
  Status Begin() {
    return AskAll(stage_.nodes().size(), [&](size_t i) { return Look(*stage_.nodes()[i]); });
  }
  void Run(Deadline until) {
    began_ = Clock::now();
    follow_.Run(until, [this](const Node& node) { (void)Look(node); });
    for (auto& doctor : doctors_) doctor.get();
  }
  std::vector<Book::Found> Verdicts() const { return judge_.Verdicts(Now()); }

 private:
  // The judge is one's own meanwhile; then what follows from it is done.
  class Judging {
   public:
    explicit Judging(Failing& of) : of_(of), lock_(of.mutex_), before_(of.judge_.changes()) {}
    ~Judging() {
      if (of_.judge_.changes() != before_) of_.follow_.Again();
      if (of_.judge_.IsDone()) of_.follow_.End();
    }
    Judging(const Judging&) = delete;
    Judging& operator=(const Judging&) = delete;

   private:
    Failing& of_;
    const std::lock_guard<std::mutex> lock_;
    const uint64_t before_;
  };

  template <class Work>
  auto With(const Work& work) {
    const Judging judging(*this);
    return work();
  }

  double Now() const { return std::chrono::duration<double>(Clock::now() - began_).count(); }

  // One of each rail of each node, with what is known of it before anything happens.
  std::vector<FailureJudge::Subject> Subjects() {
    std::map<std::pair<std::string, std::string>, FailureJudge::Subject> subjects;
    for (const Port& port : stage_.ports()) {
      auto& subject = subjects[{port.node->name, port.rail}];
      for (const IpAddress& address : {port.ipv4, port.ipv6})
        if (!address.is_unspecified()) subject.addresses.insert(address.ToString());
      tenants_.insert(port.tenant_id);
      const Port* const mate = Mate(stage_, port);
      if (mate != nullptr && mate->node != port.node)
        couples_.try_emplace({port.node->name, port.rail}, &port, mate);
    }
    std::vector<FailureJudge::Subject> all;
    for (auto& [where, subject] : subjects) {
      subject.node = where.first;
      subject.rail = where.second;
      all.push_back(std::move(subject));
    }
    (void)AskAll(all.size(), [&](size_t i) -> Status {
      Prepare(all[i]);
      return {};
    });
    return all;
  }

  void Prepare(FailureJudge::Subject& subject) const {
    const auto couple = couples_.find({subject.node, subject.rail});
    if (couple == couples_.end()) {
      subject.control = Fail(Code::kInvalid, "its pods there have no mate on another node");
      return;
    }
    const auto& [port, mate] = couple->second;
    subject.pair = port->pod() + " and " + mate->pod();
    subject.findings = CutOff(*port->node, subject.rail);
    subject.control = EchoPasses(couple->second);
    if (!subject.control)
      subject.control = FailWrapped(subject.control.error(), "before anything failed there");
  }

  // Changes nothing while nothing has changed.
  Status Look(const Node& node) {
    RAIL_ASSIGN(const auto rails, Ask(*node.raild, &v1::Node::Stub::ListRails, {}, node.Whom()));
    const auto asked = With([&] {
      judge_.SawRails(Now(), node.name, rails);
      return judge_.RemotesOf(node.name);
    });
    for (const std::string& rail : asked) {
      RAIL_ASSIGN(const auto addresses, Learned(node, rail, tenants_));
      With([&] { judge_.SawRemotes(Now(), node.name, rail, addresses); });
    }
    if (With([&] { return judge_.AskDoctor(node.name); })) AskDoctor(node);
    if (const auto rail = With([&] { return judge_.EchoOf(node.name); })) TryEcho(node, *rail);
    return {};
  }

  // It takes longer than other answers: its thread is its own.
  void AskDoctor(const Node& node) {
    auto doctor = Beside([this, &node] {
      const auto found = Ask(*node.raild, &v1::Node::Stub::Doctor, {}, node.Whom());
      With([&] { judge_.SawFindings(Now(), node.name, found); });
    });
    const std::lock_guard lock(mutex_);
    doctors_.push_back(std::move(doctor));
  }

  void TryEcho(const Node& node, const std::string& rail) {
    const auto couple = couples_.find({node.name, rail});
    if (couple == couples_.end()) return;
    const Status passed = EchoPasses(couple->second);
    With([&] { judge_.SawEcho(Now(), node.name, rail, passed); });
  }

  const Stage& stage_;
  std::map<std::pair<std::string, std::string>, Couple> couples_;  // by node and rail
  std::set<std::string> tenants_;                                  // ids
  std::mutex mutex_;
  FailureJudge judge_;  // guarded by mutex_, as are doctors_
  Follow follow_;
  Clock::time_point began_;
  std::vector<std::future<void>> doctors_;
};

}  // namespace

void CheckFailure(const Stage& stage, uint32_t seconds, std::ostream& err, Book& book) {
  Failing failing(stage);
  if (const Status begun = failing.Begin(); !begun)
    return book.AddToAll("failure", NotMeasured(begun.error().message));
  {
    const Window window(err, "failures", kWhatToDo, seconds);
    failing.Run(window.until());
  }
  book.AddTogether(failing.Verdicts());
}

}  // namespace rail::accept
