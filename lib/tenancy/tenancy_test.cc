#include "lib/tenancy/tenancy.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <tuple>

namespace rail::tenancy {
namespace {

constexpr uint32_t kAsn = 4200000000;

config::Tenancy Config() {
  return {config::TenancyMode::kNamespace, {{"team-a", {"ns-a", "ns-a-dev"}}}, ""};
}

// The key file of one test.
class KeyFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "railcni-tenancy-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = folder_ + "/tenant.key";
  }
  void TearDown() override {
    ::unlink(path_.c_str());
    ::unlink((path_ + ".old").c_str());
    ::rmdir(folder_.c_str());
  }
  Result<Tenancy> Load(const std::string& key, mode_t mode) {
    {
      std::ofstream(path_, std::ios::binary) << key;
    }
    EXPECT_EQ(::chmod(path_.c_str(), mode), 0);
    return Load();
  }
  Result<Tenancy> Load() {
    config::Tenancy config = Config();
    config.key_file = path_;
    config.accept_key_files = {path_ + ".next", path_ + ".old"};
    return Tenancy::Load(config);
  }
  std::string folder_;
  std::string path_;
};

// RFC 4231, test cases 1, 2 and 6 (a key longer than the hash's block).
TEST(ComputeTenantId, IsTheFirstSevenBytesOfHmacSha256) {
  EXPECT_EQ(ComputeTenantId(std::string(20, '\x0b'), "Hi There").ToString(), "b0344c61d8db38");
  EXPECT_EQ(ComputeTenantId("Jefe", "what do ya want for nothing?").ToString(), "5bdcc146bf6075");
  EXPECT_EQ(
      ComputeTenantId(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First")
          .ToString(),
      "60e431591ee0b6");
}

TEST(TenantId, PrintsFourteenDigits) {
  EXPECT_EQ(TenantId{7}.ToString(), "00000000000007");
  EXPECT_EQ(TenantId{0xfedcba98765432}.ToString(), "fedcba98765432");
}

TEST(Community, HoldsAllFiftySixBitsOfATenant) {
  const TenantId id{0xfedcba98765432};
  const LargeCommunity community = TenantCommunity(kAsn, id);
  EXPECT_EQ(community, (LargeCommunity{kAsn, 0x54fedcba, 0x98765432}));
  EXPECT_EQ(TenantOfCommunity(kAsn, community), id);
  EXPECT_EQ(TenantCommunity(kAsn, {7}).ToString(), "4200000000:1409286144:7");
}

TEST(Community, OfAnotherOperatorOrKindIsNoTenant) {
  EXPECT_EQ(TenantOfCommunity(kAsn + 1, TenantCommunity(kAsn, {7})), std::nullopt);
  EXPECT_EQ(TenantOfCommunity(kAsn, RailCommunity(kAsn, 3)), std::nullopt);
  EXPECT_EQ(TenantOfCommunity(kAsn, {kAsn, 0x54000000, 0}), std::nullopt);
}

TEST(Community, NamesARail) {
  EXPECT_EQ(RailCommunity(kAsn, 3).ToString(), "4200000000:1375731712:3");
  EXPECT_EQ(RailOfCommunity(kAsn, RailCommunity(kAsn, 3)), 3U);
  EXPECT_EQ(RailOfCommunity(kAsn, TenantCommunity(kAsn, {3})), std::nullopt);
  EXPECT_EQ(RailOfCommunity(kAsn, RailCommunity(1, 3)), std::nullopt);
  EXPECT_EQ(RailOfCommunity(kAsn, {kAsn, 0x52000001, 3}), std::nullopt);
}

TEST(Community, ParsesThreeNumbersAndNothingElse) {
  EXPECT_EQ(*LargeCommunity::Parse("4294967295:0:7"), (LargeCommunity{4294967295, 0, 7}));
  for (const char* text : {"", ":", "1", "1:2", "1:2:", "1:2:3:4", "1:2:3 ", " 1:2:3", "1:2:+3", "1:2:-3",
                           "1::3", "4294967296:0:0", "a:b:c"}) {
    EXPECT_FALSE(LargeCommunity::Parse(text)) << text;
  }
}

TEST(Tenancy, JoinsTheNamespacesOfATenant) {
  const Tenancy tenancy(Config(), {"0123456789abcdef"});
  const Tenant tenant = tenancy.TenantOf("ns-a");
  EXPECT_EQ(tenant.name, "team-a");
  EXPECT_EQ(tenancy.TenantOf("ns-a-dev").id, tenant.id);
  EXPECT_EQ(tenant.id, ComputeTenantId("0123456789abcdef", "tenant/team-a"));
}

TEST(Tenancy, MakesANamespaceOutsideTheMapItsOwnTenant) {
  const Tenancy tenancy(Config(), {"0123456789abcdef"});
  EXPECT_EQ(tenancy.TenantOf("ns-b").name, "ns-b");
  EXPECT_EQ(tenancy.TenantOf("ns-b").id, ComputeTenantId("0123456789abcdef", "namespace/ns-b"));
  // A namespace that calls itself like a tenant is not that tenant.
  EXPECT_NE(tenancy.TenantOf("team-a").id, tenancy.TenantOf("ns-a").id);
}

TEST(Tenancy, GivesOtherIdsUnderAnotherKey) {
  EXPECT_NE(Tenancy(Config(), {"0123456789abcdef"}).TenantOf("ns-b").id,
            Tenancy(Config(), {"0123456789abcdeF"}).TenantOf("ns-b").id);
}

TEST(Tenancy, KnowsItsTenantsUnderEveryAcceptedKey) {
  const std::string today = "0123456789abcdef";
  const std::string old = "the key of before";
  const Tenancy tenancy(Config(), {today, old, today});
  EXPECT_EQ(tenancy.fingerprints(), (std::vector<std::string>{Fingerprint(today), Fingerprint(old)}))
      << "none twice";
  EXPECT_EQ(tenancy.TenantOf("ns-a").id, ComputeTenantId(today, "tenant/team-a"));
  const std::vector<TenantId> ids = tenancy.IdsOf("ns-a");
  EXPECT_EQ(ids, (std::vector<TenantId>{ComputeTenantId(today, "tenant/team-a"),
                                        ComputeTenantId(old, "tenant/team-a")}));
  for (const TenantId id : ids) EXPECT_TRUE(tenancy.IsOf("ns-a-dev", id));
  EXPECT_FALSE(tenancy.IsOf("team-a", ids[1]));
  EXPECT_FALSE(tenancy.IsOf("ns-a", ComputeTenantId("a key of nobody!", "tenant/team-a")));
}

TEST(Tenancy, RecognisesARecordedTenantByItsNameAndId) {
  const std::string today = "0123456789abcdef";
  const std::string old = "the key of before";
  const Tenancy tenancy({config::TenancyMode::kNamespace, {}, "", {}}, {today, old});
  // Also when the map has changed since: what it was, not what its namespace would be now.
  const auto of_map = tenancy.Recognise("team-a", ComputeTenantId(old, "tenant/team-a"));
  ASSERT_TRUE(of_map);
  EXPECT_EQ(of_map->key, 1U);
  EXPECT_EQ(of_map->ids.front(), ComputeTenantId(today, "tenant/team-a"));
  EXPECT_EQ(tenancy.Recognise("team-a", ComputeTenantId(today, "namespace/team-a"))->key, 0U);
  EXPECT_FALSE(tenancy.Recognise("team-b", ComputeTenantId(today, "namespace/team-a")));
  EXPECT_FALSE(tenancy.Recognise("team-a", {7}));
}

TEST(Fingerprint, IsEightDigitsThatAreNoTenants) {
  EXPECT_EQ(Fingerprint("0123456789abcdef").size(), 8U);
  EXPECT_NE(Fingerprint("0123456789abcdef"), Fingerprint("0123456789abcdeF"));
}

TEST(Tenancy, HasNoTenantsAndNeedsNoKeyWhenOff) {
  auto tenancy = Tenancy::Load({config::TenancyMode::kOff, {}, "/nowhere/tenant.key"});
  ASSERT_TRUE(tenancy) << tenancy.error().message;
  EXPECT_EQ(tenancy->TenantOf("ns-a").id, TenantId{});
}

TEST_F(KeyFile, IsReadByteForByte) {
  const std::string key("binary\0key of 24 bytes\n\n", 24);
  auto tenancy = Load(key, 0640);
  ASSERT_TRUE(tenancy) << tenancy.error().message;
  EXPECT_EQ(tenancy->TenantOf("ns-b").id, ComputeTenantId(key, "namespace/ns-b"));
}

TEST_F(KeyFile, IsRefusedWhenItsLengthIsWrong) {
  EXPECT_EQ(Load(std::string(15, 'k'), 0600).error().code, Code::kInvalid);
  EXPECT_TRUE(Load(std::string(16, 'k'), 0600));
  EXPECT_TRUE(Load(std::string(4096, 'k'), 0600));
  EXPECT_EQ(Load(std::string(4097, 'k'), 0600).error().code, Code::kInvalid);
}

TEST_F(KeyFile, IsRefusedWhenEverybodyCanUseIt) {
  for (const mode_t mode : {0644U, 0602U, 0601U})
    EXPECT_EQ(Load(std::string(32, 'k'), mode).error().code, Code::kInvalid) << mode;
}

TEST_F(KeyFile, IsNamedWhenMissing) {
  auto tenancy = Load();
  ASSERT_FALSE(tenancy);
  EXPECT_EQ(tenancy.error().code, Code::kNotFound);
  EXPECT_NE(tenancy.error().message.find(path_), std::string::npos);
}

TEST_F(KeyFile, ThatIsAlsoAcceptedMayBeAbsent) {
  auto tenancy = Load(std::string(32, 'k'), 0600);
  ASSERT_TRUE(tenancy) << tenancy.error().message;
  EXPECT_TRUE(tenancy->AcceptedProblem());
  EXPECT_EQ(tenancy->fingerprints().size(), 1U);
  ASSERT_EQ(tenancy->key_files().size(), 3U);
  EXPECT_TRUE(tenancy->key_files()[0].current);
  EXPECT_EQ(tenancy->key_files()[2], (tenancy::KeyFile{path_ + ".old", false, "", ""}));
}

TEST_F(KeyFile, ThatIsAlsoAcceptedCounts) {
  {
    std::ofstream(path_ + ".old") << std::string(16, 'o');
  }
  ASSERT_EQ(::chmod((path_ + ".old").c_str(), 0600), 0);
  auto tenancy = Load(std::string(32, 'k'), 0600);
  ASSERT_TRUE(tenancy) << tenancy.error().message;
  EXPECT_TRUE(tenancy->IsOf("ns-b", ComputeTenantId(std::string(16, 'o'), "namespace/ns-b")));
  EXPECT_EQ(tenancy->key_files()[2].fingerprint, Fingerprint(std::string(16, 'o')));
}

TEST_F(KeyFile, ThatIsAlsoAcceptedAndCannotBeUsedIsNamedAndKeepsNobodyFromTheKey) {
  for (const auto& [key, mode, why] : {std::tuple(std::string(15, 'o'), 0600U, "16 to 4096"),
                                       std::tuple(std::string(16, 'o'), 0644U, "0644")}) {
    {
      std::ofstream(path_ + ".old") << key;
    }
    ASSERT_EQ(::chmod((path_ + ".old").c_str(), mode), 0);
    auto tenancy = Load(std::string(32, 'k'), 0600);
    ASSERT_TRUE(tenancy) << tenancy.error().message;
    EXPECT_EQ(tenancy->IdsOf("ns-b").size(), 1U);
    const Status problem = tenancy->AcceptedProblem();
    ASSERT_FALSE(problem);
    for (const std::string& word :
         {std::string("tenancy.accept_key_files"), path_ + ".old", std::string(why)})
      EXPECT_NE(problem.error().message.find(word), std::string::npos) << problem.error().message;
    ::unlink((path_ + ".old").c_str());
  }
}

TEST_F(KeyFile, MustBeARegularFile) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(Load().error().code, Code::kInvalid);
}

}  // namespace
}  // namespace rail::tenancy
