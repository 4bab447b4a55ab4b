#include "plugins/frr-provider/frr_provider.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/engine/testing/attach.h"
#include "lib/engine/testing/chain.h"

namespace rail::frr_provider {
namespace {

using engine::testing::Answer;
using engine::testing::Chain;
using engine::testing::PodSpec;
using engine::testing::World;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A plugin that is not ours has made the interface and has its addresses from IPAM.
constexpr char kPrevious[] =
    R"({"cniVersion": "1.0.0", "interfaces": [{"name": "net1", "sandbox": "/x"}, {"name": "other"}],
  "ips": [{"address": "10.0.3.1/24", "interface": 0}, {"address": "10.9.9.9/24", "interface": 1}]})";

class Alone : public ::testing::Test {
 protected:
  Alone() {
    chain.previous = kPrevious;
    world.config.tenancy.mode = config::TenancyMode::kOff;
  }
  bool HasRecord() { return !world.record.List()->empty(); }

  World world;
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  Chain chain = Chain({MakePlugin(world.deps())});
};

TEST_F(Alone, AnnouncesTheAddressesOfItsInterfaceOnTheRailThatItIsTold) {
  chain.more_config = R"("rail": "rail1")";
  world.bgp.SetSession("br-rail1", "Established");
  const Answer answer = chain.Add(pod);
  ASSERT_TRUE(answer) << answer.text;
  EXPECT_THAT(*world.bgp.Announced({}),
              ElementsAre(frr::Announcement{*IpAddress::Parse("10.0.3.1"), "rail1", 1, {}}));
  EXPECT_TRUE(IsAlone(world.Attachment(pod)));
  EXPECT_TRUE(chain.Check(pod)) << chain.Check(pod).text;
  ASSERT_TRUE(chain.Del(pod));
  EXPECT_THAT(*world.bgp.Announced({}), IsEmpty());
  EXPECT_FALSE(HasRecord()) << "nobody else takes it back";
}

TEST_F(Alone, WorksTheRailOutByTheDevice) {
  chain.more_config = R"("rail": null)";
  const Answer answer = chain.Add(pod);
  ASSERT_TRUE(answer) << answer.text;
  EXPECT_EQ(world.Attachment(pod).rail, "rail0") << "vf0 is one of rail0's devices";
}

TEST_F(Alone, SaysThatTheRailIsNotKnown) {
  const PodSpec without = world.MakePod("p2", "ns-a", "");
  chain.more_config = R"("rail": null)";
  const Answer answer = chain.Add(without);
  EXPECT_EQ(answer.code, 7U);
  EXPECT_THAT(answer.text, HasSubstr("write \"rail\" into frr-provider's configuration (rail0, rail1)"));
  chain.more_config = R"("rail": "rail9")";
  EXPECT_THAT(chain.Add(without).text, HasSubstr("its rails are: rail0, rail1"));
  EXPECT_FALSE(HasRecord());
}

TEST_F(Alone, TenantsNeedTheOtherPlugins) {
  world.config.tenancy.mode = config::TenancyMode::kNamespace;
  const Answer answer = chain.Add(pod);
  EXPECT_EQ(answer.code, 7U);
  EXPECT_THAT(answer.text, HasSubstr("ovs-provider and tenant-isolation must stand earlier in the chain"));
  EXPECT_FALSE(HasRecord());
}

TEST_F(Alone, APodWithoutAnAddressIsRefused) {
  chain.previous = R"({"cniVersion": "1.0.0", "interfaces": [{"name": "net1"}]})";
  EXPECT_THAT(chain.Add(pod).text, HasSubstr("prevResult has no address for net1"));
  chain.previous = R"({"cniVersion": "1.0.0", "ips": [{"address": "127.0.0.1/8"}]})";
  EXPECT_THAT(chain.Add(pod).text, HasSubstr("127.0.0.1, which cannot be announced"));
  EXPECT_FALSE(HasRecord());
}

TEST_F(Alone, AFailedAddLeavesNothing) {
  world.bgp.SetSession("br-rail0", "Active");
  chain.more_config = R"("wait_ms": 20)";
  EXPECT_EQ(chain.Add(pod).code, 11U);
  EXPECT_THAT(*world.bgp.Announced({}), IsEmpty());
  EXPECT_FALSE(HasRecord());
}

TEST_F(Alone, AnAddressIsOnePods) {
  ASSERT_TRUE(chain.Add(pod));
  const PodSpec second = world.MakePod("p2", "ns-a", "vf0");
  const Answer answer = chain.Add(second);
  EXPECT_FALSE(answer);
  EXPECT_THAT(answer.text, HasSubstr("10.0.3.1"));
  EXPECT_EQ(world.record.List()->size(), 1U);
}

TEST(BesideOvsProvider, AnotherRailIsRefused) {
  World world;
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  ASSERT_TRUE(engine::testing::Attach(world, pod, "10.0.3.1"));
  Chain chain({MakePlugin(world.deps())});
  ASSERT_TRUE(chain.Run(0, "DEL", pod, ""));
  state::Attachment attachment = world.Attachment(pod);
  attachment.phase = state::Phase::kReady;
  ASSERT_TRUE(world.record.Put(attachment));
  chain.previous = kPrevious;
  chain.more_config = R"("rail": "rail1")";
  const Answer answer = chain.Add(pod);
  EXPECT_EQ(answer.code, 7U);
  EXPECT_THAT(answer.text, HasSubstr("ovs-provider has attached the pod to rail0"));
  chain.more_config = R"("rail": "rail0")";
  EXPECT_TRUE(chain.Add(pod)) << chain.Add(pod).text;
}

TEST(StatusOfARail, IsFiftyUntilItsSessionIsUp) {
  World world;
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  Chain chain({MakePlugin(world.deps())});
  chain.more_config = R"("cniVersion": "1.1.0", "rail": "rail1")";
  world.bgp.SetSession("br-rail0", "Established");
  world.bgp.SetSession("br-rail1", "Active");
  const Answer answer = chain.Run(0, "STATUS", pod, "");
  EXPECT_EQ(answer.code, 50U);
  EXPECT_THAT(answer.text, HasSubstr("rail rail1 has no Established session"));
  world.bgp.SetSession("br-rail1", "Established");
  EXPECT_TRUE(chain.Run(0, "STATUS", pod, "")) << chain.Run(0, "STATUS", pod, "").text;
}

}  // namespace
}  // namespace rail::frr_provider
