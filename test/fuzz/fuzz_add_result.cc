// Any JSON as the result of another plugin: what can be read can be printed in every version, and read again as the same.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "lib/base/strict_json.h"
#include "lib/cni/result.h"
#include "lib/cni/version.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rail;
  using cni::AddResult;
  const auto document = ParseJson({reinterpret_cast<const char*>(data), size});
  if (!document) return 0;
  for (const std::string& version : cni::SupportedVersions()) {
    const auto result = AddResult::Parse(*document, version);
    const auto passed = cni::PassThrough(*document, version);
    if (result.has_value() != passed.has_value()) std::abort();
    if (!result) continue;
    for (const cni::IpConfig& ip : result->ips) {
      if (ip.interface < -1 || ip.interface >= static_cast<int>(result->interfaces.size())) std::abort();
    }
    const std::string printed = result->Print(version);
    const auto again = AddResult::Parse(nlohmann::json::parse(printed), version);
    if (!again || again->Print(version) != printed) std::abort();
    if (!AddResult::Parse(nlohmann::json::parse(*passed), version)) std::abort();
  }
  return 0;
}
