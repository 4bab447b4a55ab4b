// The guard's program as the kernel runs it (BPF_PROG_TEST_RUN): what passes, and why the rest does not. Needs root.
#include "lib/guard/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "lib/guard/bpf.h"
#include "lib/guard/testing/fake.h"

namespace rail::guard {
namespace {

constexpr char kMac[] = "02:00:00:00:00:01";
constexpr char kGateway[] = "02:52:41:49:4c:00";
constexpr uint32_t kLink = 1;  // lo: what BPF_PROG_TEST_RUN says that a frame comes from
constexpr char kMine[] = "10.0.3.1";
constexpr char kMine6[] = "fd52:4149:0:3::1";

std::string MacBytes(const char* text) {
  const MacAddress mac = MacAddress::Parse(text).value();
  return {reinterpret_cast<const char*>(mac.bytes.data()), mac.bytes.size()};
}
std::string IpBytes(const std::string& text) {
  return std::string(IpAddress::Parse(text).value().bytes());
}

struct Frame {
  std::string to = kGateway;
  std::string from = kMac;
  std::string before_type = {};  // a tag
  std::string type = {'\x08', '\0'};
  std::string source = kMine;
  std::string destination = "10.0.4.1";
  std::optional<char> first = {};  // of the header: version, length
  size_t length = 128;

  std::string Bytes() const {
    const bool v6 = source.find(':') != std::string::npos;
    const std::string ethernet = MacBytes(to.c_str()) + MacBytes(from.c_str()) + before_type +
                                 (v6 && type == Frame().type ? std::string{'\x86', '\xdd'} : type);
    std::string header(v6 ? 8 : 12, '\0');
    header[0] = first.value_or(v6 ? '\x60' : '\x45');
    std::string all = ethernet + header + IpBytes(source) + IpBytes(destination);
    all.resize(length, 'x');
    return all;
  }
};

struct Case {
  const char* name;
  Frame frame;
  std::optional<Reason> refused;  // nullopt: it passes
};

class GuardProgram : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    auto maps = NewMaps();
    ASSERT_TRUE(maps) << maps.error().message;
    maps_ = std::move(*maps);
    auto seen = NewDestinations();
    ASSERT_TRUE(seen) << seen.error().message;
    seen_ = std::move(*seen);
    const int fd = seen_.get();
    const Refused none;
    ASSERT_TRUE(Write(maps_.seen, &kLink, &fd));
    ASSERT_TRUE(Write(maps_.refused, &kLink, &none));
    auto program = LoadXdp(kProgramName, Program(maps_));
    ASSERT_TRUE(program) << program.error().message;
    program_ = std::move(*program);
  }
  void Allow(const std::vector<std::string>& addresses) {
    Allowed allowed{.mac = MacAddress::Parse(kMac).value(),
                    .gateway = MacAddress::Parse(kGateway).value(),
                    .addresses = {}};
    for (const std::string& address : addresses)
      allowed.addresses.push_back(IpAddress::Parse(address).value());
    const Facts facts = FactsOf(allowed).value();
    ASSERT_TRUE(Write(maps_.facts, &kLink, &facts));
  }
  bool Passes(const Frame& frame) const {
    const std::string bytes = frame.Bytes();
    std::string out(bytes.size() + 256, '\0');
    bpf_attr attributes{};
    attributes.test.prog_fd = static_cast<uint32_t>(program_.get());
    attributes.test.data_in = reinterpret_cast<uint64_t>(bytes.data());
    attributes.test.data_size_in = static_cast<uint32_t>(bytes.size());
    attributes.test.data_out = reinterpret_cast<uint64_t>(out.data());
    attributes.test.data_size_out = static_cast<uint32_t>(out.size());
    attributes.test.repeat = 1;
    EXPECT_EQ(::syscall(SYS_bpf, BPF_PROG_TEST_RUN, &attributes, sizeof attributes), 0) << errno;
    EXPECT_THAT(attributes.test.retval, ::testing::AnyOf(XDP_PASS, XDP_DROP));
    return attributes.test.retval == XDP_PASS;
  }
  Refused Count() const {
    Refused refused;
    EXPECT_TRUE(Read(maps_.refused, &kLink, &refused));
    return refused;
  }

  Maps maps_;
  Fd seen_, program_;
};

INSTANTIATE_TEST_SUITE_P(
    Each, GuardProgram,
    ::testing::Values(
        Case{"Ipv4", {}, {}}, Case{"Ipv6", {.source = kMine6, .destination = "fd52::1"}, {}},
        Case{"ASecondAddress", {.source = "10.0.3.200"}, {}},
        Case{"ASecondAddressOfIpv6", {.source = "fd52:4149:0:3::200", .destination = "fd52::1"}, {}},
        Case{"OptionsOfIpv4", {.first = '\x4f'}, {}},
        Case{"TrafficClassOfIpv6", {.source = kMine6, .destination = "fd52::1", .first = '\x6f'}, {}},
        Case{"TheShortestOfIpv4", {.length = 34}, {}},
        Case{"TheShortestOfIpv6", {.source = kMine6, .destination = "fd52::1", .length = 54}, {}},
        Case{"LessThanAHeaderOfIpv4", {.length = 33}, Reason::kMalformed},
        Case{"LessThanAHeaderOfIpv6",
             {.source = kMine6, .destination = "fd52::1", .length = 53},
             Reason::kMalformed},
        Case{"AHeaderOfFourWords", {.first = '\x44'}, Reason::kMalformed},
        Case{"Version6InIpv4", {.first = '\x65'}, Reason::kMalformed},
        Case{"Version4InIpv6",
             {.source = kMine6, .destination = "fd52::1", .first = '\x45'},
             Reason::kMalformed},
        Case{"ATag", {.before_type = {'\x81', '\0', '\0', '\x05'}}, Reason::kTagged},
        Case{"AServiceTag", {.before_type = {'\x88', '\xa8', '\0', '\x05'}}, Reason::kTagged},
        Case{"Arp", {.type = {'\x08', '\x06'}}, Reason::kEtherType},
        Case{"AnyType", {.type = {'\x12', '\x34'}}, Reason::kEtherType},
        Case{"ABroadcast", {.to = "ff:ff:ff:ff:ff:ff"}, Reason::kGateway},
        Case{"AGatewayWithAnotherFirstBit", {.to = "82:52:41:49:4c:00"}, Reason::kGateway},
        Case{"AGatewayWithAnotherLastBit", {.to = "02:52:41:49:4c:01"}, Reason::kGateway},
        Case{"AMacWithAnotherFirstBit", {.from = "82:00:00:00:00:01"}, Reason::kMac},
        Case{"AMacWithAnotherMiddleBit", {.from = "02:00:00:10:00:01"}, Reason::kMac},
        Case{"AMacWithAnotherLastBit", {.from = "02:00:00:00:00:00"}, Reason::kMac},
        Case{"AnotherAddress", {.source = "10.0.3.2"}, Reason::kAddress},
        Case{"NoAddress", {.source = "0.0.0.0"}, Reason::kAddress},
        Case{"AnotherAddressOfIpv6",
             {.source = "fd52:4149:0:3::2", .destination = "fd52::1"},
             Reason::kAddress},
        Case{"AnAddressOfIpv6WithAnotherFirstBit",
             {.source = "7d52:4149:0:3::1", .destination = "fd52::1"},
             Reason::kAddress},
        Case{"NoAddressOfIpv6", {.source = "::", .destination = "ff02::1"}, Reason::kAddress},
        Case{"ALinkLocalAddress", {.source = "fe80::1", .destination = "ff02::2"}, Reason::kAddress}),
    [](const auto& one) { return one.param.name; });

TEST_P(GuardProgram, PassesOrSaysWhyNot) {
  Allow({kMine, "10.0.3.200", kMine6, "fd52:4149:0:3::200"});
  EXPECT_EQ(Passes(GetParam().frame), !GetParam().refused);
  Refused expected;
  if (GetParam().refused) expected.frames.at(static_cast<size_t>(*GetParam().refused)) = 1;
  EXPECT_EQ(Count().frames, expected.frames);
}

using GuardProgramOnce = GuardProgram;

TEST_F(GuardProgramOnce, RefusesEverythingUntilItIsToldWhatMayPass) {
  EXPECT_FALSE(Passes({}));
  EXPECT_FALSE(Passes({.to = "00:00:00:00:00:00", .from = "00:00:00:00:00:00", .source = "0.0.0.0"}));
  EXPECT_FALSE(Passes(
      {.to = "00:00:00:00:00:00", .from = "00:00:00:00:00:00", .source = "::", .destination = "fd52::1"}));
  EXPECT_EQ(testing::All(Count()), 3U);
}

TEST_F(GuardProgramOnce, PassesEverythingWhileItIsOpen) {
  const Facts open{.open = 1};
  ASSERT_TRUE(Write(maps_.facts, &kLink, &open));
  for (const Frame& frame : {Frame{}, Frame{.type = {'\x12', '\x34'}}, Frame{.from = "02:00:00:00:00:66"},
                             Frame{.length = 20}, Frame{.source = "::", .destination = "ff02::1"}})
    EXPECT_TRUE(Passes(frame));
  EXPECT_EQ(testing::All(Count()), 0U);
}

TEST_F(GuardProgramOnce, TakesAsManyAddressesAsItSays) {
  std::vector<std::string> addresses;
  for (size_t i = 1; i <= kMostAddresses; ++i) {
    addresses.push_back("10.0.3." + std::to_string(i));
    addresses.push_back("fd52::" + std::to_string(i));
  }
  Allow(addresses);
  for (const std::string& address : addresses) {
    const bool v6 = address.find(':') != std::string::npos;
    EXPECT_TRUE(Passes({.source = address, .destination = v6 ? "fd53::1" : "10.0.4.1"})) << address;
  }
  Allowed more;
  for (size_t i = 0; i <= kMostAddresses; ++i)
    more.addresses.push_back(IpAddress::Parse("10.0.3." + std::to_string(i)).value());
  EXPECT_EQ(FactsOf(more).error().code, Code::kInvalid);
}

TEST_F(GuardProgramOnce, LetsAPodSpeakToSoManyAndNoMore) {
  Allow({kMine, kMine6});
  const auto destination = [](size_t i) {
    return i % 2 == 0
               ? Frame{.destination = "10.9." + std::to_string(i / 256) + "." + std::to_string(i % 256)}
               : Frame{.source = kMine6, .destination = "fd52::9:" + std::to_string(i)};
  };
  for (size_t i = 0; i < kMostDestinations; ++i) ASSERT_TRUE(Passes(destination(i))) << i;
  EXPECT_FALSE(Passes(destination(kMostDestinations)));
  EXPECT_FALSE(Passes(destination(kMostDestinations + 1)));
  EXPECT_EQ(Count().of(Reason::kDestinations), 2U);
  EXPECT_EQ(testing::All(Count()), 2U);
  EXPECT_TRUE(Passes(destination(0))) << "it was spoken to before";
  EXPECT_TRUE(Passes(destination(kMostDestinations - 1)));
  const std::string first = std::string(10, '\0') + "\xff\xff" + IpBytes("10.9.0.0");
  ASSERT_TRUE(Erase(seen_, first.data()));
  EXPECT_TRUE(Passes(destination(kMostDestinations))) << "there is room";
  EXPECT_FALSE(Passes(destination(0)));
}

}  // namespace
}  // namespace rail::guard
