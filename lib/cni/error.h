// An error as CNI prints it: a code that runtimes know, a message, details.
//
// Use:      Outcome<std::string> Add(const Request& request) { RAIL_TRY(store->...); ... }   // an Error converts
//           return CniFail(7, "invalid network config", "rail: is missing");
// Threads:  values
// Source:   CNI SPEC.md 1.1.0 section 5 "Error"
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "lib/base/error.h"

namespace rail::cni {

// A fault of the plugin itself, or of a plugin that it calls and that breaks the protocol. It is not 999, because libcni gives
// 999 to errors without a code.
inline constexpr unsigned kFault = 105;

// Try again later (SPEC.md section 5).
inline constexpr unsigned kTryAgain = 11;

struct CniError {
  unsigned code = kFault;
  std::string msg;
  std::string details;

  CniError(unsigned error_code, std::string message, std::string more = {})
      : code(error_code), msg(std::move(message)), details(std::move(more)) {}
  // kInvalid 7, kBusy and kTransient 11, kNotFound 101, kExists 102, kUnsupported 103, kPermission 104,
  // kInternal 105. Never 3, which would tell the runtime that no DEL is needed.
  CniError(const Error& error);  // NOLINT(google-explicit-constructor): RAIL_TRY converts
};

template <class T>
class [[nodiscard]] Outcome : public tl::expected<T, CniError> {
 public:
  using tl::expected<T, CniError>::expected;
};

inline tl::unexpected<CniError> CniFail(unsigned code, std::string msg, std::string details = {}) {
  return tl::make_unexpected(CniError(code, std::move(msg), std::move(details)));
}

// {"cniVersion": ..., "code": ..., "msg": ..., "details": ...}
std::string PrintError(const CniError& error, const std::string& cni_version);

}  // namespace rail::cni
