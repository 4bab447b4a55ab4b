// Any bytes as CNI_ARGS, as names and as a record of an address: every value is a part of the input, and what is accepted
// as a name has the form that the rest of the code relies on.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "lib/cni/ipam.h"
#include "lib/cni/request.h"
#include "lib/cni/validate.h"
#include "lib/cni/version.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rail::cni;
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const auto& [key, value] : ParseArgs(text)) {
    if (key.find_first_of(";=") != std::string::npos || value.find(';') != std::string::npos) std::abort();
    if (text.find(key) == std::string::npos || text.find(value) == std::string::npos) std::abort();
  }
  if (ValidateInterfaceName(text) && (size == 0 || size > 15 || text.find('/') != std::string::npos))
    std::abort();
  if (ValidateContainerId(text).has_value() != ValidateNetworkName(text).has_value()) std::abort();
  if (const auto version = ParseVersion(text);
      version && text.find_first_not_of("0123456789.+-") != std::string::npos) {
    std::abort();
  }
  if (const auto call = IpamCall::FromJson(text); call && *IpamCall::FromJson(call->ToJson()) != *call)
    std::abort();
  return 0;
}
