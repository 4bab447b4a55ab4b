// What every Dcb does: the same cases on the fake and, where RAILCNI_TEST_DCB names a link with dcbnl of this machine, on the kernel.
// What the link had before is put back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "lib/netlink/kernel_dcb.h"
#include "lib/netlink/testing/dcb.h"

namespace rail::netlink {
namespace {

using ::testing::Contains;
using ::testing::Not;

enum class Which { kFake, kKernel };
constexpr char kRealLink[] = "RAILCNI_TEST_DCB";

std::string NameOf(Which which) {
  return which == Which::kFake ? "Fake" : "Kernel";
}
void PrintTo(Which which, std::ostream* out) {
  *out << NameOf(which);
}
std::vector<Which> Implementations() {
  std::vector<Which> all{Which::kFake};
  if (std::getenv(kRealLink) != nullptr) all.push_back(Which::kKernel);
  return all;
}

constexpr DcbApp Dscp(uint16_t dscp, uint8_t priority) {
  return {.selector = DcbApp::kDscp, .priority = priority, .protocol = dscp};
}

class DcbContract : public ::testing::TestWithParam<Which> {
 protected:
  void SetUp() override {
    if (GetParam() == Which::kFake) {
      links_.links[link_] = {.pfc = DcbPfc{}, .ets = DcbEts{}, .apps = {}, .peer_pfc = {}};
      links_.plain = {"lo"};
      dcb_ = std::make_unique<testing::FakeDcb>(links_);
    } else {
      link_ = std::getenv(kRealLink);
      dcb_ = KernelDcb::Open().value();
    }
    before_ = dcb_->Get(link_).value();
  }
  void TearDown() override {
    for (const DcbApp& app : Now().apps) Must(dcb_->DeleteApp(link_, app));
    for (const DcbApp& app : before_.apps) Must(dcb_->AddApp(link_, app));
    Must(dcb_->SetPfc(link_, before_.pfc->enabled));
  }
  DcbState Now() { return dcb_->Get(link_).value(); }
  static void Must(const Status& status) { EXPECT_TRUE(status) << status.error().message; }

  std::string link_ = "p0";
  testing::DcbLinks links_;
  std::unique_ptr<Dcb> dcb_;
  DcbState before_;
};

TEST_P(DcbContract, PausesThePrioritiesThatAreAskedForAndNoOthers) {
  Must(dcb_->SetPfc(link_, 0b0000'1000));
  EXPECT_EQ(Now().pfc->enabled, 0b0000'1000);
  Must(dcb_->SetPfc(link_, 0b0001'1000));
  Must(dcb_->SetPfc(link_, 0b0001'1000));
  EXPECT_EQ(Now().pfc->enabled, 0b0001'1000);
  Must(dcb_->SetPfc(link_, 0));
  EXPECT_EQ(Now().pfc->enabled, 0);
  EXPECT_EQ(Now().pfc->delay, before_.pfc->delay);
}

TEST_P(DcbContract, AddsAndDeletesEntriesOnce) {
  Must(dcb_->AddApp(link_, Dscp(26, 3)));
  Must(dcb_->AddApp(link_, Dscp(26, 3)));
  Must(dcb_->AddApp(link_, Dscp(48, 6)));
  EXPECT_THAT(Now().apps, Contains(Dscp(26, 3)).Times(1));
  EXPECT_THAT(Now().apps, Contains(Dscp(48, 6)));
  Must(dcb_->DeleteApp(link_, Dscp(26, 3)));
  Must(dcb_->DeleteApp(link_, Dscp(26, 3)));
  EXPECT_THAT(Now().apps, Not(Contains(Dscp(26, 3))));
  EXPECT_THAT(Now().apps, Contains(Dscp(48, 6)));
}

TEST_P(DcbContract, KnowsTheTrafficClassOfEachPriority) {
  EXPECT_TRUE(Now().ets);
}

TEST_P(DcbContract, SaysWhichLinkIsNotThereAndWhichDriverHasNone) {
  EXPECT_EQ(dcb_->Get("no-such-link").error().code, Code::kNotFound);
  EXPECT_EQ(dcb_->DeleteApp("no-such-link", Dscp(26, 3)).error().code, Code::kNotFound);
  EXPECT_EQ(dcb_->Get("lo").error().code, Code::kUnsupported);
  EXPECT_EQ(dcb_->SetPfc("lo", 8).error().code, Code::kUnsupported);
}

INSTANTIATE_TEST_SUITE_P(All, DcbContract, ::testing::ValuesIn(Implementations()),
                         [](const auto& each) { return NameOf(each.param); });

}  // namespace
}  // namespace rail::netlink
