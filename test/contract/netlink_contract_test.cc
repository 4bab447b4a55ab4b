// What every Netlink does: the same cases on the fake and on the kernel in throw-away namespaces.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>

#include "lib/netlink/kernel.h"
#include "lib/netlink/testing/fake.h"
#include "lib/netlink/testing/scratch.h"

namespace rail::netlink {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

enum class Which { kFake, kKernel };
void PrintTo(Which which, std::ostream* out) {
  *out << (which == Which::kFake ? "fake" : "kernel");
}

IpAddress Ip(const char* text) {
  return *IpAddress::Parse(text);
}
IpPrefix Prefix(const char* text) {
  return *IpPrefix::Parse(text);
}
MacAddress Mac(const char* text) {
  return *MacAddress::Parse(text);
}

// A host with the veth pair vf0, rep0, and an empty pod.
class NetlinkContract : public ::testing::TestWithParam<Which> {
 protected:
  void SetUp() override {
    if (GetParam() == Which::kFake) {
      auto host = std::make_unique<testing::Fake>();
      auto pod = std::make_unique<testing::Fake>();
      host->AddVeth("vf0", "rep0");
      host->Connect(pod_ns_.fd(), *pod);
      pod->Connect(host_ns_.fd(), *host);
      host_ = std::move(host);
      pod_ = std::move(pod);
    } else {
      Must(netns::testing::Shell(host_ns_, "ip link set lo up && ip link add vf0 type veth peer name rep0"));
      host_ = OpenKernel(host_ns_);
      pod_ = OpenKernel(pod_ns_);
    }
  }

  static std::unique_ptr<Netlink> OpenKernel(const netns::Netns& where) {
    std::unique_ptr<Netlink> netlink;
    Must(where.Run([&]() -> Status {
      RAIL_ASSIGN(netlink, Kernel::Open());
      return {};
    }));
    return netlink;
  }

  static void Must(const Status& status) { ASSERT_TRUE(status) << status.error().message; }
  template <class T>
  static T Must(Result<T> result) {
    EXPECT_TRUE(result) << result.error().message;
    return result ? *std::move(result) : T();
  }
  static void ExpectCode(const Status& status, Code code) {
    ASSERT_FALSE(status) << "it succeeded";
    EXPECT_EQ(status.error().code, code) << status.error().message;
  }

  void AddAltname(const char* link, const std::string& altname) {
    if (auto* fake = dynamic_cast<testing::Fake*>(host_.get())) return fake->AddAltname(link, altname);
    Must(netns::testing::Shell(host_ns_,
                               std::string("ip link property add dev ") + link + " altname " + altname));
  }

  int Index(const char* name) { return Must(host_->GetLink(name)).index; }
  int UpLink() {
    const int link = Index("vf0");
    Must(host_->SetUp(link));
    Must(host_->SetUp(Index("rep0")));
    return link;
  }
  Route DefaultRoute(int link, bool v6) {
    Route route;
    route.destination = Prefix(v6 ? "::/0" : "0.0.0.0/0");
    route.gateway = Ip(v6 ? "fe80::1" : "169.254.1.1");
    route.link = link;
    route.onlink = true;
    route.table = 103;
    return route;
  }

  const netns::Netns host_ns_ = netns::testing::MakeScratch();
  const netns::Netns pod_ns_ = netns::testing::MakeScratch();
  std::unique_ptr<Netlink> host_;
  std::unique_ptr<Netlink> pod_;
};

INSTANTIATE_TEST_SUITE_P(, NetlinkContract, ::testing::Values(Which::kFake, Which::kKernel),
                         [](const auto& param) { return param.param == Which::kFake ? "Fake" : "Kernel"; });

TEST_P(NetlinkContract, FindsALinkByName) {
  const Link link = Must(host_->GetLink("vf0"));
  EXPECT_EQ(link.name, "vf0");
  EXPECT_EQ(link.kind, "veth");
  EXPECT_GT(link.index, 0);
  EXPECT_EQ(link.mtu, 1500U);
  EXPECT_FALSE(link.mac.is_zero());
  EXPECT_FALSE(link.up);
  EXPECT_EQ(link.peer, Index("rep0"));
  EXPECT_FALSE(link.peer_elsewhere);
  EXPECT_TRUE(link.permanent_mac.is_zero());
  EXPECT_EQ(link.parent_device, "");
}

TEST_P(NetlinkContract, SaysThatALinkIsNotThere) {
  const auto link = host_->GetLink("nobody");
  ASSERT_FALSE(link);
  EXPECT_EQ(link.error().code, Code::kNotFound);
  EXPECT_EQ(link.error().sys_errno, ENODEV);
  EXPECT_THAT(link.error().message, HasSubstr("nobody"));
  ExpectCode(host_->SetUp(9999), Code::kNotFound);
  EXPECT_EQ(host_->GetLink("a-name-of-sixteen").error().code, Code::kInvalid);
  EXPECT_EQ(host_->GetLink("").error().code, Code::kInvalid);
}

TEST_P(NetlinkContract, ListsLinks) {
  std::vector<std::string> names;
  for (const Link& link : Must(host_->ListLinks())) names.push_back(link.name);
  EXPECT_THAT(names, Contains("vf0"));
  EXPECT_THAT(names, Contains("rep0"));
}

TEST_P(NetlinkContract, SetsUpAndDownAgainAndAgain) {
  const int link = UpLink();
  Must(host_->SetUp(link));
  EXPECT_TRUE(Must(host_->GetLink("vf0")).up);
  EXPECT_TRUE(Must(host_->GetLink("vf0")).carrier);
  const uint32_t losses = Must(host_->GetLink("vf0")).carrier_losses;
  Must(host_->SetDown(link));
  Must(host_->SetDown(link));
  EXPECT_EQ(Must(host_->GetLink("vf0")).carrier_losses, losses + 1);
  EXPECT_FALSE(Must(host_->GetLink("vf0")).up);
  EXPECT_FALSE(Must(host_->GetLink("vf0")).carrier);
}

TEST_P(NetlinkContract, SetsMtuAndMac) {
  const int link = Index("vf0");
  Must(host_->SetMtu(link, 4200));
  Must(host_->SetMtu(link, 4200));
  Must(host_->SetMac(link, Mac("02:00:00:00:00:07")));
  EXPECT_EQ(Must(host_->GetLink("vf0")).mtu, 4200U);
  EXPECT_EQ(Must(host_->GetLink("vf0")).mac, Mac("02:00:00:00:00:07"));
  ExpectCode(host_->SetMtu(link, 100000), Code::kInvalid);
  ExpectCode(host_->SetMac(link, Mac("01:00:00:00:00:07")), Code::kInvalid);
  EXPECT_EQ(Must(host_->GetLink("vf0")).mtu, 4200U);
}

TEST_P(NetlinkContract, Renames) {
  Must(host_->Rename(Index("vf0"), "vf9"));
  EXPECT_EQ(Must(host_->GetLink("vf9")).name, "vf9");
  EXPECT_FALSE(host_->GetLink("vf0"));
  ExpectCode(host_->Rename(Index("vf9"), "rep0"), Code::kExists);
  ExpectCode(host_->Rename(Index("vf9"), ""), Code::kInvalid);
}

TEST_P(NetlinkContract, MovesALinkUnderItsNewName) {
  const int link = UpLink();
  Must(host_->SetMtu(link, 4200));
  const MacAddress mac = Must(host_->GetLink("vf0")).mac;
  Must(host_->AddAddress({link, Prefix("10.0.0.1/32")}));
  Must(host_->MoveLink(link, pod_ns_.fd(), "net1"));

  ExpectCode(host_->SetUp(link), Code::kNotFound);
  const Link moved = Must(pod_->GetLink("net1"));
  EXPECT_FALSE(moved.up);
  EXPECT_EQ(moved.mtu, 4200U);
  EXPECT_EQ(moved.mac, mac);
  EXPECT_EQ(moved.peer, Index("rep0"));
  EXPECT_TRUE(moved.peer_elsewhere);
  EXPECT_EQ(Must(host_->GetLink("rep0")).peer, moved.index);
  EXPECT_THAT(Must(pod_->ListAddresses(moved.index)), IsEmpty());
  // And back.
  Must(pod_->MoveLink(moved.index, host_ns_.fd(), "vf0"));
  EXPECT_EQ(Must(host_->GetLink("vf0")).mac, mac);
  EXPECT_FALSE(Must(host_->GetLink("rep0")).peer_elsewhere);
}

TEST_P(NetlinkContract, DoesNotMoveALinkToANameThatIsTaken) {
  Must(host_->MoveLink(Index("vf0"), pod_ns_.fd(), "net1"));
  ExpectCode(host_->MoveLink(Index("rep0"), pod_ns_.fd(), "net1"), Code::kExists);
  EXPECT_TRUE(host_->GetLink("rep0"));
}

TEST_P(NetlinkContract, DoesNotMoveALinkToWhatIsNoNamespace) {
  const Fd file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  ExpectCode(host_->MoveLink(Index("vf0"), file.get(), "net1"), Code::kInvalid);
}

TEST_P(NetlinkContract, FindsALinkByAnAlternativeName) {
  AddAltname("vf0", "enp59s0f0v0");
  EXPECT_EQ(Must(host_->GetLink("enp59s0f0v0")).name, "vf0");
  EXPECT_THAT(Must(host_->GetLink("vf0")).altnames, ::testing::ElementsAre("enp59s0f0v0"));
}

TEST_P(NetlinkContract, RenamesALinkToItsOwnAlternativeName) {
  AddAltname("vf0", "net1");
  AddAltname("rep0", "other");
  Must(host_->Rename(Index("vf0"), "net1"));
  EXPECT_THAT(Must(host_->GetLink("net1")).altnames, IsEmpty());
  ExpectCode(host_->Rename(Index("net1"), "other"), Code::kExists);
}

TEST_P(NetlinkContract, MovesALinkWhoseAlternativeNamesAreTakenThere) {
  AddAltname("vf0", "net1");
  AddAltname("vf0", "an-alternative-name-may-be-long");
  AddAltname("vf0", "taken");
  Must(host_->MoveLink(Index("rep0"), pod_ns_.fd(), "taken"));
  Must(host_->MoveLink(Index("vf0"), pod_ns_.fd(), "net1"));
  const Link moved = Must(pod_->GetLink("net1"));
  EXPECT_THAT(moved.altnames, ::testing::ElementsAre("an-alternative-name-may-be-long"));
}

TEST_P(NetlinkContract, AddsAndDeletesAddresses) {
  const int link = UpLink();
  for (const char* text : {"10.0.3.7/32", "10.1.0.7/24", "2001:db8::7/128"}) {
    const Address address{link, Prefix(text)};
    Must(host_->AddAddress(address));
    ExpectCode(host_->AddAddress(address), Code::kExists);
    EXPECT_THAT(Must(host_->ListAddresses(link)), Contains(address));
    EXPECT_THAT(Must(host_->ListAddresses(0)), Contains(address));
    EXPECT_THAT(Must(host_->ListAddresses(Index("rep0"))),
                Not(Contains(Address{Index("rep0"), Prefix(text)})));
    Must(host_->DeleteAddress(address));
    ExpectCode(host_->DeleteAddress(address), Code::kNotFound);
    EXPECT_THAT(Must(host_->ListAddresses(link)), Not(Contains(address)));
  }
  ExpectCode(host_->AddAddress({9999, Prefix("10.0.3.7/32")}), Code::kNotFound);
  EXPECT_EQ(host_->ListAddresses(9999).error().code, Code::kNotFound);
}

TEST_P(NetlinkContract, AddsAndDeletesRoutesOfATable) {
  const int link = UpLink();
  EXPECT_THAT(Must(host_->ListRoutes(103)), IsEmpty());
  for (const bool v6 : {false, true}) {
    const Route route = DefaultRoute(link, v6);
    Must(host_->AddRoute(route));
    ExpectCode(host_->AddRoute(route), Code::kExists);
    EXPECT_THAT(Must(host_->ListRoutes(103)), Contains(route));
    EXPECT_THAT(Must(host_->ListRoutes(254)), Not(Contains(route)));
    Must(host_->DeleteRoute(route));
    ExpectCode(host_->DeleteRoute(route), Code::kNotFound);
    EXPECT_THAT(Must(host_->ListRoutes(103)), Not(Contains(route)));
  }
}

TEST_P(NetlinkContract, KeepsEveryPropertyOfARoute) {
  const int link = UpLink();
  Must(host_->AddAddress({link, Prefix("10.0.3.7/32")}));
  Route route = DefaultRoute(link, false);
  route.destination = Prefix("10.0.0.0/8");
  route.table = 100000;
  route.priority = 7;
  route.source = Ip("10.0.3.7");
  route.mtu = 4000;
  route.advmss = 3960;
  Must(host_->AddRoute(route));
  EXPECT_THAT(Must(host_->ListRoutes(100000)), ::testing::ElementsAre(route));

  Route on_link;
  on_link.destination = Prefix("10.2.0.0/16");
  on_link.link = link;
  on_link.link_scope = true;
  Must(host_->AddRoute(on_link));
  EXPECT_THAT(Must(host_->ListRoutes(254)), Contains(on_link));

  Route v6 = DefaultRoute(link, true);
  v6.priority = 1024;  // the kernel's default
  Must(host_->AddRoute(v6));
  EXPECT_THAT(Must(host_->ListRoutes(103)), Contains(DefaultRoute(link, true)));
}

TEST_P(NetlinkContract, RefusesAGatewayThatItCannotReach) {
  const int link = UpLink();
  Route route = DefaultRoute(link, false);
  route.onlink = false;
  ExpectCode(host_->AddRoute(route), Code::kInvalid);
  Must(host_->AddAddress({link, Prefix("169.254.1.7/24")}));
  Must(host_->AddRoute(route));
}

TEST_P(NetlinkContract, KeepsRoutesOnlyWhileTheLinkIsUp) {
  const int link = Index("vf0");
  ExpectCode(host_->AddRoute(DefaultRoute(link, false)), Code::kInvalid);
  Must(host_->SetUp(link));
  Must(host_->AddRoute(DefaultRoute(link, false)));
  Must(host_->SetDown(link));
  EXPECT_THAT(Must(host_->ListRoutes(103)), IsEmpty());
}

TEST_P(NetlinkContract, AddsAndDeletesRules) {
  const PolicyRule rules[] = {
      {.v6 = false, .priority = 1003, .table = 103, .from = Prefix("10.0.3.7/32"), .output_interface = ""},
      {.v6 = false, .priority = 1103, .table = 103, .from = {}, .output_interface = "net1"},
      {.v6 = true, .priority = 1003, .table = 103, .from = Prefix("2001:db8::7/128"), .output_interface = ""},
      {.v6 = true, .priority = 1103, .table = 100000, .from = {}, .output_interface = "net1"}};
  for (const PolicyRule& rule : rules) {
    Must(host_->AddRule(rule));
    ExpectCode(host_->AddRule(rule), Code::kExists);
  }
  for (const PolicyRule& rule : rules) {
    EXPECT_THAT(Must(host_->ListRules()), Contains(rule));
    Must(host_->DeleteRule(rule));
    EXPECT_THAT(Must(host_->ListRules()), Not(Contains(rule)));
    ExpectCode(host_->DeleteRule(rule), Code::kNotFound);
  }
  ExpectCode(
      host_->AddRule(
          {.v6 = true, .priority = 1, .table = 103, .from = Prefix("10.0.3.7/32"), .output_interface = ""}),
      Code::kInvalid);
}

TEST_P(NetlinkContract, SetsPermanentNeighbours) {
  const int link = UpLink();
  for (const char* text : {"169.254.1.1", "fe80::1"}) {
    const auto find = [&]() -> std::optional<Neighbour> {
      for (const Neighbour& n : Must(host_->ListNeighbours(link))) {
        if (n.address == Ip(text)) return n;
      }
      return std::nullopt;
    };
    EXPECT_FALSE(find());
    Must(host_->SetPermanentNeighbour(link, Ip(text), Mac("02:00:00:00:00:01")));
    Must(host_->SetPermanentNeighbour(link, Ip(text), Mac("02:00:00:00:00:02")));
    const auto found = find();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->mac, Mac("02:00:00:00:00:02"));
    EXPECT_EQ(found->link, link);
    EXPECT_TRUE(found->permanent);
    EXPECT_TRUE(found->usable);
    EXPECT_FALSE(found->router);
    for (const Neighbour& n : Must(host_->ListNeighbours(Index("rep0")))) EXPECT_NE(n.address, Ip(text));
  }
  ExpectCode(host_->SetPermanentNeighbour(9999, Ip("169.254.1.1"), Mac("02:00:00:00:00:01")),
             Code::kNotFound);
}

// VRFs, where the kernel has them: RAILCNI_TEST_VRF says so, as in the guest `tenants` (test/vm). Elsewhere the kernel says that it has none.
class VrfContract : public NetlinkContract {
 protected:
  static bool HasVrfs() { return GetParam() == Which::kFake || std::getenv("RAILCNI_TEST_VRF") != nullptr; }
};

INSTANTIATE_TEST_SUITE_P(, VrfContract, ::testing::Values(Which::kFake, Which::kKernel),
                         [](const auto& each) { return each.param == Which::kFake ? "Fake" : "Kernel"; });

TEST_P(VrfContract, ALinkIsAPartOfAVrfUntilTheVrfGoes) {
  const Status made = host_->AddVrf("railcni-0-101", 100101);
  if (!HasVrfs()) {
    ExpectCode(made, Code::kUnsupported);
    GTEST_SKIP() << "this kernel has no VRFs: " << made.error().message;
  }
  Must(made);
  ExpectCode(host_->AddVrf("railcni-0-101", 100101), Code::kExists);
  Link vrf = Must(host_->GetLink("railcni-0-101"));
  EXPECT_EQ(vrf.kind, "vrf");
  EXPECT_EQ(vrf.table, 100101U);
  EXPECT_FALSE(vrf.up);
  Must(host_->SetUp(vrf.index));
  const int link = UpLink();
  EXPECT_EQ(Must(host_->GetLink("vf0")).master, 0);
  Must(host_->SetMaster(link, vrf.index));
  Must(host_->SetMaster(link, vrf.index));
  EXPECT_EQ(Must(host_->GetLink("vf0")).master, vrf.index);
  EXPECT_TRUE(Must(host_->GetLink("vf0")).up);
  EXPECT_EQ(Must(host_->GetLink("rep0")).table, 0U) << "it is no VRF";
  Must(host_->SetMaster(link, 0));
  EXPECT_EQ(Must(host_->GetLink("vf0")).master, 0);
  Must(host_->SetMaster(link, vrf.index));
  Must(host_->DeleteLink(vrf.index));
  EXPECT_EQ(host_->GetLink("railcni-0-101").error().code, Code::kNotFound);
  EXPECT_EQ(Must(host_->GetLink("vf0")).master, 0) << "the link stays";
  ExpectCode(host_->DeleteLink(vrf.index), Code::kNotFound);
}

TEST_P(VrfContract, ALinkThatIsNoVrfIsNoMaster) {
  EXPECT_FALSE(host_->SetMaster(Index("vf0"), Index("rep0")));
  ExpectCode(host_->AddVrf("a-name-of-16-byte", 7), Code::kInvalid);
}

}  // namespace
}  // namespace rail::netlink
