#include "prompt_cache.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace standin {
namespace {

using OrderedJson = nlohmann::ordered_json;  // a prompt whose members have another order is another prompt

constexpr std::size_t max_kept = 1'000'000;
constexpr std::size_t bytes_per_token = 4;
constexpr std::size_t anthropic_lookups = 20;

// FNV-1a, continued: the hash of a beginning follows from that of the beginning before. The lengths keep
// parts apart.
std::uint64_t hash(std::string_view text, std::uint64_t value) {
  const auto add = [&](std::uint64_t byte) { value = (value ^ byte) * 1099511628211U; };
  for (const char c : text) add(static_cast<unsigned char>(c));
  for (std::size_t length = text.size(); length != 0; length >>= 8U) add(length & 0xffU);
  return value;
}

std::string dumped(const OrderedJson& value) {
  return value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

// A tool or a block; `before` stands before its text.
void add_block(PromptParts& prompt, OrderedJson block, std::string before = {}) {
  const bool ends = block.is_object() && block.erase("cache_control") > 0;
  prompt.parts.push_back(std::move(before) + dumped(block));
  if (ends) prompt.ends.push_back(prompt.parts.size());
}

// A text is the same as one block with that text.
void add_content(PromptParts& prompt, const OrderedJson& content, std::string role) {
  if (content.is_string()) return add_block(prompt, {{"type", "text"}, {"text", content}}, std::move(role));
  for (const OrderedJson& block : content) add_block(prompt, block, std::exchange(role, {}));
}

}  // namespace

PromptTokens PromptCache::use(const PromptParts& prompt) {
  std::vector<std::uint64_t> hashes = {hash(prompt.key, 14695981039346656037U)};  // of each beginning
  std::vector<std::size_t> sizes = {0};
  for (const std::string& part : prompt.parts) {
    hashes.push_back(hash(part, hashes.back()));
    sizes.push_back(sizes.back() + part.size());
  }
  std::size_t found = 0;
  for (const std::size_t end : prompt.ends)
    for (std::size_t back = 0; back < prompt.lookups && back < end; ++back)
      if (kept_.contains(hashes[end - back])) found = std::max(found, end - back);
  if (kept_.size() > max_kept) kept_.clear();
  for (const std::size_t end : prompt.ends) kept_.insert(hashes[end]);
  const std::size_t last = prompt.ends.empty() ? 0 : std::max(found, prompt.ends.back());
  const std::uint64_t read = sizes[found] / bytes_per_token;
  return {sizes.back() / bytes_per_token, read, sizes[last] / bytes_per_token - read};
}

PromptParts chat_prompt(const std::string& body) {
  const OrderedJson request = OrderedJson::parse(body);
  PromptParts prompt;
  if (const auto key = request.find("prompt_cache_key"); key != request.end()) prompt.key = dumped(*key);
  if (const auto tools = request.find("tools"); tools != request.end()) {
    prompt.parts.push_back(dumped(*tools));
  }
  for (const OrderedJson& message : request.at("messages")) prompt.parts.push_back(dumped(message));
  for (std::size_t end = 1; end <= prompt.parts.size(); ++end) prompt.ends.push_back(end);
  return prompt;
}

PromptParts messages_prompt(const std::string& body) {
  const OrderedJson request = OrderedJson::parse(body);
  PromptParts prompt;
  prompt.lookups = anthropic_lookups;
  if (const auto tools = request.find("tools"); tools != request.end() && tools->is_array())
    for (const OrderedJson& tool : *tools) add_block(prompt, tool);
  if (const auto system = request.find("system"); system != request.end())
    add_content(prompt, *system, "system");
  for (const OrderedJson& message : request.at("messages"))
    add_content(prompt, message.at("content"), message.at("role"));
  return prompt;
}

}  // namespace standin
