// Redactor: keeps secrets out of texts that come from outside; a provider may well repeat the key it was
// sent.
#pragma once

#include "llm/http/secret.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::llm {

// Finds a secret as it is, and as a server may have written it down: escaped for JSON, HTML or a URL, or
// within something in base64. Copies know the same secrets, those told later included. @loop_thread
class Redactor {
 public:
  // Of a key. What has fewer bytes is a dummy ("none", "EMPTY", "1"), and texts are full of such words.
  static constexpr std::size_t shortest_key = 8;

  Redactor();

  // Every `secret` becomes `name` in brackets. One of fewer than `shortest` bytes is ignored.
  void hide(std::string_view secret, std::string_view name, std::size_t shortest = shortest_key);

  // The same for as long as anybody keeps what it returns, which may go on any thread. What is hidden so
  // already is shared.
  [[nodiscard]] std::shared_ptr<const void> hide_while(std::string_view secret, std::string_view name,
                                                       std::size_t shortest = shortest_key);

  std::string operator()(std::string_view text) const;

  // The same for a text that is to be cut at `cuts`, in ascending order: each is moved to where it belongs in
  // the result. One within a secret moves behind it.
  std::string operator()(std::string_view text, std::span<std::size_t> cuts) const;

 private:
  struct Hidden;
  struct Known;
  class Finder;

  std::shared_ptr<Known> known_;
};

}  // namespace agentcore::llm
