#include "lib/tenancy/tenancy.h"

#include <gtest/gtest.h>

#include <string>

namespace rail::tenancy {
namespace {

constexpr uint32_t kAsn = 4200000000;

config::NodeConfig Node() {
  config::NodeConfig node;
  node.tenancy.tenants = {{"team-a", {"ns-a", "ns-a-dev"}}};
  node.bgp.community_asn = kAsn;
  return node;
}

TEST(TenantId, PrintsTwentyEightDigitsAndReadsThem) {
  EXPECT_EQ((TenantId{0, 7}.ToString()), "0000000000000000000000000007");
  const TenantId id{0xfedcba98765432, 0x00000000abcdef};
  EXPECT_EQ(id.ToString(), "fedcba9876543200000000abcdef");
  EXPECT_EQ(TenantId::Parse(id.ToString()).value(), id);
  EXPECT_EQ(TenantId::Parse("0000000000000100000000000000").value(), (TenantId{1, 0}));
}

TEST(TenantId, ReadsNothingElse) {
  for (const char* text : {"", "7", "fedcba9876543200000000abcde", "fedcba9876543200000000abcdef0",
                           "fedcba9876543200000000abcdeg", "FEDCBA9876543200000000ABCDEF",
                           "0x000000000000000000000000_7", "+edcba9876543200000000abcdef"}) {
    const auto id = TenantId::Parse(text);
    ASSERT_FALSE(id) << text;
    EXPECT_NE(id.error().message.find("28 hexadecimal digits"), std::string::npos);
  }
}

TEST(TenantId, IsNoneWhenBothHalvesAreZero) {
  EXPECT_TRUE(TenantId().is_none());
  EXPECT_FALSE((TenantId{0, 1}.is_none()));
  EXPECT_FALSE((TenantId{1, 0}.is_none()));
}

TEST(Communities, HoldAllBitsOfATenant) {
  const TenantId id{0xfedcba98765432, 0x0123456789abcd};
  const auto [high, low] = TenantCommunities(kAsn, id);
  EXPECT_EQ(high, (LargeCommunity{kAsn, 0x54fedcba, 0x98765432}));
  EXPECT_EQ(low, (LargeCommunity{kAsn, 0x55012345, 0x6789abcd}));
  EXPECT_EQ(TenantIn(kAsn, {low, RailCommunity(kAsn, 3), {1, 2, 3}, high}), id);
  EXPECT_EQ(TenantCommunities(kAsn, {0, 7})[1].ToString(), "4200000000:1426063360:7");
}

TEST(Communities, OfHalfATenantAreNobodys) {
  const auto [high, low] = TenantCommunities(kAsn, {5, 7});
  EXPECT_EQ(TenantIn(kAsn, {}), std::nullopt);
  EXPECT_EQ(TenantIn(kAsn, {high}), std::nullopt);
  EXPECT_EQ(TenantIn(kAsn, {low}), std::nullopt);
  EXPECT_EQ(TenantIn(kAsn, {high, high}), std::nullopt);
}

TEST(Communities, OfTwoTenantsAreNobodys) {
  const auto [high, low] = TenantCommunities(kAsn, {5, 7});
  const auto [other_high, other_low] = TenantCommunities(kAsn, {6, 8});
  EXPECT_EQ(TenantIn(kAsn, {high, low, other_high}), std::nullopt);
  EXPECT_EQ(TenantIn(kAsn, {high, low, other_low}), std::nullopt);
  EXPECT_EQ(TenantIn(kAsn, {other_high, other_low, high, low}), std::nullopt);
  EXPECT_EQ(TenantIn(kAsn, {high, low, high}), (TenantId{5, 7})) << "the same twice says the same";
}

TEST(Communities, OfAnotherOperatorKindOrOfNoTenantAreNobodys) {
  const auto [high, low] = TenantCommunities(kAsn, {5, 7});
  const auto [foreign_high, foreign_low] = TenantCommunities(kAsn + 1, {5, 7});
  EXPECT_EQ(TenantIn(kAsn, {foreign_high, foreign_low}), std::nullopt);
  EXPECT_EQ(TenantIn(kAsn, {high, foreign_low}), std::nullopt);
  EXPECT_EQ(TenantIn(kAsn, {high, low, foreign_high}), (TenantId{5, 7}));
  const auto [none_high, none_low] = TenantCommunities(kAsn, {});
  EXPECT_EQ(TenantIn(kAsn, {none_high, none_low}), std::nullopt);
  const auto [zero_high, low_alone] = TenantCommunities(kAsn, {0, 7});
  EXPECT_EQ(TenantIn(kAsn, {zero_high, low_alone}), (TenantId{0, 7}));
}

TEST(Communities, NameARail) {
  EXPECT_EQ(RailCommunity(kAsn, 3).ToString(), "4200000000:1375731712:3");
  EXPECT_EQ(RailOfCommunity(kAsn, RailCommunity(kAsn, 3)), 3U);
  EXPECT_EQ(RailOfCommunity(kAsn, TenantCommunities(kAsn, {0, 3})[1]), std::nullopt);
  EXPECT_EQ(RailOfCommunity(kAsn, RailCommunity(1, 3)), std::nullopt);
  EXPECT_EQ(RailOfCommunity(kAsn, {kAsn, 0x52000001, 3}), std::nullopt);
}

TEST(Communities, NameAPlane) {
  EXPECT_EQ(PlaneCommunity(kAsn, {3, 1}).ToString(), "4200000000:1342177280:769");
  for (uint32_t rail = 0; rail <= 99; ++rail) {
    for (uint32_t plane = 0; plane <= 12; ++plane) {
      const Plane one{static_cast<uint8_t>(rail), static_cast<uint8_t>(plane)};
      EXPECT_EQ(PlaneOfCommunity(kAsn, PlaneCommunity(kAsn, one)), one);
      EXPECT_EQ(RailOfCommunity(kAsn, PlaneCommunity(kAsn, one)), std::nullopt)
          << "an older raild reads none";
      EXPECT_EQ(TenantIn(kAsn, {PlaneCommunity(kAsn, one)}), std::nullopt);
    }
  }
  EXPECT_EQ(PlaneOfCommunity(kAsn, PlaneCommunity(1, {3, 1})), std::nullopt);
  EXPECT_EQ(PlaneOfCommunity(kAsn, RailCommunity(kAsn, 3)), std::nullopt);
  for (const uint32_t wrong : {13U, 100U << 8, 0xffffffffU, 0x10000U << 8})
    EXPECT_EQ(PlaneOfCommunity(kAsn, {kAsn, 0x50000000, wrong}), std::nullopt) << wrong;
}

TEST(Communities, ARailHasAPlaneWhereNodeJsonSaysSo) {
  config::Rail rail;
  rail.index = 7;
  EXPECT_EQ(PlaneOf(rail), std::nullopt);
  rail.place = {.rail = 3, .plane = 1};
  EXPECT_EQ(PlaneOf(rail), (Plane{3, 1}));
}

TEST(Community, ParsesThreeNumbersAndNothingElse) {
  EXPECT_EQ(*LargeCommunity::Parse("4294967295:0:7"), (LargeCommunity{4294967295, 0, 7}));
  for (const char* text : {"", ":", "1", "1:2", "1:2:", "1:2:3:4", "1:2:3 ", " 1:2:3", "1:2:+3", "1:2:-3",
                           "1::3", "4294967296:0:0", "a:b:c"}) {
    EXPECT_FALSE(LargeCommunity::Parse(text)) << text;
  }
}

Tenant Of(const config::NodeConfig& node, std::string_view pod_namespace, const TenantMap* map = nullptr) {
  const auto tenant = TenantOf(node, pod_namespace, [&]() -> Result<TenantMapPtr> {
    if (map == nullptr) return NoMap();
    return std::make_shared<const TenantMap>(*map);
  });
  return tenant ? *tenant : Tenant{"", {}};
}

// printf %s railcni/4200000000/tenant/team-a | sha256sum | cut -c1-28
TEST(TenantOf, IsTheBeginningOfTheHashOfAsnAndName) {
  EXPECT_EQ(Of(Node(), "ns-a").id.ToString(), "31e2901ed9f1544f80381c59c551");
  EXPECT_EQ(Of(Node(), "ns-b").id.ToString(), "7ae973f2ba818f5e21a6872636e9");
}

TEST(TenantOf, JoinsTheNamespacesOfATenant) {
  const Tenant tenant = Of(Node(), "ns-a");
  EXPECT_EQ(tenant.name, "team-a");
  EXPECT_EQ(Of(Node(), "ns-a-dev").id, tenant.id);
}

TEST(TenantOf, MakesANamespaceOutsideTheMapItsOwnTenant) {
  EXPECT_EQ(Of(Node(), "ns-b").name, "ns-b");
  // A namespace that calls itself like a tenant is not that tenant.
  EXPECT_NE(Of(Node(), "team-a").id, Of(Node(), "ns-a").id);
}

TEST(TenantOf, DiffersBetweenTwoClustersOnOneFabric) {
  config::NodeConfig other = Node();
  other.bgp.community_asn = kAsn + 1;
  EXPECT_EQ(Of(other, "ns-b").id.ToString(), "93fe3d016bcc8ebf24ea2d28956e");
}

// printf %s railcni/gpu-east/4200000000/namespace/ns-b | sha256sum | cut -c1-28
TEST(TenantOf, DiffersBetweenTwoClustersOfOtherNames) {
  config::NodeConfig east = Node(), west = Node();
  east.cluster.name = "gpu-east";
  west.cluster.name = "gpu-west";
  for (const char* const name : {"ns-a", "ns-b"}) {
    EXPECT_NE(Of(east, name).id, Of(west, name).id);
    EXPECT_NE(Of(east, name).id, Of(Node(), name).id);
  }
  EXPECT_EQ(Of(east, "ns-b").id.ToString(), "8f213cd805a6710f70999d2e5c9a");
}

TEST(AliasesOf, AreTheTenantsIdsUnderTheOtherNamesOfTheCluster) {
  config::NodeConfig east = Node(), old = Node();
  east.cluster = {"gpu-east", {"", "gpu-eest"}};
  config::NodeConfig typo = Node();
  typo.cluster.name = "gpu-eest";
  for (const char* const name : {"ns-a", "ns-b"}) {
    const Tenant tenant = Of(east, name);
    EXPECT_EQ(AliasesOf(east, tenant.name, tenant.id),
              (std::vector<TenantId>{Of(old, name).id, Of(typo, name).id}));
  }
  EXPECT_TRUE(AliasesOf(old, "ns-b", Of(old, "ns-b").id).empty()) << "the cluster has no alias";
  EXPECT_TRUE(AliasesOf(east, "ns-b", Of(old, "ns-b").id).empty()) << "the id is not of its name";
}

TEST(ClusterMark, IsOfTheUidOfKubeSystem) {
  EXPECT_EQ(MarkOf(NoMap()), std::nullopt);
  TenantMap map;
  map.namespaces = {{"kube-system", {}}, {"default", {.uid = "x"}}};
  const auto mark = [&] { return MarkOf(std::make_shared<const TenantMap>(map)); };
  EXPECT_EQ(mark(), std::nullopt);
  map.namespaces["kube-system"].uid = "1";
  const auto one = mark();
  map.namespaces["kube-system"].uid = "2";
  ASSERT_TRUE(one && mark());
  EXPECT_NE(one, mark());
  const LargeCommunity community = ClusterCommunity(kAsn, *one);
  EXPECT_EQ(community.first >> 24, 0x4bU);
  EXPECT_EQ(ClusterOfCommunity(kAsn, community), one);
  EXPECT_EQ(ClusterOfCommunity(kAsn + 1, community), std::nullopt);
  EXPECT_EQ(ClusterOfCommunity(kAsn, RailCommunity(kAsn, 3)), std::nullopt);
  EXPECT_EQ(TenantIn(kAsn, {community}), std::nullopt);
}

class Labels : public ::testing::Test {
 protected:
  Labels() {
    node.kubernetes.tenants = true;
    map.label_key = node.kubernetes.tenant_label;
    map.namespaces = {{"ns-a", {.label = "team-b"}},
                      {"ns-b", {.label = "team-a"}},
                      {"ns-c", {}},
                      {"ns-bad", {.label = "Team_A"}},
                      {"ns-empty", {.label = ""}}};
  }
  std::string Refused(std::string_view pod_namespace, const LoadMap& load) {
    const auto tenant = TenantOf(node, pod_namespace, load);
    EXPECT_FALSE(tenant) << pod_namespace;
    if (tenant) return "";
    EXPECT_EQ(tenant.error().code, Code::kTransient) << "the runtime tries again";
    return tenant.error().message;
  }
  Result<TenantMapPtr> Map() const { return std::make_shared<const TenantMap>(map); }
  config::NodeConfig node = Node();
  TenantMap map;
};

TEST_F(Labels, NameTheTenantThatNodeJsonOfAnotherNodeNames) {
  EXPECT_EQ(Of(node, "ns-b", &map).name, "team-a");
  EXPECT_EQ(Of(node, "ns-b", &map).id, Of(Node(), "ns-a").id);
  EXPECT_EQ(NamedTenant(node, "team-a").id, Of(Node(), "ns-a").id);
}

TEST_F(Labels, YieldToNodeJson) {
  EXPECT_EQ(Of(node, "ns-a", &map).name, "team-a");
  EXPECT_EQ(Of(node, "ns-a").name, "team-a") << "without a list, too";
}

TEST_F(Labels, LeaveANamespaceWithoutOneToItself) {
  EXPECT_EQ(Of(node, "ns-c", &map).id, Of(Node(), "ns-c").id);
  map.namespaces["team-a"] = {};
  EXPECT_NE(Of(node, "team-a", &map).id, Of(node, "ns-b", &map).id);
}

TEST_F(Labels, ThatCannotBeATenantLetNobodyIn) {
  const auto load = [this] { return Map(); };
  EXPECT_NE(Refused("ns-bad", load).find("railcni.io/tenant=Team_A cannot be a tenant"), std::string::npos);
  Refused("ns-empty", load);
}

TEST_F(Labels, AreNeverGuessed) {
  EXPECT_NE(Refused("ns-new", [this] { return Map(); }).find("has not heard of the namespace"),
            std::string::npos);
  EXPECT_NE(Refused("ns-b", NoMap).find("no list of the cluster's namespaces"), std::string::npos);
}

// Two tenants of one VLAN could not be told apart, and a namespace may have the name of another tenant.
TEST(TenantOf, HasAVlanInModeVrf) {
  config::NodeConfig node = Node();
  node.tenancy.mode = config::TenancyMode::kVrf;
  node.tenancy.vlans.of_tenant = {{"team-a", 101}};
  EXPECT_EQ(Of(node, "ns-a").id, Of(Node(), "ns-a").id);
  for (const char* other : {"ns-c", "team-a"}) {
    const auto tenant = TenantOf(node, other, NoMap);
    ASSERT_FALSE(tenant) << other;
    EXPECT_EQ(tenant.error().code, Code::kInvalid);
    EXPECT_NE(tenant.error().message.find("has no VLAN"), std::string::npos);
  }
  node.tenancy.vlans = {};
  EXPECT_FALSE(TenantOf(node, "ns-a", NoMap));
}

TEST(TenantOf, IsNobodyWhenOff) {
  config::NodeConfig node = Node();
  node.tenancy.mode = config::TenancyMode::kOff;
  EXPECT_TRUE(Of(node, "ns-a").id.is_none());
  EXPECT_EQ(Of(node, "ns-a").name, "");
}

}  // namespace
}  // namespace rail::tenancy
