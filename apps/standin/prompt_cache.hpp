// PromptCache: which beginnings of prompts were sent before, as the caches of providers remember them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

namespace standin {

// A prompt as a cache sees it.
struct PromptParts {
  std::string key;                 // prompts with different keys have nothing in common
  std::vector<std::string> parts;  // in the order in which a model reads them: tools, system, messages
  std::vector<std::size_t> ends;   // after how many parts a beginning ends that is kept; ascending
  std::size_t lookups = 1;         // for each of `ends`: it, and beginnings that are shorter by one part each
};

struct PromptTokens {
  std::uint64_t total = 0;
  std::uint64_t read = 0;     // of the longest beginning that was found
  std::uint64_t written = 0;  // of what is kept of this prompt beyond that
};

// A token is four bytes. Remembers hashes, not texts. One thread.
class PromptCache {
 public:
  // Finds the longest beginning that an earlier prompt left, and keeps those of this one.
  PromptTokens use(const PromptParts& prompt);

 private:
  std::unordered_set<std::uint64_t> kept_;
};

// The prompt of a chat completion: its tools, and each message whole. `body` is valid JSON.
PromptParts chat_prompt(const std::string& body);

// The prompt of a request of Anthropic's: each tool, and each block of the system prompt and the messages.
// Kept are its beginnings up to a `cache_control`. `body` is valid JSON and a valid request.
PromptParts messages_prompt(const std::string& body);

}  // namespace standin
