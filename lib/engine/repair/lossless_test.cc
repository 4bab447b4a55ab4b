#include "lib/engine/repair/lossless.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "lib/engine/repair/origin.h"
#include "lib/netlink/testing/dcb.h"
#include "lib/state/testing/memory.h"

namespace rail::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class LosslessTest : public ::testing::Test {
 protected:
  LosslessTest() {
    EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
    path_ = folder_ + "/origin.json";
    config::Rail rail;
    rail.name = "rail0";
    rail.pf = "p0";
    rail.lossless = config::Lossless{.trust = config::Trust::kDscp,
                                     .pfc = std::set<uint8_t>{3},
                                     .dscp_to_priority = {{26, 3}},
                                     .manage_qos = true};
    config_.rails = {rail};
    links_.links["p0"] = {.pfc = netlink::DcbPfc{}, .ets = {}, .apps = {}, .peer_pfc = {}};
  }
  ~LosslessTest() override { std::filesystem::remove_all(folder_); }

  // As a raild that has just been started.
  bool Look() {
    Deps deps;
    deps.openers = [this](const config::NodeConfig&) {
      Openers openers;
      openers.dcb = [this]() -> Result<std::unique_ptr<netlink::Dcb>> {
        return std::make_unique<netlink::testing::FakeDcb>(links_);
      };
      openers.look_at_qos = [](const std::string& uplink, netlink::Dcb& dcb) {
        return qos::Look(uplink, dcb, sriov::Sysfs("/nowhere"));
      };
      return openers;
    };
    deps.origin = std::make_shared<Origin>(path_);
    const bool changed = LosslessRepair(config_, deps, node_status_).Look();
    node_status_.Publish(record_);
    return changed;
  }
  const RailView& Shown() {
    shown_ = views_.Current();
    return shown_->rails.at(0);
  }
  std::vector<std::string> Problems() {
    std::vector<std::string> problems;
    for (const Health& health : views_.Current()->health)
      if (!health.ok) problems.push_back(ToText(health.part) + ": " + health.problem);
    return problems;
  }

  config::NodeConfig config_;
  netlink::testing::DcbLinks links_;
  state::testing::Memory store_;
  RecordReader record_{store_};
  ViewPublisher views_;
  std::shared_ptr<const NodeView> shown_;
  NodeStatus node_status_{config_, {}, views_};
  std::string folder_ = (std::filesystem::temp_directory_path() / "rail-lossless-XXXXXX").string();
  std::string path_;
};

TEST_F(LosslessTest, SetsWhatIsWantedOnceAndRecordsWhatWas) {
  EXPECT_TRUE(Look());
  EXPECT_THAT(links_.changes, ElementsAre("p0 pfc 8", "p0 add 26:3"));
  EXPECT_TRUE(Shown().seen.lossless_ok());
  EXPECT_THAT(Shown().seen.lossless_problems(), IsEmpty());
  EXPECT_FALSE(Look()) << "nothing is new";
  EXPECT_EQ(links_.changes.size(), 2U);
  const auto origin = ReadOrigin(path_);
  EXPECT_EQ(origin->qos.at("p0").pfc, 0);
  EXPECT_THAT(origin->qos.at("p0").dscp.at(26), IsEmpty());
}

TEST_F(LosslessTest, SetsAgainWhatOthersHaveChanged) {
  Look();
  EXPECT_EQ(views_.Current()->repairs, 0U) << "the first time is no repair";
  links_.links["p0"].pfc->enabled = 0x10;
  Look();
  EXPECT_EQ(views_.Current()->repairs, 1U);
  EXPECT_EQ(links_.links["p0"].pfc->enabled, 8);
  EXPECT_EQ(ReadOrigin(path_)->qos.at("p0").pfc, 0)
      << "what was there before raild, not before the last time";
}

TEST_F(LosslessTest, GivesBackWhenItIsToldToStop) {
  Look();
  config_.rails[0].lossless->manage_qos = false;
  Look();
  EXPECT_EQ(links_.links["p0"].pfc->enabled, 0);
  EXPECT_THAT(links_.links["p0"].apps, IsEmpty());
  EXPECT_THAT(ReadOrigin(path_)->qos, IsEmpty());
  EXPECT_EQ(Shown().seen.lossless_problems_size(), 2) << "PFC and trust differ now";
}

TEST_F(LosslessTest, GivesBackWhenTheSectionOrTheRailIsGone) {
  Look();
  config_.rails.clear();
  Look();
  EXPECT_EQ(links_.links["p0"].pfc->enabled, 0);
}

TEST_F(LosslessTest, ForgetsAnUplinkWhoseDeviceIsGone) {
  Look();
  config_.rails[0].lossless.reset();
  links_.links.clear();
  Look();
  EXPECT_THAT(ReadOrigin(path_)->qos, IsEmpty());
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(LosslessTest, KeepsTheRecordOfWhatItCannotGiveBack) {
  Look();
  config_.rails[0].lossless->manage_qos = false;
  links_.read_only = true;
  Look();
  EXPECT_EQ(ReadOrigin(path_)->qos.size(), 1U);
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("QoS that is given back: ")));
  links_.read_only = false;
  Look();
  EXPECT_THAT(ReadOrigin(path_)->qos, IsEmpty());
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(LosslessTest, ChangesNothingUnlessNodeJsonSaysSo) {
  config_.rails[0].lossless->manage_qos = false;
  Look();
  EXPECT_THAT(links_.changes, IsEmpty());
  EXPECT_TRUE(Shown().seen.lossless_known());
  EXPECT_FALSE(Shown().seen.lossless_ok());
  EXPECT_THAT(Shown().seen.lossless_problems(0), HasSubstr("p0 pauses (PFC) for priority none"));
  config_.rails[0].lossless.reset();
  EXPECT_FALSE(Look());
}

TEST_F(LosslessTest, ChangesNothingThatCannotBeRecordedBefore) {
  std::filesystem::create_directory(path_);  // no file can be there
  Look();
  EXPECT_THAT(links_.changes, IsEmpty());
  EXPECT_THAT(Problems(), ::testing::Contains(HasSubstr("QoS of rail rail0: record what was there before")));
}

TEST_F(LosslessTest, SaysWhatADriverRefuses) {
  links_.read_only = true;
  Look();
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("QoS of rail rail0: p0 pfc 8: Operation not supported")));
  links_.read_only = false;
  Look();
  EXPECT_THAT(Problems(), IsEmpty());
}

}  // namespace
}  // namespace rail::engine
