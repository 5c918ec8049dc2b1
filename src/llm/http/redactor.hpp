// Redactor: removes secrets from received texts; a provider may repeat the key that it was sent.
#pragma once

#include "llm/http/secret.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::detail::llm {

// Finds a secret as it is, and in the forms in which a server may have written it: escaped for JSON, HTML or
// a URL, or within a base64 text. Copies share one list of secrets, also later additions. @loop_thread
class Redactor {
 public:
  // Of a key, in bytes. A shorter one is a dummy ("none", "EMPTY", "1"), and such texts are frequent.
  static constexpr std::size_t shortest_key = 8;

  Redactor();

  // Every `secret` becomes `name` in brackets. One of fewer than `shortest` bytes is ignored.
  void hide(std::string_view secret, std::string_view name, std::size_t shortest = shortest_key);

  // The same for as long as the result is kept, which may be released on any thread. A secret that is already
  // hidden is shared.
  [[nodiscard]] std::shared_ptr<const void> hide_while(std::string_view secret, std::string_view name,
                                                       std::size_t shortest = shortest_key);

  std::string operator()(std::string_view text) const;

  // The same for a text that is to be cut at `cuts`, in ascending order: each cut is moved to its position in
  // the result. A cut within a secret moves behind it.
  std::string operator()(std::string_view text, std::span<std::size_t> cuts) const;

 private:
  struct Hidden;
  struct Known;
  class Finder;

  std::shared_ptr<Known> known_;
};

}  // namespace agentcore::detail::llm
