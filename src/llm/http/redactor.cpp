#include "llm/http/redactor.hpp"

#include "llm/http/base64.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace agentcore::detail::llm {
namespace {

// A shorter text is likely to occur by chance.
constexpr std::size_t shortest_base64 = 8;

// Writes each byte of `plain` with `write`, which adds at most six characters. Allocates once: a string that
// grows would leave copies of the secret in freed memory.
template <typename Write>
Secret escaped(std::string_view plain, Write&& write) {
  std::string text;
  text.reserve(plain.size() * 6);
  for (const char byte : plain) write(text, byte);
  return Secret(std::move(text));
}

bool is_unreserved(char c) noexcept {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return letter || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
}

Secret percent_encoded(std::string_view plain, std::string_view digits) {
  return escaped(plain, [digits](std::string& text, char c) {
    if (is_unreserved(c)) return text.push_back(c);
    const auto byte = static_cast<unsigned char>(c);
    text.append({'%', digits[byte >> 4U], digits[byte & 15U]});
  });
}

// `hard`: also escapes the characters that only some writers escape.
Secret json_escaped(std::string_view plain, std::string_view hard) {
  return escaped(plain, [hard](std::string& text, char c) {
    constexpr std::string_view digits = "0123456789abcdef";
    const bool as_code = c != '/' && hard.find(c) != hard.npos;
    if (as_code) return void(text.append("\\u00").append({digits[c >> 4 & 15], digits[c & 15]}));
    if (c == '"' || c == '\\' || hard.find(c) != hard.npos) text.push_back('\\');
    text.push_back(c);
  });
}

Secret html_escaped(std::string_view plain) {
  return escaped(plain, [](std::string& text, char c) {
    constexpr std::string_view mark_table = "&<>\"'";
    constexpr std::array<std::string_view, 5> entity_table = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    const auto mark = mark_table.find(c);
    if (mark == mark_table.npos) return text.push_back(c);
    text.append(entity_table[mark]);
  });
}

// The base64 form of the secret with `before` other bytes in front of it: only the digits that depend on no
// other byte.
Secret within_base64(std::string_view plain, std::size_t before, bool for_urls) {
  std::string padded;
  padded.reserve(plain.size() + before);
  padded.append(before, '\0').append(plain);
  Secret wiped(std::move(padded));
  std::string digits = to_base64(wiped.view());
  if (for_urls) {
    std::replace(digits.begin(), digits.end(), '+', '-');
    std::replace(digits.begin(), digits.end(), '/', '_');
  }
  wiped = Secret(std::move(digits));
  const std::size_t first = (before * 8 + 5) / 6;
  const std::size_t end = (before + plain.size()) * 8 / 6;
  const bool usable = end >= first + shortest_base64;
  return usable ? Secret(wiped.view().substr(first, end - first)) : Secret();
}

}  // namespace

// One secret, in all the forms that are searched for.
struct Redactor::Hidden {
  Hidden(std::string_view secret, std::string_view shown_as);
  void add(Secret form);

  std::string name;
  std::vector<Secret> forms;  // the first is the secret itself
};

struct Redactor::Known {
  std::vector<std::shared_ptr<const Hidden>> kept;
  std::vector<std::weak_ptr<const Hidden>> all;
};

// Finds all forms in one text.
class Redactor::Finder {
 public:
  struct Form {
    std::string_view text;
    std::string_view name;
  };

  explicit Finder(const Known& known);

  // The form at the beginning of `text`; null: none. `text` is not empty.
  const Form* at_begin_of(std::string_view text) const noexcept {
    if (!begins_[static_cast<unsigned char>(text.front())]) return nullptr;
    const auto hit = std::find_if(forms_.begin(), forms_.end(),
                                  [text](const Form& form) { return text.starts_with(form.text); });
    return hit == forms_.end() ? nullptr : &*hit;
  }

 private:
  std::vector<std::shared_ptr<const Hidden>> held_;
  std::vector<Form> forms_;         // longest first
  std::array<bool, 256> begins_{};  // for most bytes no form begins with them
};

Redactor::Finder::Finder(const Known& known) {
  for (const auto& one : known.all)
    if (auto hidden = one.lock()) held_.push_back(std::move(hidden));
  for (const auto& hidden : held_)
    for (const Secret& form : hidden->forms) {
      forms_.push_back({form.view(), hidden->name});
      begins_[static_cast<unsigned char>(form.view().front())] = true;
    }
  std::stable_sort(forms_.begin(), forms_.end(),
                   [](const Form& a, const Form& b) { return a.text.size() > b.text.size(); });
}

Redactor::Hidden::Hidden(std::string_view secret, std::string_view shown_as)
    : name("[" + std::string(shown_as) + "]") {
  add(Secret(secret));
  for (const std::string_view hard : {"", "/", "<>&", "<>&'"}) add(json_escaped(secret, hard));
  add(html_escaped(secret));
  add(percent_encoded(secret, "0123456789ABCDEF"));
  add(percent_encoded(secret, "0123456789abcdef"));
  for (const std::size_t before : {0U, 1U, 2U})
    for (const bool for_urls : {false, true}) add(within_base64(secret, before, for_urls));
}

void Redactor::Hidden::add(Secret form) {
  const auto same = [&form](const Secret& other) { return other.view() == form.view(); };
  if (!form.empty() && std::none_of(forms.begin(), forms.end(), same)) forms.push_back(std::move(form));
}

Redactor::Redactor() : known_(std::make_shared<Known>()) {
}

void Redactor::hide(std::string_view secret, std::string_view name, std::size_t shortest) {
  if (auto hidden = hide_while(secret, name, shortest))
    known_->kept.push_back(std::static_pointer_cast<const Hidden>(std::move(hidden)));
}

std::shared_ptr<const void> Redactor::hide_while(std::string_view secret, std::string_view name,
                                                 std::size_t shortest) {
  if (secret.empty() || secret.size() < shortest) return nullptr;
  auto& all = known_->all;
  std::erase_if(all, [](const auto& hidden) { return hidden.expired(); });
  for (const auto& known : all)
    if (auto hidden = known.lock(); hidden && hidden->forms.front().view() == secret) return hidden;
  auto hidden = std::make_shared<const Hidden>(secret, name);
  all.push_back(hidden);
  return hidden;
}

std::string Redactor::operator()(std::string_view text) const {
  return (*this)(text, {});
}

std::string Redactor::operator()(std::string_view text, std::span<std::size_t> cuts) const {
  const Finder finder(*known_);
  std::string clean;
  std::size_t cut = 0;
  for (std::size_t at = 0; at < text.size();) {
    for (; cut < cuts.size() && cuts[cut] <= at; ++cut) cuts[cut] = clean.size();
    const Finder::Form* const hit = finder.at_begin_of(text.substr(at));
    clean.append(hit == nullptr ? text.substr(at, 1) : hit->name);
    at += hit == nullptr ? 1 : hit->text.size();
  }
  for (; cut < cuts.size(); ++cut) cuts[cut] = clean.size();
  return clean;
}

}  // namespace agentcore::detail::llm
