#include "lib/kubernetes/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace rail::kubernetes {
namespace {

using ::testing::HasSubstr;

class ServiceAccount : public ::testing::Test {
 protected:
  ServiceAccount() {
    char name[] = "/tmp/railcni-account-XXXXXX";
    folder = ::mkdtemp(name);
  }
  ~ServiceAccount() override { std::filesystem::remove_all(folder); }
  void Write(const std::string& file, const std::string& text) { std::ofstream(folder + "/" + file) << text; }
  std::string folder;
};

TEST_F(ServiceAccount, FindsTheServerOfThePodsCluster) {
  const auto endpoint = FindEndpoint({}, {"10.96.0.1", "443", folder});
  ASSERT_TRUE(endpoint) << endpoint.error().message;
  EXPECT_EQ(endpoint->url, "https://10.96.0.1:443");
  EXPECT_EQ(endpoint->token_file, folder + "/token") << "also while it is not mounted yet";
  EXPECT_EQ(FindEndpoint({}, {"fd00::1", "443", folder})->url, "https://[fd00::1]:443");
}

TEST_F(ServiceAccount, SaysWhatIsMissingOutsideOfACluster) {
  const auto endpoint = FindEndpoint({}, {"", "", folder});
  ASSERT_FALSE(endpoint);
  EXPECT_THAT(endpoint.error().message, HasSubstr("name the server in kubernetes.api"));
}

TEST_F(ServiceAccount, TakesWhatIsMountedForANamedServer) {
  config::Kubernetes config;
  config.api = "https://10.0.0.1:6443";
  EXPECT_EQ(FindEndpoint(config, {"10.96.0.1", "443", folder})->url, "https://10.0.0.1:6443");
  EXPECT_EQ(FindEndpoint(config, {"", "", folder})->token_file, folder + "/token");
  EXPECT_EQ(FindEndpoint(config, {"", "", folder})->ca_file, folder + "/ca.crt")
      << "also while it is not there: no other authority takes its place";
  config.api = "http://127.0.0.1:8001";
  EXPECT_EQ(FindEndpoint(config, {"", "", folder})->token_file, "");
  Write("token", "t");
  EXPECT_EQ(FindEndpoint(config, {"", "", folder})->token_file, folder + "/token");
  EXPECT_EQ(FindEndpoint(config, {"", "", folder})->ca_file, "");
}

TEST_F(ServiceAccount, HasATokenOfOneLine) {
  Write("token", "abc.def\n");
  EXPECT_EQ(ReadToken(folder + "/token").value(), "abc.def");
  for (const std::string& text : {std::string(), std::string("\n"), std::string("a\r\nHost: b"),
                                  std::string("a b"), std::string(20000, 'x'), std::string("a\0b", 3)}) {
    Write("token", text);
    EXPECT_FALSE(ReadToken(folder + "/token")) << text.substr(0, 20);
  }
  EXPECT_EQ(ReadToken(folder + "/none").error().code, Code::kNotFound);
}

}  // namespace
}  // namespace rail::kubernetes
