// The chain in mode `vrf`: tenants that have the same addresses, namespaces that have no tenant with a VLAN, a mode that has changed.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/engine/attach/tenant_addresses.h"
#include "plugins/testing/rail_chain.h"

namespace rail {
namespace {

using engine::testing::Answer;
using engine::testing::Dependency;
using engine::testing::Name;
using engine::testing::PodSpec;
using state::ClaimKind;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr Dependency kEdges[] = {Dependency::kOvsdb,   Dependency::kOpenFlow, Dependency::kBgp,
                                 Dependency::kNetlink, Dependency::kDevices,  Dependency::kPods,
                                 Dependency::kIpam,    Dependency::kState};

class VlanChainTest : public testing::RailChainTest {
 protected:
  VlanChainTest() { testing::GiveVlans(world); }

  // IPAM is each network's own: what it gives next, it has given to nobody that it knows of.
  void MustAddAt(const PodSpec& pod, const std::string& prefix) {
    world.ipam.GiveNext(prefix);
    MustAdd(pod);
  }
  std::optional<int64_t> OwnerOf(const std::string& claim) {
    return world.record.OwnerOf(ClaimKind::kAddress, claim).value();
  }
  std::string Status(size_t plugin) {
    chain.more_config = R"("cniVersion": "1.1.0")";
    const Answer answer = chain.Run(plugin, "STATUS", world.MakePod("new", "ns-a", "vf3"), "");
    chain.more_config.clear();
    return answer ? "" : fmt::format("{} {}", answer.code, answer.text);
  }

  const PodSpec red = world.MakePod("p1", "ns-a", "vf0");
  const PodSpec blue = world.MakePod("p2", "ns-b", "vf1");
};

TEST_F(VlanChainTest, TwoTenantsHaveOneAddressOnOneNodeAndRail) {
  MustAddAt(red, "10.0.3.7/24");
  MustAddAt(blue, "10.0.3.7/24");
  EXPECT_EQ(OwnerOf("red/10.0.3.7"), world.Attachment(red).id);
  EXPECT_EQ(OwnerOf("blue/10.0.3.7"), world.Attachment(blue).id);
  EXPECT_EQ(OwnerOf("10.0.3.7"), std::nullopt);
  ExpectDone(chain.Check(red));
  ExpectDone(chain.Check(blue));
  const auto of_blue = world.RulesOf(blue);
  ExpectDone(chain.Del(red));
  EXPECT_EQ(world.RulesOf(blue), of_blue);
  ExpectSoleOwner(blue);
}

TEST_F(VlanChainTest, TwoPodsOfOneTenantDoNotHaveOneAddress) {
  MustAddAt(red, "10.0.3.7/24");
  const PodSpec other = world.MakePod("p3", "ns-a", "vf2");
  world.ipam.GiveNext("10.0.3.7/24");
  const Answer answer = chain.Add(other);
  EXPECT_EQ(answer.plugin, "tenant-isolation");
  EXPECT_THAT(answer.text, AllOf(HasSubstr("red/10.0.3.7"), HasSubstr("c-p1")));
  ExpectDone(chain.Del(other));
  ExpectSoleOwner(red);
}

TEST_F(VlanChainTest, RefusesANamespaceWhoseTenantHasNoVlan) {
  const PodSpec lonely = world.MakePod("p3", "ns-c", "vf2");
  Answer answer = chain.Add(lonely);
  EXPECT_EQ(answer.plugin, "tenant-isolation");
  EXPECT_EQ(answer.code, 7U) << answer.text;
  EXPECT_THAT(answer.text,
              AllOf(HasSubstr("namespace ns-c"), HasSubstr("has no VLAN"), HasSubstr("tenancy.vlans")));
  EXPECT_THAT(world.RulesOf(ovs::CookieKind::kTenant), IsEmpty())
      << "nothing comes to it and it reaches nobody";
  EXPECT_THAT(world.RulesOf(lonely), Not(Contains(Field(&ovs::Rule::table, pipeline::kForwardTable))));
  ExpectDone(chain.Del(lonely));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
  // One that is called as a tenant that has a VLAN.
  const PodSpec named = world.MakePod("p4", "red", "vf2");
  answer = chain.Add(named);
  EXPECT_THAT(answer.text, HasSubstr("namespace red is of tenant red, which has no VLAN"));
  ExpectDone(chain.Del(named));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

TEST_F(VlanChainTest, RefusesEverythingButDelWhileTheModeIsNotThatOfThePods) {
  const config::Tenancy as_it_was = world.config.tenancy;
  MustAdd(red);
  const char* const words = "the mode cannot change while pods run";
  world.config.tenancy = {};
  EXPECT_THAT(Status(0), AllOf(HasSubstr("51 "), HasSubstr(words)));
  EXPECT_THAT(Status(1), AllOf(HasSubstr("50 "), HasSubstr(words)));
  EXPECT_THAT(chain.Check(red).text, HasSubstr(words));
  const Answer answer = chain.Add(blue);
  EXPECT_EQ(answer.plugin, "ovs-provider");
  EXPECT_THAT(answer.text, HasSubstr(words));
  EXPECT_EQ(world.FindAttachment(blue), std::nullopt) << "nothing was begun";
  world.config.tenancy = as_it_was;
  EXPECT_EQ(Status(0), "");
  ExpectDone(chain.Check(red));
  // Between two plugins of one ADD.
  world.config.tenancy = as_it_was;
  const Answer plumbed = chain.Run(0, "ADD", blue, "");
  ASSERT_TRUE(plumbed) << plumbed.text;
  world.config.tenancy = {};
  EXPECT_THAT(chain.Run(1, "ADD", blue, plumbed.result).text,
              HasSubstr("the mode cannot change while pods run"));
  ExpectDone(chain.Del(blue));
  ExpectDone(chain.Del(red));
  world.config.tenancy = as_it_was;
  EXPECT_THAT(world.Leftovers(), IsEmpty());
  world.config.tenancy = {};
  MustAdd(blue);  // the mode is free again
  world.config.tenancy = as_it_was;
  EXPECT_THAT(Status(0), HasSubstr("were attached without it"));
  world.config.tenancy = {};
  ExpectSoleOwner(blue);
}

TEST_F(VlanChainTest, AVlanThatIsNotThatOfThePodsStopsItsTenantAlone) {
  const config::Tenancy as_it_was = world.config.tenancy;
  MustAdd(red);
  const auto rules = world.RulesOf(ovs::CookieKind::kTenant);
  const PodSpec more = world.MakePod("p3", "ns-a", "vf2");
  config::Tenancy renumbered = as_it_was;
  renumbered.vlans.of_tenant["red"] = 107;
  config::Tenancy without = as_it_was;
  without.tenants.erase("red");
  without.vlans.of_tenant.erase("red");
  for (const config::Tenancy& tenancy : {renumbered, without}) {
    world.config.tenancy = tenancy;
    EXPECT_EQ(Status(0), "");
    EXPECT_EQ(Status(1), "");
    EXPECT_THAT(chain.Check(red).text, HasSubstr("a tenant's VLAN cannot change while pods of it run"));
    const Answer answer = chain.Add(more);
    EXPECT_EQ(answer.plugin, "tenant-isolation");
    EXPECT_EQ(world.RulesOf(ovs::CookieKind::kTenant), rules) << "none of a pod that was refused";
    ExpectDone(chain.Del(more));
    ExpectDone(chain.Add(blue));
    ExpectDone(chain.Check(blue));
    ExpectDone(chain.Del(blue));
  }
  world.config.tenancy = as_it_was;
  ExpectSoleOwner(red);
}

// Nobody but the sweep takes a dead pod out of the record, and the sweep is raild's.
TEST_F(VlanChainTest, RaildStartsAndAttachesBesideADeadPodOfATenantThatHasLeft) {
  MustAdd(red);
  world.EndNamespace(red);
  world.config.tenancy.tenants.erase("red");
  world.config.tenancy.vlans.of_tenant.erase("red");
  EXPECT_TRUE(engine::KeepsMode(world.config, world.record.List().value(), world.record));
  ExpectDone(chain.Add(blue));
  ExpectDone(chain.Check(blue));
}

TEST_F(VlanChainTest, GcLeavesThePodOfTheOtherTenantWithTheSameAddress) {
  MustAddAt(red, "10.0.3.7/24");
  MustAddAt(blue, "10.0.3.7/24");
  chain.more_config = fmt::format(
      R"("cniVersion": "1.1.0", "cni.dev/valid-attachments": [{{"containerID": "{}", "ifname": "{}"}}])",
      blue.container, blue.ifname);
  for (size_t plugin = 0; plugin < chain.size(); ++plugin) {
    const Answer answer = chain.Run(plugin, "GC", blue, "");
    EXPECT_TRUE(answer) << answer.text;
  }
  chain.more_config.clear();
  EXPECT_EQ(world.FindAttachment(red), std::nullopt);
  EXPECT_EQ(OwnerOf("red/10.0.3.7"), std::nullopt);
  EXPECT_EQ(OwnerOf("blue/10.0.3.7"), world.Attachment(blue).id);
  ExpectSoleOwner(blue);
}

TEST_F(VlanChainTest, WhicheverCallOfAddFailsNothingIsLeftOfItNorTakenOfTheOther) {
  MustAddAt(blue, "10.0.3.7/24");
  const auto of_blue = world.RulesOf(blue);
  const auto with_blue = world.Leftovers();
  int failed = 0;
  for (const Dependency dependency : kEdges) {
    for (int call = 1;; ++call) {
      SCOPED_TRACE(fmt::format("{} call {}", Name(dependency), call));
      world.ipam.GiveNext("10.0.3.7/24");
      world.faults.FailCall(dependency, call, {Code::kTransient, "no answer"});
      const Answer answer = chain.Add(red);
      const bool done = !world.faults.failed();
      world.faults.NoFault();
      if (done) {
        ExpectDone(answer);
      } else if (!answer) {  // who waits for a session asks bgpd again
        EXPECT_THAT(answer.text, HasSubstr("no answer"));
      }
      ExpectDone(chain.Del(red));
      EXPECT_EQ(world.Leftovers(), with_blue);
      EXPECT_EQ(world.RulesOf(blue), of_blue);
      EXPECT_EQ(OwnerOf("red/10.0.3.7"), std::nullopt);
      if (done) break;
      ++failed;
    }
  }
  EXPECT_GT(failed, 25);
  std::printf("[          ] %d calls of ADD in mode vrf failed, one at a time\n", failed);
  ExpectSoleOwner(blue);
}

}  // namespace
}  // namespace rail
