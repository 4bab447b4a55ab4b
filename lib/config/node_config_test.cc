#include "lib/config/node_config.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace rail::config {
namespace {

TEST(Paths, StandUnderTheRoot) {
  const Paths paths = Paths::Under("/run/lab/n1/");
  EXPECT_EQ(paths.config_file, "/run/lab/n1/etc/railcni/node.json");
  EXPECT_EQ(paths.state_file, "/run/lab/n1/var/lib/railcni/state.db");
  EXPECT_EQ(paths.good_rails_file, "/run/lab/n1/var/lib/railcni/good-rails.json");
  EXPECT_EQ(paths.leaves_file, "/run/lab/n1/var/lib/railcni/leaves.json");
  EXPECT_EQ(paths.labels_file, "/run/lab/n1/var/lib/railcni/labels.json");
  EXPECT_EQ(paths.socket, "/run/lab/n1/run/railcni/raild.sock");
  EXPECT_EQ(paths.wake_socket, "/run/lab/n1/run/railcni/wake.sock");
}

TEST(Paths, AreTheHostsOwnWithoutARoot) {
  ::unsetenv("RAILCNI_ROOT");
  EXPECT_EQ(Paths::FromEnvironment().config_file, "/etc/railcni/node.json");
  EXPECT_EQ(Paths::Under("/").state_file, "/var/lib/railcni/state.db");
}

TEST(Paths, FollowTheEnvironment) {
  ::setenv("RAILCNI_ROOT", "/srv/n2", 1);
  EXPECT_EQ(Paths::FromEnvironment().socket, "/srv/n2/run/railcni/raild.sock");
  ::unsetenv("RAILCNI_ROOT");
}

TEST(Rail, HasAGatewayMacByIndex) {
  Rail rail;
  rail.index = 17;
  EXPECT_EQ(rail.GatewayMac().ToString(), "02:52:41:49:4c:11");
}

TEST(Gateway, IsLinkLocal) {
  EXPECT_EQ(DefaultGateway(false).ToString(), "169.254.1.1");
  EXPECT_EQ(DefaultGateway(true).ToString(), "fe80::1");
}

}  // namespace
}  // namespace rail::config
