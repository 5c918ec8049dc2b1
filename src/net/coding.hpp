// The codings of the body of an answer, and which of them are decoded.
#pragma once

#include "net/transport.hpp"

namespace agentcore::detail::net {

// The codings that a request offers. The windows of gzip and deflate have 32 KiB at most; one of zstd may
// have 128 MiB.
inline constexpr const char* compressed_codings = "gzip, deflate";
inline constexpr const char* plain_coding = "identity";

// True when no other coding was used. libcurl would decode every coding that it was built with, offered or
// not.
bool is_coded_as_offered(const HttpHead& head);

}  // namespace agentcore::detail::net
