#include "cmd/raild/api/tls.h"

#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include <utility>

#include "lib/base/whole_file.h"

namespace rail::raild {
namespace {

// How often gRPC looks at the files.
constexpr unsigned kRefreshSeconds = 5;

struct Delete {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
template <class T>
using Owned = std::unique_ptr<T, Delete>;

Owned<BIO> Memory(const std::string& text) {
  return Owned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Result<Owned<X509>> FirstCertificate(const std::string& text, const std::string& path) {
  Owned<X509> certificate(PEM_read_bio_X509(Memory(text).get(), nullptr, nullptr, nullptr));
  if (!certificate) return Fail(Code::kInvalid, path + " holds no certificate in PEM");
  return certificate;
}

}  // namespace

Status CheckTlsFiles(const config::Api& api) {
  struct stat info{};
  if (::stat(api.key_file.c_str(), &info) == 0 && (info.st_mode & S_IRWXO) != 0) {
    return Fail(Code::kInvalid,
                "the key " + api.key_file + " can be used by everybody on the node: chmod 0600 it");
  }
  RAIL_ASSIGN_AS(const std::string certificates, ReadWhole(api.cert_file), "the certificate");
  RAIL_ASSIGN_AS(const std::string private_key, ReadWhole(api.key_file), "the key");
  RAIL_ASSIGN_AS(const std::string client_ca, ReadWhole(api.client_ca_file), "the clients' authority");
  RAIL_ASSIGN(const Owned<X509> certificate, FirstCertificate(certificates, api.cert_file));
  RAIL_TRY(FirstCertificate(client_ca, api.client_ca_file));
  const Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(Memory(private_key).get(), nullptr, nullptr, nullptr));
  if (!key) return Fail(Code::kInvalid, api.key_file + " holds no private key in PEM without a passphrase");
  if (X509_check_private_key(certificate.get(), key.get()) != 1)
    return Fail(Code::kInvalid,
                "the key " + api.key_file + " is not that of the certificate " + api.cert_file);
  return {};
}

Result<std::shared_ptr<grpc::ServerCredentials>> MutualTls(const config::Api& api) {
  RAIL_TRY_AS(CheckTlsFiles(api), "serve on " + api.listen);
  namespace tls = grpc::experimental;
  tls::TlsServerCredentialsOptions options(std::make_shared<tls::FileWatcherCertificateProvider>(
      api.key_file, api.cert_file, api.client_ca_file, kRefreshSeconds));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  return tls::TlsServerCredentials(options);
}

}  // namespace rail::raild
