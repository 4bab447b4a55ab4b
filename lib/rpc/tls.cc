#include "lib/rpc/tls.h"

#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "lib/base/whole_file.h"

namespace rail::rpc {
namespace {

// How often gRPC looks at the files.
constexpr unsigned kRefreshSeconds = 5;

namespace tls_options = grpc::experimental;

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

// gRPC looks at the files by itself.
std::shared_ptr<tls_options::CertificateProviderInterface> Provider(const TlsFiles& files) {
  return std::make_shared<tls_options::FileWatcherCertificateProvider>(files.key_file, files.cert_file,
                                                                       files.ca_file, kRefreshSeconds);
}

}  // namespace

TlsFiles ReadTlsFiles(JsonObject& parent, const std::string& key, JsonErrors& errors) {
  const nlohmann::json* const value = parent.Object(key);
  if (value == nullptr) return {};
  JsonObject object(*value, parent.PathOf(key), errors);
  TlsFiles files{object.String("ca_file"), object.String("cert_file"), object.String("key_file")};
  object.RejectUnknown();
  return files;
}

Result<Tls> ReadTls(const TlsFiles& files) {
  Tls tls;
  for (const auto& [path, text] : {std::pair(&files.ca_file, &tls.ca), std::pair(&files.cert_file, &tls.cert),
                                   std::pair(&files.key_file, &tls.key)}) {
    RAIL_ASSIGN(*text, ReadWhole(*path));
    if (text->empty()) return Fail(Code::kInvalid, *path + " is empty");
  }
  return tls;
}

Status CheckTlsFiles(const TlsFiles& files) {
  struct stat info{};
  if (::stat(files.key_file.c_str(), &info) == 0 && (info.st_mode & S_IRWXO) != 0) {
    return Fail(Code::kInvalid,
                "the key " + files.key_file + " can be used by everybody on the node: chmod 0600 it");
  }
  RAIL_ASSIGN_AS(const std::string certificates, ReadWhole(files.cert_file), "the certificate");
  RAIL_ASSIGN_AS(const std::string private_key, ReadWhole(files.key_file), "the key");
  RAIL_ASSIGN_AS(const std::string authority, ReadWhole(files.ca_file), "the authority of the other side");
  RAIL_ASSIGN(const Owned<X509> certificate, FirstCertificate(certificates, files.cert_file));
  RAIL_TRY(FirstCertificate(authority, files.ca_file));
  const Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(Memory(private_key).get(), nullptr, nullptr, nullptr));
  if (!key) return Fail(Code::kInvalid, files.key_file + " holds no private key in PEM without a passphrase");
  if (X509_check_private_key(certificate.get(), key.get()) != 1)
    return Fail(Code::kInvalid,
                "the key " + files.key_file + " is not that of the certificate " + files.cert_file);
  return {};
}

Result<std::shared_ptr<grpc::ServerCredentials>> ServerTls(const TlsFiles& files) {
  RAIL_TRY(CheckTlsFiles(files));
  tls_options::TlsServerCredentialsOptions options(Provider(files));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  return tls_options::TlsServerCredentials(options);
}

std::shared_ptr<grpc::ServerCredentials> ServerTls(const Tls& tls) {
  grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = tls.ca;
  options.pem_key_cert_pairs.push_back({tls.key, tls.cert});
  return grpc::SslServerCredentials(options);
}

Result<std::shared_ptr<grpc::ChannelCredentials>> ClientTls(const TlsFiles& files) {
  RAIL_TRY(CheckTlsFiles(files));
  tls_options::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(Provider(files));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  return tls_options::TlsCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> ClientTls(const Tls& tls) {
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = tls.ca;
  options.pem_cert_chain = tls.cert;
  options.pem_private_key = tls.key;
  return grpc::SslCredentials(options);
}

}  // namespace rail::rpc
