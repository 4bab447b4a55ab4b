#include "cmd/raild/tls.h"

#include <grpc/grpc_security.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <mutex>
#include <optional>
#include <utility>

#include "lib/base/log.h"

namespace rail::raild {
namespace {

struct Delete {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
template <class T>
using Owned = std::unique_ptr<T, Delete>;

struct Material {
  std::string certificates, key, client_ca;
};

Result<std::string> Read(const std::string& path, const char* what) {
  const std::string doing = std::string("read ") + what + " " + path;
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return FailErrno(errno != 0 ? errno : ENOENT, doing);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Owned<BIO> Memory(const std::string& text) {
  return Owned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Result<Owned<X509>> FirstCertificate(const std::string& text, const std::string& path) {
  Owned<X509> certificate(PEM_read_bio_X509(Memory(text).get(), nullptr, nullptr, nullptr));
  if (!certificate) return Fail(Code::kInvalid, path + " holds no certificate in PEM");
  return certificate;
}

Result<Material> Load(const config::Api& api) {
  struct stat info{};
  if (::stat(api.key_file.c_str(), &info) == 0 && (info.st_mode & S_IRWXO) != 0) {
    return Fail(Code::kInvalid,
                "the key " + api.key_file + " can be used by everybody on the node: chmod 0600 it");
  }
  Material material;
  RAIL_ASSIGN(material.certificates, Read(api.cert_file, "the certificate"));
  RAIL_ASSIGN(material.key, Read(api.key_file, "the key"));
  RAIL_ASSIGN(material.client_ca, Read(api.client_ca_file, "the clients' authority"));
  RAIL_ASSIGN(const Owned<X509> certificate, FirstCertificate(material.certificates, api.cert_file));
  RAIL_TRY(FirstCertificate(material.client_ca, api.client_ca_file));
  const Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(Memory(material.key).get(), nullptr, nullptr, nullptr));
  if (!key) return Fail(Code::kInvalid, api.key_file + " holds no private key in PEM without a passphrase");
  if (X509_check_private_key(certificate.get(), key.get()) != 1)
    return Fail(Code::kInvalid,
                "the key " + api.key_file + " is not that of the certificate " + api.cert_file);
  return material;
}

// What differs after a file was written or replaced.
using Stamp = std::array<int64_t, 5>;
Stamp StampOf(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return {};
  return {static_cast<int64_t>(info.st_dev), static_cast<int64_t>(info.st_ino), info.st_size,
          info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
}

class Files {
 public:
  explicit Files(config::Api api) : api_(std::move(api)) {}

  // gRPC asks at every connection; its first call must give something.
  static grpc_ssl_certificate_config_reload_status Fetch(void* self,
                                                         grpc_ssl_server_certificate_config** config) {
    return static_cast<Files*>(self)->Fetch(config);
  }

  Status First() {
    const std::lock_guard lock(mutex_);
    const auto stamps = Stamps();
    RAIL_ASSIGN(material_, Load(api_));
    stamps_ = stamps;
    fresh_ = true;
    return {};
  }

 private:
  using Three = std::array<Stamp, 3>;
  Three Stamps() const {
    return {StampOf(api_.cert_file), StampOf(api_.key_file), StampOf(api_.client_ca_file)};
  }

  grpc_ssl_certificate_config_reload_status Fetch(grpc_ssl_server_certificate_config** config) {
    const std::lock_guard lock(mutex_);
    // The stamps first: a file that changes while it is read is read again next time.
    if (const Three stamps = Stamps(); stamps != stamps_) {
      auto loaded = Load(api_);
      if (!loaded) {
        // A certificate and its key are two files: between their two renames they do not belong together.
        if (complained_ != stamps)
          log::Warning("keep serving with the TLS files as they were: {}", loaded.error().message);
        complained_ = stamps;
        return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_FAIL;
      }
      log::Info("TLS files read again");
      material_ = std::move(*loaded);
      stamps_ = stamps;
      fresh_ = true;
    }
    if (!std::exchange(fresh_, false)) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    const grpc_ssl_pem_key_cert_pair pair{material_.key.c_str(), material_.certificates.c_str()};
    *config = grpc_ssl_server_certificate_config_create(material_.client_ca.c_str(), &pair, 1);
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  const config::Api api_;
  std::mutex mutex_;
  Three stamps_{};
  std::optional<Three> complained_;
  Material material_;
  bool fresh_ = false;  // gRPC does not have material_ yet
};

// gRPC's C++ has no credentials with a fetcher; its C has.
class Credentials final : public grpc::ServerCredentials {
 public:
  explicit Credentials(std::unique_ptr<Files> files)
      : files_(std::move(files)),
        core_(grpc_ssl_server_credentials_create_with_options(
            grpc_ssl_server_credentials_create_options_using_config_fetcher(
                GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY, &Files::Fetch, files_.get()))) {}
  ~Credentials() override { grpc_server_credentials_release(core_); }

  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), core_);
  }

  std::unique_ptr<Files> files_;
  grpc_server_credentials* core_;
};

}  // namespace

Result<std::shared_ptr<grpc::ServerCredentials>> MutualTls(const config::Api& api) {
  auto files = std::make_unique<Files>(api);
  RAIL_TRY_AS(files->First(), "serve on " + api.listen);
  return std::shared_ptr<grpc::ServerCredentials>(std::make_shared<Credentials>(std::move(files)));
}

}  // namespace rail::raild
