// What every address manager promises: the fake, and the plugins of containernetworking as Debian installs them.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "lib/cni/ipam.h"
#include "lib/cni/testing/fake_ipam.h"
#include "lib/cni/testing/request.h"

namespace rail::cni {
namespace {

using testing::FakeIpam;
using testing::MakeRequest;

enum class Memory { kKeepsTrack, kStateless };

struct Manager {
  std::string name;
  Memory memory;
  // Makes it with the two addresses 10.9.0.2 and 10.9.0.3, and tells the "ipam" of its configuration.
  std::unique_ptr<Ipam> (*make)(const std::string& folder, std::string& ipam);
};

void PrintTo(const Manager& manager, std::ostream* out) {
  *out << manager.name;
}

const Manager kManagers[] = {
    {"Fake", Memory::kKeepsTrack,
     [](const std::string&, std::string& ipam) -> std::unique_ptr<Ipam> {
       ipam = R"({"type": "fake"})";
       return std::make_unique<FakeIpam>(std::vector<std::string>{"10.9.0.2/29", "10.9.0.3/29"});
     }},
    {"HostLocal", Memory::kKeepsTrack,
     [](const std::string& folder, std::string& ipam) -> std::unique_ptr<Ipam> {
       ipam =
           R"({"type": "host-local", "dataDir": ")" + folder +
           R"(", "ranges": [[{"subnet": "10.9.0.0/29", "rangeStart": "10.9.0.2", "rangeEnd": "10.9.0.3"}]]})";
       return std::make_unique<ExecIpam>();
     }},
    {"Static", Memory::kStateless,
     [](const std::string&, std::string& ipam) -> std::unique_ptr<Ipam> {
       ipam = R"({"type": "static", "addresses": [{"address": "10.9.0.2/29"}]})";
       return std::make_unique<ExecIpam>();
     }},
};

class IpamContract : public ::testing::TestWithParam<Manager> {
 protected:
  IpamContract() {
    char name[] = "/tmp/railcni-ipam-contract-XXXXXX";
    folder_ = ::mkdtemp(name);
    ipam_ = GetParam().make(folder_, config_);
  }
  ~IpamContract() override { std::filesystem::remove_all(folder_); }

  Request Make(const std::string& command, const std::string& container,
               const std::string& version = "1.0.0") const {
    const std::string previous =
        R"({"cniVersion": ")" + version + R"(", "interfaces": [{"name": "net1", "sandbox": "/x"}],
        "ips": [{"version": "4", "interface": 0, "address": "10.9.0.2/29"}]})";
    return MakeRequest(command,
                       R"({"cniVersion": ")" + version +
                           R"(", "name": "rail0", "type": "ovs-provider", "ipam": )" + config_ +
                           (command == "ADD" ? "" : R"(, "prevResult": )" + previous) + "}",
                       {{"CNI_CONTAINERID", container}});
  }
  Outcome<AddResult> Add(const std::string& container, const std::string& version = "1.0.0") {
    return ipam_->Add(Make("ADD", container, version), Soon());
  }
  Outcome<void> Del(const std::string& container) { return ipam_->Del(Make("DEL", container), Soon()); }
  Outcome<void> Check(const std::string& container) { return ipam_->Check(Make("CHECK", container), Soon()); }
  bool keeps_track() const { return GetParam().memory == Memory::kKeepsTrack; }
  static Deadline Soon() { return After(std::chrono::seconds(20)); }

  std::string folder_;
  std::string config_;
  std::unique_ptr<Ipam> ipam_;
};

std::string NameOf(const ::testing::TestParamInfo<Manager>& instance) {
  return instance.param.name;
}
INSTANTIATE_TEST_SUITE_P(Of, IpamContract, ::testing::ValuesIn(kManagers), NameOf);

TEST_P(IpamContract, AddGivesAnAddressWithoutInterfacesInEveryVersion) {
  for (const std::string& version : SupportedVersions()) {
    const auto result = Add("c1", version);
    ASSERT_TRUE(result) << version << " " << result.error().msg << " " << result.error().details;
    ASSERT_EQ(result->ips.size(), 1U);
    EXPECT_EQ(result->ips[0].address.length, 29);
    EXPECT_EQ(result->ips[0].interface, -1);
    EXPECT_TRUE(result->interfaces.empty());
    ASSERT_TRUE(Del("c1"));
  }
}

TEST_P(IpamContract, DelMayBeRepeatedAndNeedsNoAdd) {
  EXPECT_TRUE(Del("c1"));
  ASSERT_TRUE(Add("c1"));
  EXPECT_TRUE(Del("c1"));
  EXPECT_TRUE(Del("c1"));
}

TEST_P(IpamContract, DelNeedsNoNamespaceAndNoPreviousResult) {
  ASSERT_TRUE(Add("c1"));
  const Request request =
      MakeRequest("DEL", R"({"cniVersion": "1.0.0", "name": "rail0", "ipam": )" + config_ + "}",
                  {{"CNI_NETNS", ""}, {"CNI_CONTAINERID", "c1"}});
  EXPECT_TRUE(ipam_->Del(request, Soon()));
  if (keeps_track()) {
    EXPECT_FALSE(Check("c1"));
  }
}

TEST_P(IpamContract, CheckSucceedsRightAfterAdd) {
  ASSERT_TRUE(Add("c1"));
  const auto checked = Check("c1");
  EXPECT_TRUE(checked) << checked.error().msg;
}

TEST_P(IpamContract, StatusAndGcOfAnOldPluginHaveNothingToSay) {
  EXPECT_TRUE(ipam_->Forward(Make("STATUS", "c1", "1.1.0"), Soon()));
  EXPECT_TRUE(ipam_->Forward(Make("GC", "c1", "1.1.0"), Soon()));
}

class TrackingIpamContract : public IpamContract {};
INSTANTIATE_TEST_SUITE_P(Of, TrackingIpamContract, ::testing::Values(kManagers[0], kManagers[1]), NameOf);

TEST_P(TrackingIpamContract, EveryAttachmentGetsItsOwnAddressUntilNoneIsLeft) {
  const auto first = Add("c1");
  const auto second = Add("c2");
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->ips[0].address, second->ips[0].address);
  const auto third = Add("c3");
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, 999U);
  EXPECT_TRUE(Check("c1"));
  EXPECT_TRUE(Check("c2"));
}

TEST_P(TrackingIpamContract, DelMakesTheAddressFree) {
  const auto first = Add("c1");
  ASSERT_TRUE(first);
  ASSERT_TRUE(Add("c2"));
  ASSERT_TRUE(Del("c1"));
  EXPECT_FALSE(Check("c1"));
  const auto third = Add("c3");
  ASSERT_TRUE(third) << third.error().msg;
  EXPECT_EQ(third->ips[0].address, first->ips[0].address);
}

TEST_P(TrackingIpamContract, ASecondAddOfAnAttachmentFailsAndIsUndone) {
  ASSERT_TRUE(Add("c1"));
  const auto again = Add("c1");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, 999U);
  EXPECT_FALSE(Check("c1")) << "the DEL after the failed ADD gives the attachment's address back";
}

TEST_P(TrackingIpamContract, CheckFailsWithoutAnAddress) {
  EXPECT_FALSE(Check("c1"));
}

TEST(FakeIpam, FailsOnceAsTold) {
  FakeIpam ipam({"10.9.0.2/29"});
  const Request request =
      MakeRequest("ADD", R"({"cniVersion": "1.0.0", "name": "rail0", "ipam": {"type": "fake"}})");
  ipam.FailNext(CniError(11, "the daemon is down"));
  const auto failed = ipam.Add(request, {});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, 11U);
  EXPECT_TRUE(ipam.held().empty());
  EXPECT_TRUE(ipam.Add(request, {}));
  EXPECT_EQ(ipam.held().at("rail0/c1/net1"), "10.9.0.2/29");
}

}  // namespace
}  // namespace rail::cni
