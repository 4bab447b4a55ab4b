// What every Store promises, on the record in memory and on SQLite.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <tuple>
#include <utility>

#include "lib/state/testing/memory.h"
#include "test/contract/state_record.h"

namespace rail::state {
namespace {

using testing::Draft;
using ::testing::HasSubstr;
using testing::Record;
using testing::SqliteRecord;

class MemoryRecord : public Record {
 public:
  std::unique_ptr<Store> Connect() override { return std::make_unique<testing::Memory>(first_); }

 private:
  testing::Memory first_;
};

struct Kind {
  const char* name;
  std::unique_ptr<Record> (*make)();
};
void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.name;
}

class StoreContract : public ::testing::TestWithParam<Kind> {
 protected:
  Attachment MustCreate(const Attachment& draft) {
    auto created = store_->Create(draft);
    EXPECT_TRUE(created) << created.error().message;
    return created ? *created : Attachment{};
  }

  const std::unique_ptr<Record> record_ = GetParam().make();
  const std::unique_ptr<Store> store_ = record_->Connect();
};

// Every field has a value that is not its default.
Attachment FullDraft() {
  Attachment a = Draft("c1", "vf0");
  a.phase = Phase::kReady;
  a.rail = "rail0";
  a.pod_namespace = "team-a";
  a.pod_name = "trainer-0";
  a.pod_uid = "5f0c";
  a.netns_path = "/run/netns/cni-1";
  a.netns_device = 4;
  a.netns_inode = UINT64_MAX;
  a.boot = "3f0cbb1c-9f0e-4c87-9d7d-1a5ce3a1f9a2";
  a.representor = "rep0";
  a.adopted = true;
  a.mac = *MacAddress::Parse("02:00:5e:10:00:01");
  a.mtu = 4200;
  a.addresses = {*IpAddress::Parse("10.0.3.7"), *IpAddress::Parse("2001:db8::7")};
  a.gateways = {*IpAddress::Parse("169.254.1.1")};
  a.ofport = 65535;
  a.tenant = "team";
  a.tenant_id = {(uint64_t{1} << 56) - 1, 7};
  a.leaving = {1, 2};
  a.leaving_ms = 1700000000456;
  a.announced = true;
  a.created_ms = 1700000000123;
  return a;
}

void ExpectSame(const Attachment& a, const Attachment& b) {
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.key, b.key);
  EXPECT_EQ(a.phase, b.phase);
  EXPECT_EQ(a.rail, b.rail);
  EXPECT_EQ(a.pod_namespace, b.pod_namespace);
  EXPECT_EQ(a.pod_name, b.pod_name);
  EXPECT_EQ(a.pod_uid, b.pod_uid);
  EXPECT_EQ(a.netns_path, b.netns_path);
  EXPECT_EQ(a.netns_device, b.netns_device);
  EXPECT_EQ(a.netns_inode, b.netns_inode);
  EXPECT_EQ(a.boot, b.boot);
  EXPECT_EQ(a.device, b.device);
  EXPECT_EQ(a.representor, b.representor);
  EXPECT_EQ(a.adopted, b.adopted);
  EXPECT_EQ(a.mac, b.mac);
  EXPECT_EQ(a.mtu, b.mtu);
  EXPECT_EQ(a.addresses, b.addresses);
  EXPECT_EQ(a.leaving, b.leaving);
  EXPECT_EQ(a.leaving_ms, b.leaving_ms);
  EXPECT_EQ(a.gateways, b.gateways);
  EXPECT_EQ(a.ofport, b.ofport);
  EXPECT_EQ(a.tenant, b.tenant);
  EXPECT_EQ(a.tenant_id, b.tenant_id);
  EXPECT_EQ(a.announced, b.announced);
  EXPECT_EQ(a.created_ms, b.created_ms);
}

TEST_P(StoreContract, GivesBackWhatWasCreated) {
  const Attachment created = MustCreate(FullDraft());
  EXPECT_GT(created.id, 0);
  Attachment expected = FullDraft();
  expected.id = created.id;
  ExpectSame(created, expected);
  const auto found = record_->Connect()->Find(expected.key);
  ASSERT_TRUE(found && *found);
  ExpectSame(**found, expected);
}

TEST_P(StoreContract, GivesBackDefaultsToo) {
  const Attachment created = MustCreate(Draft("c1"));
  const auto found = store_->Find(created.key);
  ASSERT_TRUE(found && *found);
  ExpectSame(**found, created);
  EXPECT_TRUE((*found)->addresses.empty());
}

TEST_P(StoreContract, KeepsTextOfAnyBytes) {
  Attachment draft = Draft("c1");
  draft.pod_name = std::string("a'b\"c\0d\n%s", 10);
  const Attachment created = MustCreate(draft);
  const auto found = store_->Find(created.key);
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->pod_name, draft.pod_name);
}

TEST_P(StoreContract, FindsNothingWhenAnyPartOfTheKeyDiffers) {
  MustCreate(Draft("c1"));
  for (const AttachmentKey& key : {AttachmentKey{"rail1", "c1", "net1"}, AttachmentKey{"rail0", "c2", "net1"},
                                   AttachmentKey{"rail0", "c1", "net2"}}) {
    const auto found = store_->Find(key);
    ASSERT_TRUE(found);
    EXPECT_FALSE(*found) << key.ToString();
  }
}

TEST_P(StoreContract, RefusesAKeyTwice) {
  MustCreate(Draft("c1", "vf0"));
  const auto again = store_->Create(Draft("c1", "vf1"));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Code::kExists);
  EXPECT_THAT(again.error().message, HasSubstr("rail0/c1/net1"));
  EXPECT_FALSE(*store_->OwnerOf(ClaimKind::kDevice, "vf1")) << "a refused Create must claim nothing";
}

TEST_P(StoreContract, RefusesAKeyWithAnEmptyPart) {
  for (const AttachmentKey& key :
       {AttachmentKey{"", "c", "i"}, AttachmentKey{"n", "", "i"}, AttachmentKey{"n", "c", ""}}) {
    Attachment draft;
    draft.key = key;
    const auto created = store_->Create(draft);
    ASSERT_FALSE(created);
    EXPECT_EQ(created.error().code, Code::kInvalid);
  }
}

TEST_P(StoreContract, RefusesADeviceOfAnotherAndNamesIt) {
  const Attachment first = MustCreate(Draft("c1", "vf0"));
  const auto second = store_->Create(Draft("c2", "vf0"));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kBusy);
  EXPECT_THAT(second.error().message, HasSubstr("device vf0 belongs to rail0/c1/net1"));
  EXPECT_FALSE(*store_->Find({"rail0", "c2", "net1"})) << "a refused Create must leave nothing";
  EXPECT_EQ(*store_->OwnerOf(ClaimKind::kDevice, "vf0"), first.id);
}

TEST_P(StoreContract, ListsById) {
  const Attachment b = MustCreate(Draft("b"));
  const Attachment a = MustCreate(Draft("a"));
  const auto list = store_->List();
  ASSERT_TRUE(list);
  ASSERT_EQ(list->size(), 2U);
  EXPECT_EQ((*list)[0].id, b.id);
  EXPECT_EQ((*list)[1].id, a.id);
}

TEST_P(StoreContract, NeverUsesAnIdTwice) {
  const Attachment first = MustCreate(Draft("c1"));
  ASSERT_TRUE(store_->Remove(first.id));
  EXPECT_GT(MustCreate(Draft("c1")).id, first.id);
}

// Another process has changed what this writer does not know of.
TEST_P(StoreContract, EachWriterChangesItsOwnFieldsAlone) {
  const Attachment full = FullDraft();
  Attachment expected = MustCreate(Draft("c1"));
  const auto other = record_->Connect();
  const auto same = [&](const Status& set) {
    ASSERT_TRUE(set) << set.error().message;
    const auto found = other->Find(expected.key);
    ASSERT_TRUE(found && *found);
    ExpectSame(**found, expected);
  };
  expected.addresses = full.addresses;
  expected.gateways = full.gateways;
  same(store_->SetAddresses(expected.id, full.addresses, full.gateways));
  expected.ofport = full.ofport;
  same(other->SetOfport(expected.id, full.ofport));
  expected.tenant = full.tenant;
  expected.tenant_id = full.tenant_id;
  same(store_->SetTenant(expected.id, full.tenant, full.tenant_id));
  expected.leaving = std::exchange(expected.tenant_id, {0, 9});
  expected.leaving_ms = 1700000000789;
  expected.tenant = "next";
  same(store_->MoveTenant(expected.id, "next", {0, 9}, 1700000000789));
  expected.leaving = {};
  expected.leaving_ms = 0;
  same(other->SetLeft(expected.id));
  expected.announced = true;
  same(other->SetAnnounced(expected.id, true));
  expected.phase = Phase::kReady;
  same(store_->SetPhase(expected.id, Phase::kReady));
  expected.phase = Phase::kDeleting;
  same(other->SetPhase(expected.id, Phase::kDeleting));
}

TEST_P(StoreContract, AnAttachmentLeavesTheTenantThatItWasInLast) {
  const Attachment a = MustCreate(Draft("c1"));
  constexpr tenancy::TenantId kRed{0, 1}, kBlue{0, 2}, kGreen{0, 3};
  const auto now = [&] {
    const Attachment found = *store_->Find(a.key).value();
    return std::tuple(found.tenant_id, found.leaving, found.leaving_ms);
  };
  ASSERT_TRUE(store_->MoveTenant(a.id, "red", kRed, 100));
  EXPECT_EQ(now(), std::tuple(kRed, tenancy::TenantId(), 0)) << "a first join leaves nothing";
  ASSERT_TRUE(store_->MoveTenant(a.id, "blue", kBlue, 200));
  EXPECT_EQ(now(), std::tuple(kBlue, kRed, 200));
  ASSERT_TRUE(store_->MoveTenant(a.id, "blue", kBlue, 300));
  EXPECT_EQ(now(), std::tuple(kBlue, kRed, 200)) << "it is there already";
  ASSERT_TRUE(store_->MoveTenant(a.id, "green", kGreen, 400));
  EXPECT_EQ(now(), std::tuple(kGreen, kBlue, 400)) << "one, not two";
  ASSERT_TRUE(store_->MoveTenant(a.id, "blue", kBlue, 500));
  EXPECT_EQ(now(), std::tuple(kBlue, kGreen, 500)) << "back";
  ASSERT_TRUE(store_->SetLeft(a.id));
  ASSERT_TRUE(store_->SetLeft(a.id));
  EXPECT_EQ(now(), std::tuple(kBlue, tenancy::TenantId(), 0));
  ASSERT_TRUE(store_->MoveTenant(a.id, "red", kRed, 600));
  ASSERT_TRUE(store_->SetTenant(a.id, "", {}));
  EXPECT_EQ(now(), std::tuple(tenancy::TenantId(), tenancy::TenantId(), 0)) << "who is in none leaves none";
}

// raild tells the ofport that it saw while a DEL began: the DEL's mark stays.
TEST_P(StoreContract, TheOfportIsSetWithoutTakingADelBack) {
  const Attachment read_before = MustCreate(FullDraft());
  const auto plugin = record_->Connect();
  ASSERT_TRUE(plugin->SetPhase(read_before.id, Phase::kDeleting));
  ASSERT_TRUE(store_->SetOfport(read_before.id, 9));
  const auto found = plugin->Find(read_before.key);
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->phase, Phase::kDeleting);
  EXPECT_EQ((*found)->ofport, 9);
}

TEST_P(StoreContract, NothingIsAddedToAnAttachmentWhoseDelHasBegun) {
  const Attachment a = MustCreate(Draft("c1", "vf0"));
  ASSERT_TRUE(store_->Claim(a.id, ClaimKind::kPort, "rep0"));
  const auto step = store_->RecordStep(a.id, "p", "k", "");
  ASSERT_TRUE(record_->Connect()->SetPhase(a.id, Phase::kDeleting));
  const auto refused = [](const auto& result) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::kBusy);
    EXPECT_THAT(result.error().message, HasSubstr("a DEL of it has begun"));
  };
  refused(store_->SetPhase(a.id, Phase::kReady));
  refused(store_->SetTenant(a.id, "t", {0, 7}));
  refused(store_->MoveTenant(a.id, "t", {0, 7}, 1));
  refused(store_->SetAnnounced(a.id, true));
  refused(store_->Claim(a.id, ClaimKind::kAddress, "10.0.3.7"));
  refused(store_->RecordStep(a.id, "p", "k", ""));
  // What a DEL writes.
  EXPECT_TRUE(store_->SetPhase(a.id, Phase::kDeleting));
  EXPECT_TRUE(store_->SetTenant(a.id, "", {}));
  EXPECT_TRUE(store_->SetLeft(a.id));
  EXPECT_TRUE(store_->SetAnnounced(a.id, false));
  EXPECT_TRUE(store_->SetPending(*step, "why"));
  EXPECT_TRUE(store_->Release(a.id, ClaimKind::kPort, "rep0"));
  EXPECT_TRUE(store_->ForgetStep(*step));
  EXPECT_TRUE(store_->Remove(a.id));
}

TEST_P(StoreContract, WritesToNothingAreAnError) {
  const Attachment first = MustCreate(Draft("c1"));
  for (const Status& set :
       {store_->SetPhase(7, Phase::kReady), store_->SetPhase(7, Phase::kDeleting),
        store_->SetAddresses(7, {}, {}), store_->SetOfport(7, 1), store_->SetTenant(7, "t", {0, 1}),
        store_->SetTenant(7, "", {}), store_->MoveTenant(7, "t", {0, 1}, 1), store_->SetLeft(7),
        store_->SetAnnounced(7, true), store_->SetAnnounced(7, false)}) {
    ASSERT_FALSE(set);
    EXPECT_EQ(set.error().code, Code::kNotFound) << set.error().message;
  }
  ExpectSame(**store_->Find(first.key), first);
}

TEST_P(StoreContract, RemovesWithItsClaims) {
  const Attachment first = MustCreate(Draft("c1", "vf0"));
  ASSERT_TRUE(store_->Claim(first.id, ClaimKind::kAddress, "10.0.3.7"));
  ASSERT_TRUE(store_->Remove(first.id));
  EXPECT_TRUE(store_->List()->empty());
  EXPECT_FALSE(*store_->OwnerOf(ClaimKind::kAddress, "10.0.3.7"));
  MustCreate(Draft("c2", "vf0"));
  EXPECT_TRUE(store_->Remove(first.id)) << "again: success";
}

TEST_P(StoreContract, DoesNotRemoveWhileStepsAreLeft) {
  const Attachment a = MustCreate(Draft("c1", "vf0"));
  const auto step = store_->RecordStep(a.id, "ovs-provider", "port", "{}");
  ASSERT_TRUE(step);
  const auto removed = store_->Remove(a.id);
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().code, Code::kBusy);
  EXPECT_TRUE(*store_->Find(a.key));
  EXPECT_EQ(*store_->OwnerOf(ClaimKind::kDevice, "vf0"), a.id);
  ASSERT_TRUE(store_->ForgetStep(*step));
  EXPECT_TRUE(store_->Remove(a.id));
}

TEST_P(StoreContract, ClaimsBelongToOne) {
  const Attachment a = MustCreate(Draft("c1"));
  const Attachment b = MustCreate(Draft("c2"));
  ASSERT_TRUE(store_->Claim(a.id, ClaimKind::kAddress, "10.0.3.7"));
  EXPECT_TRUE(store_->Claim(a.id, ClaimKind::kAddress, "10.0.3.7")) << "what one has already is no error";
  const auto second = store_->Claim(b.id, ClaimKind::kAddress, "10.0.3.7");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kBusy);
  EXPECT_THAT(second.error().message, HasSubstr("address 10.0.3.7 belongs to rail0/c1/net1"));
  EXPECT_TRUE(store_->Claim(b.id, ClaimKind::kPort, "10.0.3.7")) << "kinds do not collide";
  EXPECT_EQ(*store_->OwnerOf(ClaimKind::kAddress, "10.0.3.7"), a.id);
  EXPECT_EQ(*store_->OwnerOf(ClaimKind::kPort, "10.0.3.7"), b.id);
  EXPECT_EQ(*store_->OwnerOf(ClaimKind::kDevice, "10.0.3.7"), std::nullopt);
}

TEST_P(StoreContract, ClaimsNeedAnAttachmentAndAName) {
  const auto nobody = store_->Claim(7, ClaimKind::kPort, "rep0");
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, Code::kNotFound);
  const auto nothing = store_->Claim(MustCreate(Draft("c1")).id, ClaimKind::kPort, "");
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, Code::kInvalid);
}

TEST_P(StoreContract, ReleasesOnlyWhatItHolds) {
  const Attachment a = MustCreate(Draft("c1"));
  const Attachment b = MustCreate(Draft("c2"));
  ASSERT_TRUE(store_->Claim(a.id, ClaimKind::kPort, "rep0"));
  EXPECT_TRUE(store_->Release(b.id, ClaimKind::kPort, "rep0"));
  EXPECT_EQ(*store_->OwnerOf(ClaimKind::kPort, "rep0"), a.id);
  EXPECT_TRUE(store_->Release(a.id, ClaimKind::kPort, "rep0"));
  EXPECT_FALSE(*store_->OwnerOf(ClaimKind::kPort, "rep0"));
  EXPECT_TRUE(store_->Claim(b.id, ClaimKind::kPort, "rep0"));
}

TEST_P(StoreContract, ReleasesAllThatItHoldsOfAKind) {
  const Attachment a = MustCreate(Draft("c1"));
  const Attachment b = MustCreate(Draft("c2"));
  ASSERT_TRUE(store_->Claim(a.id, ClaimKind::kAddress, "red/10.0.3.7"));
  ASSERT_TRUE(store_->Claim(a.id, ClaimKind::kAddress, "10.0.3.8"));
  ASSERT_TRUE(store_->Claim(a.id, ClaimKind::kPort, "rep0"));
  ASSERT_TRUE(store_->Claim(b.id, ClaimKind::kAddress, "10.0.3.9"));
  ASSERT_TRUE(store_->SetPhase(a.id, Phase::kDeleting));
  EXPECT_TRUE(store_->ReleaseAll(a.id, ClaimKind::kAddress));
  EXPECT_FALSE(*store_->OwnerOf(ClaimKind::kAddress, "red/10.0.3.7"));
  EXPECT_FALSE(*store_->OwnerOf(ClaimKind::kAddress, "10.0.3.8"));
  EXPECT_EQ(*store_->OwnerOf(ClaimKind::kPort, "rep0"), a.id);
  EXPECT_EQ(*store_->OwnerOf(ClaimKind::kAddress, "10.0.3.9"), b.id);
  EXPECT_TRUE(store_->ReleaseAll(a.id, ClaimKind::kAddress)) << "none is left";
}

TEST_P(StoreContract, StepsComeInTheOrderOfRecording) {
  const Attachment a = MustCreate(Draft("c1"));
  const Attachment b = MustCreate(Draft("c2"));
  const auto first = store_->RecordStep(a.id, "ovs-provider", "port", R"({"port":"rep0"})");
  const auto other = store_->RecordStep(b.id, "ovs-provider", "port", "{}");
  const auto second = store_->RecordStep(a.id, "frr-provider", "announce", "{}");
  ASSERT_TRUE(first && other && second);
  const auto steps = store_->Steps(a.id);
  ASSERT_TRUE(steps);
  ASSERT_EQ(steps->size(), 2U);
  EXPECT_EQ((*steps)[0].id, *first);
  EXPECT_EQ((*steps)[0].attachment, a.id);
  EXPECT_EQ((*steps)[0].owner, "ovs-provider");
  EXPECT_EQ((*steps)[0].kind, "port");
  EXPECT_EQ((*steps)[0].detail, R"({"port":"rep0"})");
  EXPECT_EQ((*steps)[0].pending, "");
  EXPECT_EQ((*steps)[1].id, *second);
  EXPECT_GT(*second, *first);
}

TEST_P(StoreContract, StepIdsIncreaseAfterTheLastWasForgotten) {
  const Attachment a = MustCreate(Draft("c1"));
  const auto first = store_->RecordStep(a.id, "p", "k", "");
  ASSERT_TRUE(store_->ForgetStep(*first));
  EXPECT_GT(*store_->RecordStep(a.id, "p", "k", ""), *first);
}

TEST_P(StoreContract, PendingStepsSayWhy) {
  const Attachment a = MustCreate(Draft("c1"));
  const auto step = store_->RecordStep(a.id, "p", "k", "");
  const auto untouched = store_->RecordStep(a.id, "p", "k", "");
  ASSERT_TRUE(store_->SetPending(*step, "connect to /run/frr/bgpd.vty: connection refused"));
  const auto steps = store_->Steps(a.id);
  EXPECT_EQ((*steps)[0].pending, "connect to /run/frr/bgpd.vty: connection refused");
  EXPECT_EQ((*steps)[1].id, *untouched);
  EXPECT_EQ((*steps)[1].pending, "");
}

TEST_P(StoreContract, ForgetsOneStepAndForgettingAgainIsSuccess) {
  const Attachment a = MustCreate(Draft("c1"));
  const auto first = store_->RecordStep(a.id, "p", "k", "");
  const auto second = store_->RecordStep(a.id, "p", "k", "");
  EXPECT_TRUE(store_->ForgetStep(*first));
  EXPECT_TRUE(store_->ForgetStep(*first));
  ASSERT_EQ(store_->Steps(a.id)->size(), 1U);
  EXPECT_EQ((*store_->Steps(a.id))[0].id, *second);
}

TEST_P(StoreContract, StepsNeedTheirAttachment) {
  const auto recorded = store_->RecordStep(7, "p", "k", "");
  ASSERT_FALSE(recorded);
  EXPECT_EQ(recorded.error().code, Code::kNotFound);
  const auto pending = store_->SetPending(7, "why");
  ASSERT_FALSE(pending);
  EXPECT_EQ(pending.error().code, Code::kNotFound);
  EXPECT_TRUE(store_->Steps(7)->empty());
}

TEST_P(StoreContract, VersionDiffersAfterAnotherConnectionHasWritten) {
  const auto other = record_->Connect();
  const auto before = store_->Version();
  ASSERT_TRUE(before);
  EXPECT_EQ(*store_->Version(), *before);
  ASSERT_TRUE(other->Create(Draft("c1")));
  const auto after = store_->Version();
  ASSERT_TRUE(after);
  EXPECT_NE(*after, *before);
  EXPECT_EQ(*store_->Version(), *after);
}

TEST_P(StoreContract, VersionDiffersAfterOnesOwnWrite) {
  const auto before = store_->Version();
  const Attachment made = MustCreate(Draft("c1"));
  const auto after = store_->Version();
  EXPECT_NE(*after, *before);
  EXPECT_EQ(*store_->Version(), *after);
  ASSERT_TRUE(store_->SetOfport(made.id, 7));
  EXPECT_NE(*store_->Version(), *after);
}

const Kind kKinds[] = {{"Memory", [] { return std::unique_ptr<Record>(new MemoryRecord); }},
                       {"Sqlite", [] { return std::unique_ptr<Record>(new SqliteRecord); }}};
INSTANTIATE_TEST_SUITE_P(Store, StoreContract, ::testing::ValuesIn(kKinds),
                         [](const auto& param_info) { return std::string(param_info.param.name); });

}  // namespace
}  // namespace rail::state
