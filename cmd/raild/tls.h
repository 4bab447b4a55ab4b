// Mutual TLS for gRPC from three files, which are looked at anew when somebody connects: a renewed certificate needs no
// restart, no timer and no signal.
//
// Use:      RAIL_ASSIGN(auto credentials, MutualTls({.cert_file = ..., .key_file = ..., .client_ca_file = ...}));
//           builder.AddListeningPort("10.0.0.5:9443", credentials);
// Threads:  any thread
// Owns:     what gRPC asks it for: it must outlive the server
// Source:   grpc/grpc_security.h (certificate config fetcher); DECISIONS.md
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <string>

#include "lib/base/error.h"
#include "lib/config/node_config.h"

namespace rail::raild {

// A client without a certificate of the authority is refused. Files that are wrong when they are read anew are logged once,
// and what was read before stays in use.
// Errors: kNotFound, kPermission a file cannot be read; kInvalid the key is readable by everybody, is not the certificate's,
//         or a file holds nothing of the kind.
Result<std::shared_ptr<grpc::ServerCredentials>> MutualTls(const config::Api& api);

}  // namespace rail::raild
