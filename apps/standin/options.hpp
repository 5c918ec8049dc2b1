// Options: how a stand-in server listens and how it answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace standin {

struct Record;

// What an answer is like when the request does not say otherwise (headers x-standin-*).
struct Pace {
  std::uint64_t tokens = 200;          // length of an answer; 0: endless
  double rate = 20.0;                  // tokens a second and stream; 0: as fast as the client reads
  std::uint32_t first_token_ms = 100;  // from the request read to the first token
};

struct Options {
  std::string host = "127.0.0.1";  // numeric IPv4 address to listen on
  std::uint16_t port = 0;          // 0: any free one, see Server::port()
  std::string api_key;             // empty: any key, or none, is good
  std::string model = "standin";   // what GET /v1/models names, and answers to requests that name none
  Pace pace;

  std::size_t max_header_bytes = std::size_t{32} << 10;  // request line and headers together
  std::size_t max_body_bytes = std::size_t{16} << 20;
  std::size_t max_records = 1'000'000;  // the oldest are forgotten beyond that
  bool keep_requests = false;           // in Record::request
  bool prompt_cache = false;            // answers report the cached tokens of their prompts

  // Called on the server's thread for each request that has ended. Must not throw.
  std::function<void(const Record&)> on_request_end;
};

}  // namespace standin
