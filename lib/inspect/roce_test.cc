#include "lib/inspect/roce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace rail::inspect {
namespace {

namespace fs = std::filesystem;

class RoceCounters : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = fs::temp_directory_path() / "railcni-roce-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { fs::remove_all(root_); }
  void Write(const std::string& name, const std::string& text) {
    const fs::path path = root_ / "class/net/p0/device/infiniband/mlx5_0/ports/1/hw_counters" / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::vector<std::string> Read(const std::string& uplink) const {
    std::vector<std::string> found;
    for (const RoceCounter& counter : ReadRoceCounters(root_, uplink))
      found.push_back(counter.name + "=" + std::to_string(counter.value));
    return found;
  }
  fs::path root_;
};

TEST_F(RoceCounters, AreThoseOfTheUplinksDevice) {
  Write("np_cnp_sent", "12\n");
  Write("out_of_sequence", "18446744073709551615\n");
  Write("lifespan", "10\n");
  Write("refused", "");
  Write("Not a name", "1\n");
  EXPECT_THAT(Read("p0"), testing::ElementsAre("np_cnp_sent=12", "out_of_sequence=18446744073709551615"));
}

TEST_F(RoceCounters, AreNoneWithoutADevice) {
  EXPECT_THAT(Read("p0"), testing::IsEmpty());
  fs::create_directories(root_ / "class/net/p1/device/infiniband/mlx5_1/ports/1");
  EXPECT_THAT(Read("p1"), testing::IsEmpty());
}

TEST_F(RoceCounters, AreBounded) {
  for (size_t i = 0; i < kMostRoceCounters + 10; ++i) Write("counter_" + std::to_string(1000 + i), "1");
  EXPECT_EQ(Read("p0").size(), kMostRoceCounters);
}

}  // namespace
}  // namespace rail::inspect
