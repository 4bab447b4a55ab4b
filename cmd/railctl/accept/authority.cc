#include "cmd/railctl/accept/authority.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <utility>
#include <vector>

namespace rail::accept {
namespace {

constexpr long kEarlier = -3600;  // s: how far a pod's clock may be behind
constexpr int kSerialBits = 159;  // RFC 5280 4.1.2.2: 20 octets at most, and not negative

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* owned) const {
    Free(owned);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Freed<&EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freed<&X509_free>>;
using Memory = std::unique_ptr<BIO, Freed<&BIO_free>>;
using Number = std::unique_ptr<BIGNUM, Freed<&BN_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Freed<&X509_EXTENSION_free>>;

tl::unexpected<Error> Refused(const std::string& what) {
  char words[256];
  ERR_error_string_n(ERR_get_error(), words, sizeof words);
  ERR_clear_error();
  return Fail(Code::kInternal, "make certificates for the agents: " + what + ": " + words);
}

// The text of what `write` writes.
template <class Write>
Result<std::string> Pem(const Write& write) {
  const Memory memory(BIO_new(BIO_s_mem()));
  if (memory == nullptr || write(memory.get()) != 1) return Refused("write PEM");
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &data);
  return std::string(data, static_cast<size_t>(size));
}

struct Issuer {
  X509* certificate;
  EVP_PKEY* key;
};

// What a certificate is for: the name in it, and its extensions as openssl.cnf writes them.
struct Purpose {
  const char* name;
  std::vector<std::pair<int, std::string>> extensions;
};

Status SetNumber(X509* certificate) {
  const Number number(BN_new());
  if (number == nullptr || BN_rand(number.get(), kSerialBits, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) != 1 ||
      BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) == nullptr)
    return Refused("its number");
  return {};
}

// `issuer`: null of an authority, which signs itself.
Result<Certificate> Sign(EVP_PKEY* key, const Purpose& purpose, const Issuer* issuer,
                         std::chrono::seconds valid) {
  Certificate certificate(X509_new());
  if (certificate == nullptr) return Refused("a certificate");
  X509* const made = certificate.get();
  RAIL_TRY(SetNumber(made));
  X509_set_version(made, X509_VERSION_3);
  X509_gmtime_adj(X509_getm_notBefore(made), kEarlier);
  X509_gmtime_adj(X509_getm_notAfter(made), valid.count());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(purpose.name), -1, -1, 0);
  const Issuer self{made, key};
  const Issuer& by = issuer == nullptr ? self : *issuer;
  if (X509_set_issuer_name(made, X509_get_subject_name(by.certificate)) != 1 ||
      X509_set_pubkey(made, key) != 1)
    return Refused("its issuer and key");
  X509V3_CTX context;
  X509V3_set_ctx(&context, by.certificate, made, nullptr, nullptr, 0);
  for (const auto& [kind, value] : purpose.extensions) {
    const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
    if (extension == nullptr || X509_add_ext(made, extension.get(), -1) != 1) return Refused(value);
  }
  if (X509_sign(made, by.key, EVP_sha256()) == 0) return Refused("sign");
  return certificate;
}

Result<std::string> PemOf(X509* certificate) {
  return Pem([&](BIO* to) { return PEM_write_bio_X509(to, certificate); });
}

Result<Certificates::Pair> MakePair(const Purpose& purpose, const Issuer& issuer,
                                    std::chrono::seconds valid) {
  const Key key(EVP_EC_gen("P-256"));
  if (key == nullptr) return Refused("a key");
  RAIL_ASSIGN(const Certificate certificate, Sign(key.get(), purpose, &issuer, valid));
  Certificates::Pair pair;
  RAIL_ASSIGN(pair.cert, PemOf(certificate.get()));
  RAIL_ASSIGN(pair.key, Pem([&](BIO* to) {
                return PEM_write_bio_PrivateKey(to, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
              }));
  return pair;
}

}  // namespace

Result<Certificates> MakeCertificates(std::chrono::seconds valid) {
  const Key key(EVP_EC_gen("P-256"));
  if (key == nullptr) return Refused("a key");
  RAIL_ASSIGN(
      const Certificate authority,
      Sign(key.get(),
           {"railctl accept",
            {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"}, {NID_key_usage, "critical,keyCertSign"}}},
           nullptr, valid));
  const Issuer issuer{authority.get(), key.get()};
  Certificates made;
  RAIL_ASSIGN(made.ca, PemOf(authority.get()));
  RAIL_ASSIGN(made.agents, MakePair({kAgentName,
                                     {{NID_ext_key_usage, "serverAuth"},
                                      {NID_subject_alt_name, std::string("DNS:") + kAgentName}}},
                                    issuer, valid));
  RAIL_ASSIGN(made.asker, MakePair({"asker", {{NID_ext_key_usage, "clientAuth"}}}, issuer, valid));
  return made;
}

}  // namespace rail::accept
