#include "lib/base/pci_address.h"

#include <gtest/gtest.h>

#include <utility>

namespace rail {
namespace {

TEST(PciAddress, IsReadAsTheKernelWritesIt) {
  EXPECT_EQ(PciAddress::Parse("0000:3b:00.2"), (PciAddress{0, 0x3b, 0, 2}));
  EXPECT_EQ(PciAddress::Parse("c0a2:00:02.0"), (PciAddress{0xc0a2, 0, 2, 0}));    // Azure
  EXPECT_EQ(PciAddress::Parse("10002:01:00.0"), (PciAddress{0x10002, 1, 0, 0}));  // VMD
  EXPECT_EQ(PciAddress::Parse("ffffffff:ff:1f.7"), (PciAddress{0xffffffff, 0xff, 31, 7}));
  for (const char* text : {"0000:3b:00.2", "10002:01:00.0", "ffffffff:ff:1f.7"})
    EXPECT_EQ(PciAddress::Parse(text)->ToString(), text);
}

TEST(PciAddress, IsNothingElse) {
  for (const char* text : {"",
                           "vf0",
                           "0000:3b:00",
                           "0000:3b:00.",
                           "0000:3b:00.8",
                           "0000:3b:20.0",
                           "0000:3b:00.2 ",
                           " 0000:3b:00.2",
                           "0000:3b:00.2.1",
                           "0000:3b:00:2",
                           "3b:00.2",
                           "000:3b:00.2",
                           "00000:3b:00.2",
                           "010002:01:00.0",
                           "100000000:01:00.0",
                           "0000:3B:00.2",
                           "0000:3b:0.2",
                           "0000:-1:00.2",
                           "0000:3b:00.02",
                           "0x00:3b:00.2",
                           "mlx5_core.sf.4"})
    EXPECT_FALSE(IsPciAddress(text)) << text;
  EXPECT_FALSE(IsPciAddress(std::string_view("0000:3b:00.2\0", 13)));
}

TEST(PciAddress, IsALabelToo) {
  for (const auto& [address, label] :
       {std::pair("0000:3b:00.2", "0000-3b-00-2"), std::pair("10002:01:1f.7", "10002-01-1f-7")}) {
    EXPECT_EQ(PciAddress::Parse(address)->ToLabel(), label);
    EXPECT_EQ(PciAddress::ParseLabel(label), PciAddress::Parse(address)) << label;
  }
  for (const char* text :
       {"", "-", "vf-7", "0000-3b-00", "0000-3b-00-", "0000-3b-000-", "00-00-3b-00-0", "a1b2-00-17",
        "a-b-c-d", "0000:3b:00.2", "0000:3b-00-2", "0000-3b-00-2-1", "00000-3b-00-2", "0000-3B-00-2"})
    EXPECT_EQ(PciAddress::ParseLabel(text), std::nullopt) << text;
}

// Not as texts: 10002 is behind e000.
TEST(PciAddress, AreInTheOrderOfTheirNumbers) {
  EXPECT_LT(*PciAddress::Parse("e000:01:00.0"), *PciAddress::Parse("10002:01:00.0"));
  EXPECT_LT(*PciAddress::Parse("0000:3b:00.2"), *PciAddress::Parse("0000:3b:01.0"));
  EXPECT_LT(*PciAddress::Parse("0000:3b:00.2"), *PciAddress::Parse("0000:5e:00.0"));
}

}  // namespace
}  // namespace rail
