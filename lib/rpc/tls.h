// Mutual TLS for gRPC, of a server and of whoever asks it, from three files. From their names: gRPC reads them anew every 5 s, so a renewed
// certificate needs no restart and no signal. From their content: as they are now.
//
// Use:      const TlsFiles files = ReadTlsFiles(object, "tls", errors);   RAIL_TRY(CheckTlsFiles(files));
//           RAIL_ASSIGN(auto credentials, ServerTls(files));   builder.AddListeningPort("10.0.0.5:9443", credentials);
//           RAIL_ASSIGN(const Tls tls, ReadTls(files));        Connect("10.0.0.5:9443", {.tls = ClientTls(tls)});
// Threads:  any thread
// Owns:     from names: through gRPC, a thread that reads the files
// Source:   grpcpp/security/tls_certificate_provider.h (FileWatcherCertificateProvider)
#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <string>

#include "lib/base/error.h"
#include "lib/base/strict_json.h"

namespace rail::rpc {

struct TlsFiles {
  std::string ca_file;  // the authority of the other side
  std::string cert_file;
  std::string key_file;
  bool empty() const { return ca_file.empty() && cert_file.empty() && key_file.empty(); }
};

struct Tls {  // PEM
  std::string ca;
  std::string cert;
  std::string key;
  std::string name = {};  // that the other side's certificate has; empty: the address's
};

// The object `key` of a configuration: {"ca_file", "cert_file", "key_file"}, all three. None when it is absent.
TlsFiles ReadTlsFiles(JsonObject& parent, const std::string& key, JsonErrors& errors);

// Errors: of open(2) and read(2), with the path; kInvalid an empty file.
Result<Tls> ReadTls(const TlsFiles& files);

// Whether a program that lives long can start with the files.
// Errors: kNotFound, kPermission a file cannot be read; kInvalid the key is readable by everybody, is not the certificate's,
//         or a file does not hold what it should.
Status CheckTlsFiles(const TlsFiles& files);

// A server's: refuses a client without a certificate of the authority. While the files do not match (the certificate is renewed, its key not
// yet), refuses everybody who connects, and gRPC logs why. A client that is connected stays so. Errors: as CheckTlsFiles.
Result<std::shared_ptr<grpc::ServerCredentials>> ServerTls(const TlsFiles& files);
std::shared_ptr<grpc::ServerCredentials> ServerTls(const Tls& tls);

// A client's: refuses a server without a certificate of the authority for the address that is asked. Errors: as CheckTlsFiles.
Result<std::shared_ptr<grpc::ChannelCredentials>> ClientTls(const TlsFiles& files);
std::shared_ptr<grpc::ChannelCredentials> ClientTls(const Tls& tls);

}  // namespace rail::rpc
