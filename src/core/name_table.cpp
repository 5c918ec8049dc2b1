#include "core/name_table.hpp"

#include "core/utf8.hpp"

#include <charconv>

namespace agentcore::detail::core {
namespace {

constexpr std::size_t max_name_bytes = 255;
constexpr char generated_mark = '@';

// "<slot>.<generation>", both in decimal without leading zeros.
NodeId parse_generated(std::string_view text) noexcept {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;
  const char* const end = text.data() + text.size();
  const auto [dot, error] = std::from_chars(text.data(), end, index);
  if (error != std::errc{} || dot == end || *dot != '.') return 0;
  const auto [last, error2] = std::from_chars(dot + 1, end, generation);
  if (error2 != std::errc{} || last != end) return 0;
  const bool padded = (text[0] == '0' && dot != text.data() + 1) || (dot[1] == '0' && end != dot + 2);
  return padded ? 0 : make_id(index, generation);  // each agent has one spelling of its name
}

// "@", and for the second tree of a Runtime "@2:", and so on: agents of two trees may use one client.
std::string prefix_of(std::uint64_t tree) {
  std::string prefix(1, generated_mark);
  return tree > 1 ? prefix + std::to_string(tree) + ':' : prefix;
}

std::string generated_id(const std::string& prefix, NodeId id) {
  return prefix + std::to_string(index_of(id)) + '.' + std::to_string(generation_of(id));
}

}  // namespace

NameTable::NameTable(std::uint64_t tree) : prefix_(prefix_of(tree)) {
}

bool NameTable::is_valid(std::string_view name) noexcept {
  return !name.empty() && name.size() <= max_name_bytes && name.front() != generated_mark && is_utf8(name);
}

std::string NameTable::generated(NodeId id) {
  return generated_id(prefix_of(1), id);
}

std::string NameTable::generated_here(NodeId id) const {
  return generated_id(prefix_, id);
}

bool NameTable::add(std::string name, Node& node) {
  const WriteLock lock(mutex_);
  const auto [place, added] = names_.try_emplace(std::move(name), node.id());
  if (added) node.name.store(&place->first, std::memory_order_release);
  return added;
}

void NameTable::remove(Node& node) {
  const WriteLock lock(mutex_);
  if (const std::string* name = node.name.exchange(nullptr, std::memory_order_acq_rel))
    names_.erase(names_.find(*name));
}

void NameTable::clear() {
  const WriteLock lock(mutex_);
  names_.clear();
}

NodeId NameTable::find(std::string_view name) const {
  if (!name.empty() && name.front() == generated_mark)
    return name.starts_with(prefix_) ? parse_generated(name.substr(prefix_.size())) : 0;
  const ReadLock lock(mutex_);
  const auto place = names_.find(name);
  return place == names_.end() ? 0 : place->second;
}

std::string NameTable::name_of(const Node& node, NodeId id) const {
  const ReadLock lock(mutex_);
  const std::string* name = node.name.load(std::memory_order_acquire);
  const PackedState packed = node.load();
  if (packed.generation() != generation_of(id) || packed.is_free()) return {};
  if (name) return *name;
  return generated_id(prefix_, id);
}

std::size_t NameTable::size() const {
  const ReadLock lock(mutex_);
  return names_.size();
}

}  // namespace agentcore::detail::core
