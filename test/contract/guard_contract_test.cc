// What the guard of a representor promises, of the kernel's and of the fake. Needs root.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>

#include <array>
#include <memory>

#include "lib/base/fd.h"
#include "lib/guard/bpf.h"
#include "lib/guard/kernel.h"
#include "lib/guard/program.h"
#include "lib/guard/testing/fake.h"
#include "lib/netlink/testing/scratch.h"

namespace rail::guard {
namespace {

using netns::Netns;
using netns::testing::MakeScratch;
using netns::testing::Shell;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kMac[] = "02:00:00:00:00:01";
constexpr char kGateway[] = "02:52:41:49:4c:00";

Allowed AllowedOf(const std::vector<std::string>& addresses) {
  Allowed allowed{.mac = MacAddress::Parse(kMac).value(),
                  .gateway = MacAddress::Parse(kGateway).value(),
                  .addresses = {}};
  for (const std::string& address : addresses) allowed.addresses.push_back(IpAddress::Parse(address).value());
  return allowed;
}

// A host with the links rep0, whose other end is vf0, and rep1.
class Host {
 public:
  virtual ~Host() = default;
  virtual Guard& guard() = 0;
  virtual void AddOther(const std::string& link) = 0;
  virtual void RemoveLinks() = 0;
  // A frame of the pod that it may not send, or one to this address.
  virtual void SendForged() = 0;
  virtual void SendTo(const std::string& address) = 0;
};

class FakeHost : public Host {
 public:
  FakeHost() {
    for (const char* link : {"rep0", "rep1"}) guard_.AddLink(link);
  }
  Guard& guard() override { return guard_; }
  void AddOther(const std::string& link) override { guard_.AddOther(link); }
  void RemoveLinks() override {
    for (const char* link : {"rep0", "rep1"}) guard_.RemoveLink(link);
  }
  void SendForged() override {
    const auto guard = guard_.guards().find("rep0");
    if (guard != guard_.guards().end() && !guard->second.open) guard_.Refuse("rep0", Reason::kMac, 1);
  }
  void SendTo(const std::string& address) override {
    guard_.Speak("rep0", IpAddress::Parse(address).value());
  }

 private:
  testing::Fake guard_;
};

class RealHost : public Host {
 public:
  RealHost() {
    Must(Shell(
        host_,
        "ip link add rep0 up type veth peer name vf0 && echo 1 >/proc/sys/net/ipv6/conf/vf0/disable_ipv6 && "
        "ip link set vf0 up && "
        "ip link add rep1 type veth peer name vf1"));
    Must(host_.Run([&]() -> Status {
      RAIL_ASSIGN(guard_, Kernel::Make());
      socket_.Reset(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
      vf0_ = static_cast<int>(::if_nametoindex("vf0"));
      return {};
    }));
  }
  Guard& guard() override { return *guard_; }
  void AddOther(const std::string& link) override {
    const std::array<bpf_insn, 2> pass = {
        bpf_insn{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = XDP_PASS},
        bpf_insn{.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0}};
    Must(host_.Run([&]() -> Status {
      RAIL_ASSIGN(const Fd program, LoadXdp("others", pass));
      RAIL_ASSIGN(netlink::Xdp xdp, netlink::Xdp::Open());
      RAIL_ASSIGN(const netlink::XdpState now, xdp.Of(link));
      return xdp.Set(now, program.get(), -1);
    }));
  }
  netlink::XdpState Of(const std::string& link) {
    netlink::XdpState state;
    Must(host_.Run([&]() -> Status {
      RAIL_ASSIGN(netlink::Xdp xdp, netlink::Xdp::Open());
      RAIL_ASSIGN(state, xdp.Of(link));
      return {};
    }));
    return state;
  }
  void Run(const std::string& command) { Must(Shell(host_, command)); }
  void RemoveLinks() override { Must(Shell(host_, "ip link del rep0 && ip link del rep1")); }
  void SendForged() override { Send("02:00:00:00:00:66", "10.9.0.9"); }
  void SendTo(const std::string& address) override { Send(kMac, address); }

 private:
  static void Must(const Status& status) { ASSERT_TRUE(status) << status.error().message; }
  void Send(const char* mac, const std::string& destination) {
    std::string frame;
    for (const char* one : {kGateway, mac}) {
      const MacAddress bytes = MacAddress::Parse(one).value();
      frame.append(reinterpret_cast<const char*>(bytes.bytes.data()), bytes.bytes.size());
    }
    frame += std::string{'\x08', '\0', '\x45'} + std::string(11, '\0');
    frame += IpAddress::Parse("10.0.3.1").value().bytes();
    frame += IpAddress::Parse(destination).value().bytes();
    frame.resize(64);
    sockaddr_ll to{};
    to.sll_family = AF_PACKET;
    to.sll_ifindex = vf0_;
    ASSERT_EQ(
        ::sendto(socket_.get(), frame.data(), frame.size(), 0, reinterpret_cast<sockaddr*>(&to), sizeof to),
        static_cast<ssize_t>(frame.size()));
  }

  const Netns host_ = MakeScratch();
  std::unique_ptr<Guard> guard_;
  Fd socket_;
  int vf0_ = 0;
};

class GuardContract : public ::testing::TestWithParam<const char*> {
 protected:
  GuardContract() {
    if (GetParam() == std::string("Fake"))
      host_ = std::make_unique<FakeHost>();
    else
      host_ = std::make_unique<RealHost>();
  }
  Guard& guard() { return host_->guard(); }
  static void Must(const Status& status) { ASSERT_TRUE(status) << status.error().message; }
  // What a frame has counted may be seen a moment later: the kernel delivers it on a queue of its own.
  template <class Ask>
  void Eventually(const Ask& ask) {
    const Deadline deadline = After(std::chrono::seconds(10));
    while (!ask() && Clock::now() < deadline) ::usleep(1000);
    EXPECT_TRUE(ask());
  }

  std::unique_ptr<Host> host_;
};

INSTANTIATE_TEST_SUITE_P(, GuardContract, ::testing::Values("Fake", "Kernel"),
                         [](const auto& one) { return one.param; });

TEST_P(GuardContract, HoldsWhatItIsTold) {
  const Allowed allowed = AllowedOf({"10.0.3.1", "fd52::1"});
  EXPECT_FALSE(guard().Holds("rep0", allowed).value());
  Must(guard().Close("rep0"));
  EXPECT_FALSE(guard().Holds("rep0", allowed).value());
  for (int i = 0; i < 2; ++i) {
    Must(guard().Allow("rep0", allowed));
    EXPECT_TRUE(guard().Holds("rep0", allowed).value());
  }
  EXPECT_FALSE(guard().Holds("rep0", AllowedOf({"10.0.3.1"})).value());
  Must(guard().Allow("rep0", AllowedOf({"10.0.3.1"})));
  EXPECT_TRUE(guard().Holds("rep0", AllowedOf({"10.0.3.1"})).value());
  EXPECT_FALSE(guard().Holds("rep1", allowed).value());
}

TEST_P(GuardContract, IsMadeByWhateverComesFirst) {
  Must(guard().Allow("rep0", AllowedOf({"10.0.3.1"})));
  EXPECT_TRUE(guard().Holds("rep0", AllowedOf({"10.0.3.1"})).value());
  host_->SendForged();
  Eventually([&] { return guard().Count("rep0").value().of(Reason::kMac) == 1; });
}

TEST_P(GuardContract, ForgetsWhatItWasToldAndHasSeenWhenItIsClosed) {
  Must(guard().Close("rep0"));
  Must(guard().Allow("rep0", AllowedOf({"10.0.3.1"})));
  for (const char* address : {"10.0.4.1", "10.0.4.2", "10.0.4.3"}) host_->SendTo(address);
  Eventually([&] { return guard().Forget("rep0", std::chrono::hours(1)).value() == 3; });
  host_->SendForged();
  Eventually([&] { return testing::All(guard().Count("rep0").value()) == 1; });
  Must(guard().Close("rep0"));
  EXPECT_FALSE(guard().Holds("rep0", AllowedOf({"10.0.3.1"})).value());
  EXPECT_EQ(guard().Forget("rep0", std::chrono::hours(1)).value(), 0U);
  EXPECT_EQ(testing::All(guard().Count("rep0").value()), 0U);
}

TEST_P(GuardContract, CountsWhatItRefuses) {
  EXPECT_EQ(testing::All(guard().Count("rep0").value()), 0U);
  Must(guard().Close("rep0"));
  Must(guard().Allow("rep0", AllowedOf({"10.0.3.1"})));
  for (int i = 0; i < 3; ++i) host_->SendForged();
  Eventually([&] { return guard().Count("rep0").value().of(Reason::kMac) == 3; });
  EXPECT_EQ(testing::All(guard().Count("rep0").value()), 3U);
  Must(guard().Allow("rep0", AllowedOf({"10.0.3.2"})));
  EXPECT_EQ(testing::All(guard().Count("rep0").value()), 3U);
}

TEST_P(GuardContract, ForgetsDestinationsThatAreIdle) {
  Must(guard().Close("rep0"));
  Must(guard().Allow("rep0", AllowedOf({"10.0.3.1"})));
  for (const char* address : {"10.0.4.1", "10.0.4.2", "10.0.4.3", "10.0.4.1"}) host_->SendTo(address);
  Eventually([&] { return guard().Forget("rep0", std::chrono::hours(1)).value() == 3; });
  EXPECT_EQ(guard().Forget("rep0", Clock::duration::zero()).value(), 0U);
  EXPECT_EQ(guard().Forget("rep0", std::chrono::hours(1)).value(), 0U);
  host_->SendTo("10.0.4.1");
  Eventually([&] { return guard().Forget("rep0", std::chrono::hours(1)).value() == 1; });
}

TEST_P(GuardContract, RefusesNothingWhileItIsOpen) {
  Must(guard().Open("rep0"));
  EXPECT_EQ(guard().Forget("rep0", std::chrono::hours(1)).error().code, Code::kNotFound) << "it makes none";
  for (int i = 0; i < 2; ++i) {
    Must(guard().Close("rep0"));
    Must(guard().Allow("rep0", AllowedOf({"10.0.3.1"})));
    for (int j = 0; j < 2; ++j) {
      Must(guard().Open("rep0"));
      EXPECT_FALSE(guard().Holds("rep0", AllowedOf({"10.0.3.1"})).value());
    }
  }
  host_->SendForged();
  Must(guard().Allow("rep0", AllowedOf({"10.0.3.1"})));
  host_->SendForged();
  Eventually([&] { return testing::All(guard().Count("rep0").value()) > 0; });
  EXPECT_EQ(testing::All(guard().Count("rep0").value()), 1U) << "the first one passed";
}

TEST_P(GuardContract, IsTakenFromAllLinks) {
  EXPECT_THAT(guard().RemoveAll().value(), IsEmpty());
  Must(guard().Allow("rep0", AllowedOf({"10.0.3.1"})));
  host_->AddOther("rep1");
  EXPECT_THAT(guard().RemoveAll().value(), ElementsAre("rep0"));
  EXPECT_FALSE(guard().Holds("rep0", AllowedOf({"10.0.3.1"})).value());
  EXPECT_EQ(guard().Forget("rep0", std::chrono::hours(1)).error().code, Code::kNotFound);
  EXPECT_EQ(guard().Close("rep1").error().code, Code::kExists) << "that of others is still there";
  EXPECT_THAT(guard().RemoveAll().value(), IsEmpty());
  Must(guard().Close("rep0"));
}

TEST_P(GuardContract, LeavesTheProgramsOfOthersAlone) {
  host_->AddOther("rep1");
  const Status closed = guard().Close("rep1");
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code, Code::kExists) << closed.error().message;
  EXPECT_THAT(closed.error().message, HasSubstr("rep1"));
  EXPECT_EQ(guard().Allow("rep1", AllowedOf({})).error().code, Code::kExists);
  Must(guard().Open("rep1"));
  EXPECT_EQ(guard().Close("rep1").error().code, Code::kExists) << "it is still there";
  EXPECT_EQ(testing::All(guard().Count("rep1").value()), 0U);
  EXPECT_FALSE(guard().Holds("rep1", AllowedOf({})).value());
}

TEST_P(GuardContract, SaysThatThereIsNoSuchLink) {
  Must(guard().Close("rep0"));
  host_->RemoveLinks();
  for (const char* link : {"rep0", "nosuch"}) {
    EXPECT_EQ(guard().Close(link).error().code, Code::kNotFound);
    EXPECT_EQ(guard().Allow(link, AllowedOf({})).error().code, Code::kNotFound);
    EXPECT_EQ(guard().Holds(link, AllowedOf({})).error().code, Code::kNotFound);
    EXPECT_EQ(guard().Count(link).error().code, Code::kNotFound);
    Must(guard().Open(link));
  }
}

TEST_P(GuardContract, RefusesMoreAddressesThanItCanHold) {
  Must(guard().Close("rep0"));
  std::vector<std::string> many;
  for (size_t i = 0; i <= kMostAddresses; ++i) many.push_back("10.0.3." + std::to_string(i));
  EXPECT_EQ(guard().Allow("rep0", AllowedOf(many)).error().code, Code::kInvalid);
}

// The kernel waits, with RTNL held, for a program that no link has.
TEST(GuardOfTheKernel, HasOneProgramForAllLinksOfANamespace) {
  RealHost host;
  ASSERT_TRUE(host.guard().Close("rep0"));
  ASSERT_TRUE(host.guard().Allow("rep1", AllowedOf({"10.0.3.2"})));
  EXPECT_EQ(host.Of("rep0").program, host.Of("rep1").program);
  EXPECT_FALSE(host.guard().Holds("rep0", AllowedOf({"10.0.3.2"})).value());
  EXPECT_TRUE(host.guard().Holds("rep1", AllowedOf({"10.0.3.2"})).value());
}

TEST(GuardOfTheKernel, ForgetsALinkThatIsGoneWhenTheNextIsGuarded) {
  RealHost host;
  host.Run("ip link add rep2 type veth peer name vf2");
  for (const char* link : {"rep0", "rep2"}) ASSERT_TRUE(host.guard().Allow(link, AllowedOf({"10.0.3.1"})));
  const auto kept = static_cast<uint32_t>(host.Of("rep2").link);
  const auto gone = static_cast<uint32_t>(host.Of("rep0").link);
  host.Run("ip link del rep0");
  ASSERT_TRUE(host.guard().Close("rep1"));
  const ProgramInfo program = InfoOf(ProgramOf(host.Of("rep1").program).value()).value();
  for (const uint32_t id : program.maps) {
    std::array<uint8_t, sizeof(Facts)> value{};
    const Fd map = MapOf(id).value();
    EXPECT_EQ(Read(map, &gone, value.data()).error().code, Code::kNotFound);
    EXPECT_TRUE(Read(map, &kept, value.data()));
  }
  EXPECT_EQ(program.maps.size(), 3U);
}

// What the error says works: the other's program is generic, so `xdp off` would leave it.
TEST(GuardOfTheKernel, NamesTheCommandThatTakesTheOthersProgramAway) {
  RealHost host;
  host.AddOther("rep1");
  const Status closed = host.guard().Close("rep1");
  ASSERT_FALSE(closed);
  const std::string text = closed.error().message;
  const size_t start = text.find('`') + 1;
  host.Run(text.substr(start, text.find('`', start) - start));
  EXPECT_TRUE(host.guard().Close("rep1"));
}

}  // namespace
}  // namespace rail::guard
