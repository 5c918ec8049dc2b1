#include "llm/dialects/tool_names.hpp"

#include "core/text_hash.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>

namespace agentcore::detail::llm {
namespace {

constexpr std::size_t longest_name = 64;

bool is_letter(char byte) noexcept {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

bool fits_name(char byte) noexcept {
  return is_letter(byte) || (byte >= '0' && byte <= '9') || byte == '_' || byte == '-';
}

bool may_begin_name(char byte, const BodyDefaults& defaults) noexcept {
  return !defaults.tool_names_begin_with_letter || is_letter(byte) || byte == '_';
}

// `similar` with a hash behind it that tells the name from others; `attempt`: how often that was in use.
std::string distinct_name(std::string_view own, std::string similar, std::uint64_t attempt) {
  constexpr std::size_t unused_digits = 8;  // of 16
  const std::string suffix = "_" + core::hex_digits(core::text_hash(own) + attempt).substr(unused_digits);
  similar.resize(std::min(similar.size(), longest_name - suffix.size()));
  return similar + suffix;
}

}  // namespace

bool is_tool_name(std::string_view name, const BodyDefaults& defaults) {
  return !name.empty() && name.size() >= defaults.shortest_tool_name && name.size() <= longest_name &&
         may_begin_name(name.front(), defaults) && std::ranges::all_of(name, fits_name);
}

std::string similar_tool_name(std::string name, const BodyDefaults& defaults) {
  std::ranges::replace_if(name, std::not_fn(fits_name), '_');
  if (name.empty() || !may_begin_name(name.front(), defaults)) name.insert(0, 1, '_');
  name.resize(std::clamp<std::size_t>(name.size(), defaults.shortest_tool_name, longest_name), '_');
  return name;
}

std::vector<SentName> sent_names(std::span<const ToolDescription> tools, const BodyDefaults& defaults) {
  std::set<std::string> used;                             // by the tools that keep their names, and so on
  std::map<std::string, std::vector<std::string>> other;  // the own names for which a similar name stands
  for (const ToolDescription& tool : tools) {
    if (is_tool_name(tool.name, defaults)) {
      used.insert(tool.name);
      continue;
    }
    auto& own = other[similar_tool_name(tool.name, defaults)];
    if (std::ranges::find(own, tool.name) == own.end()) own.push_back(tool.name);
  }
  std::vector<SentName> names, in_use;
  for (const auto& [similar, own] : other) {
    const bool is_free = own.size() == 1 && !used.contains(similar);
    for (const std::string& name : own) (is_free ? names : in_use).push_back({name, similar});
  }
  for (const SentName& name : names) used.insert(name.sent);
  std::ranges::sort(in_use, {}, &SentName::own);
  for (SentName& name : in_use) {
    const std::string similar = std::exchange(name.sent, {});
    for (std::uint64_t attempt = 0; name.sent.empty() || !used.insert(name.sent).second; ++attempt)
      name.sent = distinct_name(name.own, similar, attempt);
    names.push_back(std::move(name));
  }
  std::ranges::sort(names, {}, &SentName::own);
  return names;
}

const SentName* find_own(std::span<const SentName> names, std::string_view own) noexcept {
  const auto found = std::ranges::lower_bound(names, own, {}, &SentName::own);
  return found != names.end() && found->own == own ? &*found : nullptr;
}

void restore_names(std::vector<ToolCall>& calls, std::span<const SentName> names) {
  if (names.empty()) return;
  for (ToolCall& call : calls) {
    const auto found = std::ranges::find(names, call.name, &SentName::sent);
    if (found != names.end()) call.name = found->own;
  }
}

}  // namespace agentcore::detail::llm
