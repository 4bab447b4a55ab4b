#include "test/api/railctl_run.h"

#include <algorithm>
#include <thread>
#include <tuple>

namespace rail {
namespace {

using nlohmann::json;
using testing::ElementsAre;

TEST_F(RailctlTest, WatchesAsOneJsonObjectALineUntilRaildStops) {
  std::ostringstream err;
  const railctl::Parsed parsed =
      railctl::ParseFlags({"get", "attachments", "-w", "-o", "json", "-n", "ml"}, socket_);
  // Stops the daemon when the watch has printed its second line.
  class StopAfterTwoLines final : public std::stringbuf {
   public:
    explicit StopAfterTwoLines(raild::Server& server) : server_(server) {}
    int sync() override {
      if (++flushes_ == 2) stopper_ = std::jthread([this] { server_.Stop(); });
      return 0;
    }

   private:
    raild::Server& server_;
    int flushes_ = 0;
    std::jthread stopper_;
  } buffer(*server_);
  std::ostream stream(&buffer);
  EXPECT_EQ(railctl::Run(*parsed.flags, stream, err, Now), railctl::kFailed);
  EXPECT_EQ(err.str(), "railctl: raild at " + socket_ + ": raild is stopping\n");

  std::istringstream lines(buffer.str());
  std::string line;
  std::vector<std::string> types;
  while (std::getline(lines, line)) {
    const json event = json::parse(line);
    types.push_back(event.at("type"));
    EXPECT_EQ(event.contains("attachment"), event.at("type") == "ADDED");
  }
  EXPECT_THAT(types, ElementsAre("ADDED", "SYNCED"));
}

TEST_F(RailctlTest, WatchesAsATableForPeople) {
  // Changes the view when the table is there, and stops the daemon after the change.
  class Script final : public std::stringbuf {
   public:
    Script(engine::ViewPublisher& views, raild::Server& server) : views_(views), server_(server) {}
    int sync() override {
      ++flushes_;
      if (flushes_ == 1) {
        engine::NodeView view = SampleView();
        view.attachments[2].attachment.phase = state::Phase::kReady;
        view.attachments[2].pending.clear();
        views_.Publish(view);
      } else if (flushes_ == 2) {
        stopper_ = std::jthread([this] { server_.Stop(); });
      }
      return 0;
    }

   private:
    engine::ViewPublisher& views_;
    raild::Server& server_;
    int flushes_ = 0;
    std::jthread stopper_;
  } buffer(views_, *server_);
  std::ostream stream(&buffer);
  std::ostringstream err;
  const railctl::Parsed parsed =
      railctl::ParseFlags({"get", "attachments", "-w", "--rail", "rail1"}, socket_);
  EXPECT_EQ(railctl::Run(*parsed.flags, stream, err, Now), railctl::kFailed);
  EXPECT_EQ(buffer.str(),
            R"(EVENT      NAMESPACE   POD    IFNAME   RAIL    ADDRESS   TENANT   STATE     RULES     BGP   AGE
ADDED      ml          gone   net1     rail1   -         -        Pending   missing   -     2m
MODIFIED   ml          gone   net1     rail1   -         -        Ready     missing   -     2m
)");
}

// Publishes a view after each of the first flushes, and stops the daemon after the last.
class ViewsThenStop final : public std::stringbuf {
 public:
  ViewsThenStop(engine::ViewPublisher& publisher, raild::Server& server, std::vector<engine::NodeView> views)
      : publisher_(publisher), server_(server), views_(std::move(views)) {}
  int sync() override {
    if (next_ < views_.size()) {
      publisher_.Publish(views_[next_++]);
    } else if (!stopper_.joinable()) {
      stopper_ = std::jthread([this] { server_.Stop(); });
    }
    return 0;
  }

 private:
  engine::ViewPublisher& publisher_;
  raild::Server& server_;
  const std::vector<engine::NodeView> views_;
  size_t next_ = 0;
  std::jthread stopper_;
};

TEST_F(RailctlTest, FollowsWhatRaildDoesNotStreamByItsChanges) {
  engine::NodeView changed = SampleView();
  changed.rails[0].seen.set_bgp_state("Active");
  changed.rails.pop_back();
  changed.repairs = 13;
  ViewsThenStop buffer(views_, *server_, {changed});
  std::ostream stream(&buffer);
  std::ostringstream err;
  const railctl::Parsed parsed = railctl::ParseFlags({"get", "rails", "-w"}, socket_);
  EXPECT_EQ(railctl::Run(*parsed.flags, stream, err, Now), railctl::kFailed);
  EXPECT_EQ(err.str(), "railctl: raild at " + socket_ + ": raild is stopping\n");
  EXPECT_EQ(
      buffer.str(),
      R"(EVENT      NAME    BRIDGE     PF          STATE       LEAF-MAC            BGP           RECEIVED   SENT   RULES
ADDED      rail0   br-rail0   ens1f0np0   Ready       02:00:00:00:0f:00   Established   3          2      21/21
ADDED      rail1   br-rail1   ens2f0np0   NoCarrier   -                   -             0          0      0/0
DELETED    rail1   br-rail1   ens2f0np0   NoCarrier   -                   -             0          0      0/0
MODIFIED   rail0   br-rail0   ens1f0np0   NoSession   02:00:00:00:0f:00   Active        3          2      21/21
)");
}

TEST_F(RailctlTest, FollowsRemotesTenantsAndTheNodesPartsAsOneJsonObjectALine) {
  for (const auto& [kind, name, first] : std::vector<std::tuple<const char*, const char*, size_t>>{
           {"remotes", "remote", 3}, {"tenants", "tenant", 2}, {"node", "part", 2}}) {
    Start();
    views_.Publish(SampleView());
    engine::NodeView changed = SampleView();
    changed.remotes.own().pop_back();
    changed.health[1].ok = true;
    ViewsThenStop buffer(views_, *server_, {changed});
    std::ostream stream(&buffer);
    std::ostringstream err;
    const railctl::Parsed parsed = railctl::ParseFlags({"get", kind, "-w", "-o", "json"}, socket_);
    EXPECT_EQ(railctl::Run(*parsed.flags, stream, err, Now), railctl::kFailed);
    std::istringstream lines(buffer.str());
    std::vector<std::string> types;
    for (std::string line; std::getline(lines, line);) {
      const json event = json::parse(line);
      types.push_back(event.at("type"));
      EXPECT_TRUE(event.contains(name)) << line;
    }
    ASSERT_EQ(types.size(), first + 1) << kind << buffer.str();
    EXPECT_EQ(std::ranges::count(types, "ADDED"), static_cast<ptrdiff_t>(first)) << kind;
  }
}

}  // namespace
}  // namespace rail
