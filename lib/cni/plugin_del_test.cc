// DEL succeeds whatever is wrong with its input.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lib/cni/testing/request.h"

namespace rail::cni {
namespace {

using testing::MakeRequest;

TEST(Run, DelGoesOnWithoutNetnsAndWithWhatAddRefuses) {
  for (const char* extra :
       {R"("prevResult": "x")", R"("deviceID": 7)", R"("runtimeConfig": {"deviceID": "0000:99:00.7"})"}) {
    const Request request =
        MakeRequest("DEL", std::string(R"({"cniVersion": "1.0.0", "name": "rail0", )") + extra + "}",
                    {{"CNI_NETNS", ""}});
    EXPECT_EQ(request.device_id, "");
    EXPECT_EQ(request.prev_result, nullptr);
  }
}

// What it knows of the request is what it can read; the network's name where that is valid.
TEST(Run, DelGoesOnWithAnyInput) {
  const std::pair<const char*, const char*> inputs[] = {
      {"", ""},
      {R"({"cniVersion": "1.0.0", "name": "rail)", ""},
      {"[]", ""},
      {R"({"name": "rail0"})", "rail0"},
      {R"({"cniVersion": 7, "name": "rail0"})", "rail0"},
      {R"({"cniVersion": "2.0.0", "name": "rail0"})", "rail0"},
      {R"({"cniVersion": "1.0.0", "name": "a/b"})", ""},
      {R"({"cniVersion": "1.0.0"})", ""}};
  for (const auto& [input, network] : inputs) {
    const Request request = MakeRequest("DEL", input, {});
    EXPECT_EQ(request.network, network) << input;
    EXPECT_EQ(request.container_id, "c1");
    EXPECT_TRUE(request.config->is_object());
  }
}

}  // namespace
}  // namespace rail::cni
