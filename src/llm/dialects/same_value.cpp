#include "llm/dialects/same_value.hpp"

#include "core/json_depth.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace agentcore::detail::llm {
namespace {

// The sign, the digits without zeros at either end, and the exponent of the last one.
std::string plain_number(std::string_view token) {
  const bool is_negative = token.starts_with('-');
  if (is_negative) token.remove_prefix(1);
  const auto mark = std::min(token.find_first_of("eE"), token.size());
  std::string digits;
  std::int64_t exponent = 0;
  bool is_fraction = false;
  for (const char letter : token.substr(0, mark)) {
    const bool is_digit = letter >= '0' && letter <= '9';
    if (is_digit) digits += letter;
    if (is_digit && is_fraction) --exponent;
    is_fraction = is_fraction || !is_digit;
  }
  if (mark != token.size()) {
    std::string_view power = token.substr(mark + 1);
    if (power.starts_with('+')) power.remove_prefix(1);
    std::int32_t number = 0;
    const auto [end, error] = std::from_chars(power.data(), power.data() + power.size(), number);
    if (error != std::errc{} || end != power.data() + power.size()) return std::string(token);
    exponent += number;
  }
  const auto last = digits.find_last_not_of('0');
  if (last == std::string::npos) return "0";
  exponent += static_cast<std::int64_t>(digits.size() - last - 1);
  digits.resize(last + 1);
  digits.erase(0, digits.find_first_not_of('0'));
  return (is_negative ? "-" : "") + digits + "e" + std::to_string(exponent);
}

std::string counted(std::string_view text) {
  return std::to_string(text.size()) + ":" + std::string(text);
}

// Writes a value in one of its spellings: the members of objects in the order of their names. Members of the
// same name keep their order, because the last one counts.
class OneSpelling final : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return add("null"); }
  bool boolean(bool value) override { return add(value ? "true" : "false"); }
  bool number_integer(std::int64_t value) override { return add(plain_number(std::to_string(value))); }
  bool number_unsigned(std::uint64_t value) override { return add(plain_number(std::to_string(value))); }
  bool number_float(double, const std::string& token) override { return add(plain_number(token)); }
  bool string(std::string& text) override { return add('"' + counted(text)); }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return begin(); }
  bool key(std::string& name) override {
    open_.back().push_back({counted(name), {}});
    return true;
  }
  bool end_object() override {
    std::ranges::stable_sort(open_.back(), {}, &Member::name);
    return end('{', '}');
  }
  bool start_array(std::size_t) override { return begin(); }
  bool end_array() override { return end('[', ']'); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
    return false;
  }

  std::string take() noexcept { return std::move(text_); }

 private:
  struct Member {
    std::string name;  // empty: of a list
    std::string value;
  };

  bool begin() {
    open_.emplace_back();
    return true;
  }
  bool end(char first, char last) {
    std::string text(1, first);
    for (const Member& member : open_.back()) text.append(member.name).append(member.value) += ',';
    open_.pop_back();
    return add(text += last);
  }
  bool add(std::string text) {
    if (open_.empty()) {
      text_ = std::move(text);
    } else if (open_.back().empty() || !is_waiting(open_.back().back())) {
      open_.back().push_back({{}, std::move(text)});
    } else {
      open_.back().back().value = std::move(text);
    }
    return true;
  }
  static bool is_waiting(const Member& member) noexcept {
    return !member.name.empty() && member.value.empty();
  }

  std::vector<std::vector<Member>> open_;  // the members so far of each object and list
  std::string text_;
};

}  // namespace

std::string one_spelling(std::string_view text) {
  OneSpelling spelling;
  const bool is_read = core::json_depth(text) <= core::max_json_depth &&
                       nlohmann::json::sax_parse(text.begin(), text.end(), &spelling);
  return is_read ? spelling.take() : std::string();
}

bool same_value(std::string_view a, std::string_view b) {
  const std::string first = one_spelling(a);
  return !first.empty() && first == one_spelling(b);
}

}  // namespace agentcore::detail::llm
