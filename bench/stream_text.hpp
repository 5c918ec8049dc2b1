// What a provider streams: server-sent events, each with one chat.completion.chunk of about 250 bytes.
#pragma once

#include <array>
#include <cstddef>
#include <random>
#include <string>
#include <string_view>

namespace bench {

// One event with one piece of an answer. `text` and `padding` are put in as they are.
inline std::string chunk_event(std::string_view text, std::string_view padding) {
  std::string event = R"(data: {"id":"chatcmpl-CkR7vTq2pXw9LmZ4sBn1HdYf","object":"chat.completion.chunk",)"
                      R"("created":1767225600,"model":"gpt-4o-2024-08-06","service_tier":"default",)"
                      R"("choices":[{"index":0,"delta":{"content":")";
  event += text;
  event += R"("},"logprobs":null,"finish_reason":null}],"obfuscation":")";
  event += padding;
  event += "\"}\n\n";
  return event;
}

// A piece of an answer, as it stands in JSON: mostly short words, some escapes, some UTF-8.
inline std::string_view random_text(std::mt19937_64& random) {
  constexpr std::array<std::string_view, 24> words{
      " the",         " of",           " and",    " beach", " three", " quiet",        " you",
      " would",       " there",        ",",       ".",      "\\n\\n", " is",           " in",
      " a",           " to",           " that",   " for",   " agent", " \\\"stop\\\"", " it",
      " caf\xc3\xa9", " \xe2\x80\x93", " morning"};
  return words[random() % words.size()];
}

// `events` events and the end mark.
inline std::string stream_text(std::size_t events, std::size_t& text_bytes) {
  std::mt19937_64 random(7);
  std::string stream;
  for (std::size_t i = 0; i < events; ++i) {
    const std::string_view text = random_text(random);
    stream += chunk_event(text, std::string(1 + random() % 14, 'x'));
    for (const char c : text) text_bytes += c != '\\';  // each escape here stands for one byte
  }
  return stream += "data: [DONE]\n\n";
}

}  // namespace bench
