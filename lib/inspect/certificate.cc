#include "lib/inspect/certificate.h"

#include <openssl/pem.h>
#include <openssl/x509.h>

#include <cerrno>
#include <ctime>
#include <memory>
#include <optional>

namespace rail::inspect {
namespace {

struct Delete {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
};

Result<int64_t> Milliseconds(const ASN1_TIME* time) {
  tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return Fail(Code::kInvalid, "a time in it cannot be read");
  return int64_t{::timegm(&parts)} * 1000;
}

}  // namespace

Result<Validity> ReadValidity(const std::string& path) {
  const std::string doing = "read the certificate " + path;
  errno = 0;
  const std::unique_ptr<BIO, Delete> file(BIO_new_file(path.c_str(), "r"));
  if (!file) return FailErrno(errno != 0 ? errno : ENOENT, doing);
  std::optional<Validity> shortest;
  for (;;) {
    const std::unique_ptr<X509, Delete> certificate(PEM_read_bio_X509(file.get(), nullptr, nullptr, nullptr));
    if (!certificate) break;
    Validity validity;
    RAIL_ASSIGN_AS(validity.from_ms, Milliseconds(X509_get0_notBefore(certificate.get())), doing);
    RAIL_ASSIGN_AS(validity.until_ms, Milliseconds(X509_get0_notAfter(certificate.get())), doing);
    char subject[256] = {};
    X509_NAME_oneline(X509_get_subject_name(certificate.get()), subject, sizeof subject);
    validity.subject = subject;
    if (!shortest || validity.until_ms < shortest->until_ms) shortest = validity;
  }
  if (!shortest) return Fail(Code::kInvalid, doing + ": it holds no certificate in PEM");
  return std::move(*shortest);
}

}  // namespace rail::inspect
