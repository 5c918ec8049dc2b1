// Redactor: keeps secrets out of texts that come from outside; a provider may well repeat the key it was
// sent.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agentcore::llm {

class Redactor {
 public:
  // Every `secret` becomes `name` in brackets. Empty secrets are ignored.
  void hide(std::string secret, std::string_view name);

  std::string operator()(std::string_view text) const;

 private:
  std::vector<std::pair<std::string, std::string>> hidden_;  // longest first
};

}  // namespace agentcore::llm
