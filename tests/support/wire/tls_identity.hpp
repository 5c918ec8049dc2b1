// A self-signed certificate for 127.0.0.1, made when it is needed.
#pragma once

#include <string>

struct ssl_ctx_st;

namespace agentcore::test {

class TlsIdentity {
 public:
  // `name` is who the certificate is for and who signed it.
  explicit TlsIdentity(const std::string& name = "agentcore test");
  ~TlsIdentity();
  TlsIdentity(const TlsIdentity&) = delete;
  TlsIdentity& operator=(const TlsIdentity&) = delete;

  ssl_ctx_st* context() const noexcept { return context_; }
  // The name of its certificate in a directory of certificates.
  const std::string& name_in_directory() const noexcept { return name_in_directory_; }
  // PEM file, deleted with this object.
  const std::string& certificate_file() const noexcept { return file_; }
  const std::string& key_file() const noexcept { return key_file_; }

 private:
  ssl_ctx_st* context_;
  std::string file_, key_file_, name_in_directory_;
};

}  // namespace agentcore::test
