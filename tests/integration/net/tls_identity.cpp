#include "support/wire/tls_identity.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <unistd.h>

namespace agentcore::test {

namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

void add_extension(X509* certificate, int kind, const char* value) {
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

Certificate make_certificate(EVP_PKEY* key, const std::string& holder) {
  Certificate certificate(X509_new(), X509_free);
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME* const name = X509_get_subject_name(certificate.get());
  const auto* const text = reinterpret_cast<const unsigned char*>(holder.c_str());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text, -1, -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  add_extension(certificate.get(), NID_subject_alt_name, "IP:127.0.0.1");
  add_extension(certificate.get(), NID_basic_constraints, "critical,CA:TRUE");
  X509_sign(certificate.get(), key, EVP_sha256());
  return certificate;
}

template <typename Write>
std::string write_file(Write write) {
  std::string name = "/tmp/agentcore-test-XXXXXX";
  FILE* const file = ::fdopen(::mkstemp(name.data()), "w");
  write(file);
  std::fclose(file);
  return name;
}

}  // namespace

TlsIdentity::TlsIdentity(const std::string& name) : context_(SSL_CTX_new(TLS_server_method())) {
  const Key key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const Certificate certificate = make_certificate(key.get(), name);
  SSL_CTX_use_certificate(context_, certificate.get());
  SSL_CTX_use_PrivateKey(context_, key.get());
  std::array<char, 12> hash{};
  std::snprintf(hash.data(), hash.size(), "%08lx.0", X509_subject_name_hash(certificate.get()));
  name_in_directory_ = hash.data();
  file_ = write_file([&](FILE* file) { PEM_write_X509(file, certificate.get()); });
  key_file_ = write_file(
      [&](FILE* file) { PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr); });
}

TlsIdentity::~TlsIdentity() {
  SSL_CTX_free(context_);
  ::unlink(file_.c_str());
  ::unlink(key_file_.c_str());
}

}  // namespace agentcore::test
