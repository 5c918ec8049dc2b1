// A self-signed certificate for 127.0.0.1, made when it is needed.
#pragma once

#include <string>

struct ssl_ctx_st;

namespace agentcore::test {

class TlsIdentity {
 public:
  TlsIdentity();
  ~TlsIdentity();
  TlsIdentity(const TlsIdentity&) = delete;
  TlsIdentity& operator=(const TlsIdentity&) = delete;

  ssl_ctx_st* context() const noexcept { return context_; }
  // PEM file, deleted with this object.
  const std::string& certificate_file() const noexcept { return file_; }
  const std::string& key_file() const noexcept { return key_file_; }

 private:
  ssl_ctx_st* context_;
  std::string file_, key_file_;
};

}  // namespace agentcore::test
