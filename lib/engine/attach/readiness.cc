#include <algorithm>

#include "lib/engine/attach/verb_context.h"

namespace rail::engine {

cni::CniError NotReady(const std::string& what, const Error& why, const VerbContext* context,
                       const cni::Request& request) {
  cni::CniError error(50, what, why.message);
  if (context == nullptr) return error;
  const auto all = context->store->List();
  if (!all) return error;
  const auto attached = std::ranges::count_if(
      *all, [&](const state::Attachment& attachment) { return attachment.key.network == request.network; });
  if (attached == 0) return error;
  error.code = 51;
  error.details += "; " + std::to_string(attached) + (attached == 1 ? " attachment" : " attachments") +
                   " of network " + request.network + " may be hit too";
  return error;
}

}  // namespace rail::engine
