// Mutual TLS for gRPC from three files, which gRPC reads anew every 5 s: a renewed certificate needs no restart and no signal.
//
// Use:      RAIL_TRY(CheckTlsFiles(config.api));
//           RAIL_ASSIGN(auto credentials, MutualTls({.cert_file = ..., .key_file = ..., .client_ca_file = ...}));
//           builder.AddListeningPort("10.0.0.5:9443", credentials);
// Threads:  any thread
// Owns:     through gRPC, a thread that reads the files
// Source:   grpcpp/security/tls_certificate_provider.h (FileWatcherCertificateProvider)
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>

#include "lib/base/error.h"
#include "lib/config/node_config.h"

namespace rail::raild {

// Whether the files are such that MutualTls can start with them.
// Errors: kNotFound, kPermission a file cannot be read; kInvalid the key is readable by everybody, is not the certificate's,
//         or a file does not hold what it should.
Status CheckTlsFiles(const config::Api& api);

// Refuses a client without a certificate of the authority. While the files do not match (the certificate is renewed, its key not
// yet), refuses everybody who connects, and gRPC logs why. A client that is connected stays so. Errors: as CheckTlsFiles.
Result<std::shared_ptr<grpc::ServerCredentials>> MutualTls(const config::Api& api);

}  // namespace rail::raild
