// What is measured once more, and what counts then. Nothing is sent: the test says what each pair shows.
#include "cmd/railctl/accept/mesh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace rail::accept {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

// A pod of one tenant on each of the nodes, on the rails rail0 and rail1.
class MeshTest : public ::testing::Test {
 protected:
  void MakePorts(size_t nodes) {
    for (size_t i = 0; i < nodes; ++i) {
      nodes_.emplace_back().name = "n" + std::to_string(i);
      agents_.emplace_back().pod = "ml/p" + std::to_string(i);
    }
    for (const char* rail : {"rail0", "rail1"}) {
      for (size_t i = 0; i < nodes; ++i) {
        Port& port = ports_.emplace_back();
        port.agent = &agents_[i];
        port.node = &nodes_[i];
        port.rail = rail;
      }
    }
  }

  // `show`: what the pair shows when it is measured for the so-manieth time, from 1.
  template <class Show>
  const Check& Measure(Show show) {
    Book book(report_, {"speed.reach"}, [](const std::string&) {});
    book.Begin("speed");
    const auto measure = [&](const Port& from, const Port& to) {
      const std::lock_guard lock(mutex_);
      return show(from, ++times_[from.rail + " " + from.pod() + " " + to.pod()]);
    };
    MeasureMesh(
        ports_, false,
        {"speed.reach", measure, false, [](double value, double median) { return value < 3 * median; }},
        book);
    book.End("speed");
    return report_.checks(0);
  }

  static Attempt Of(v1::AcceptReport::Verdict verdict, double value) {
    Attempt attempt;
    attempt.set_verdict(verdict);
    attempt.set_value(value);
    attempt.set_unit("us");
    attempt.set_seen("seen");
    return attempt;
  }
  std::vector<int> TimesOf(const std::string& rail) const {
    std::vector<int> times;
    for (const auto& [pair, count] : times_) {
      if (pair.starts_with(rail)) times.push_back(count);
    }
    return times;
  }

  std::deque<Node> nodes_;
  std::deque<PodAgent> agents_;
  std::vector<Port> ports_;
  std::mutex mutex_;
  std::map<std::string, int> times_;  // by rail and pair
  v1::AcceptReport report_;
};

TEST_F(MeshTest, ARailThatFailsFirstAndWorksOnceMorePasses) {
  MakePorts(4);
  double value = 1;
  const Check& check = Measure([&](const Port& from, int time) {
    return from.rail == "rail0" && time == 1 ? Of(kFail, 0)
                                             : Of(kPass, from.rail == "rail0" ? value *= 10 : 7);
  });
  EXPECT_EQ(check.verdict(), kPass) << check.why();
  EXPECT_EQ(check.attempts_size(), 12);
  EXPECT_THAT(TimesOf("rail0"), Each(2)) << "once more, as different as they are: there is no median";
  EXPECT_THAT(TimesOf("rail1"), Each(1));
}

TEST_F(MeshTest, ARailThatFailsTwiceIsBlamed) {
  MakePorts(4);
  const Check& check =
      Measure([](const Port& from, int) { return Of(from.rail == "rail0" ? kFail : kPass, 7); });
  EXPECT_EQ(check.verdict(), kFail);
  EXPECT_THAT(check.why(), HasSubstr("All 6 measured pairs of rail rail0 are bad"));
  EXPECT_THAT(TimesOf("rail0"), Each(2));
}

TEST_F(MeshTest, APairThatIsSlowTwiceFailsByTheMedianOfItsRail) {
  MakePorts(4);
  const auto is_slow = [](const Port& from) { return from.rail == "rail0" && from.pod() == "ml/p2"; };
  const Check& check = Measure([&](const Port& from, int) { return Of(kPass, is_slow(from) ? 70 : 7); });
  EXPECT_EQ(check.verdict(), kFail);
  for (const Attempt& attempt : check.attempts()) {
    const bool slow = attempt.rail() == "rail0" && attempt.from() == "ml/p2";
    EXPECT_EQ(attempt.verdict(), slow ? kFail : kPass) << attempt.rail() << " " << attempt.from();
    EXPECT_EQ(attempt.seen(), slow ? "seen; the rail's median is 7.0 us" : "seen");
  }
}

TEST_F(MeshTest, APairThatIsSlowOncePasses) {
  MakePorts(4);
  const Check& check = Measure(
      [](const Port& from, int time) { return Of(kPass, from.pod() == "ml/p2" && time == 1 ? 70 : 7); });
  EXPECT_EQ(check.verdict(), kPass) << check.why();
}

}  // namespace
}  // namespace rail::accept
