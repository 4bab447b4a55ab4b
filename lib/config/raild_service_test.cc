#include "lib/config/raild_service.h"

#include <gmock/gmock.h>

#include <cstdlib>

namespace rail::config {
namespace {

using testing::HasSubstr;

TEST(RaildService, IsSystemdsOnAHost) {
  ::unsetenv("KUBERNETES_SERVICE_HOST");
  EXPECT_EQ(FindRaildService().log, "journalctl -u raild");
  EXPECT_EQ(FindRaildService().start, "systemctl start raild");
}

TEST(RaildService, IsTheDaemonSetsInAPod) {
  ::setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1", 1);
  ::setenv("NODE_NAME", "gpu-7", 1);
  EXPECT_THAT(FindRaildService().log, HasSubstr("logs --all-containers"));
  EXPECT_THAT(FindRaildService().log, HasSubstr("spec.nodeName=gpu-7"));
  EXPECT_THAT(FindRaildService().start, HasSubstr("delete pod -l app.kubernetes.io/component=raild"));
  ::unsetenv("KUBERNETES_SERVICE_HOST");
  ::unsetenv("NODE_NAME");
}

}  // namespace
}  // namespace rail::config
