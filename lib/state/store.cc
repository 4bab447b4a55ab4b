#include "lib/state/store.h"

namespace rail::state {

std::string_view ClaimKindName(ClaimKind kind) {
  switch (kind) {
    case ClaimKind::kDevice: return "device";
    case ClaimKind::kAddress: return "address";
    case ClaimKind::kPort: return "port";
  }
  return "";
}

}  // namespace rail::state
