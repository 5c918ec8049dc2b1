// How the body of an answer is coded, and what of that we decode.
#pragma once

#include "net/transport.hpp"

namespace agentcore::net {

// What we offer. The windows of these two are 32 KiB, whoever compressed; one of zstd's may be 128 MiB.
inline constexpr const char* compressed_codings = "gzip, deflate";
inline constexpr const char* plain_coding = "identity";

// True when nothing else was used. libcurl would decode whatever it was built with, asked for or not.
bool is_coded_as_offered(const HttpHead& head);

}  // namespace agentcore::net
