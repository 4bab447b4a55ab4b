// The time in which a certificate file is valid.
//
// Use:      RAIL_ASSIGN(const Validity v, ReadValidity("/etc/railcni/api.crt"));   v.until_ms < now_ms
// Threads:  any thread
// Source:   RFC 5280 4.1.2.5; OpenSSL's X509(3)
#pragma once

#include <cstdint>
#include <string>

#include "lib/base/error.h"

namespace rail::inspect {

struct Validity {
  int64_t from_ms = 0;  // Unix time
  int64_t until_ms = 0;
  std::string subject;
};

// The validity of the certificate in the file that ends first: a chain is valid only while all its certificates are.
// Errors: kNotFound, kPermission; kInvalid the file holds no certificate in PEM.
Result<Validity> ReadValidity(const std::string& path);

}  // namespace rail::inspect
