// The members of a JSON object, named once for both directions:
//
//   template <typename Io, Of<Usage> T>
//   void fields(Io& io, T& usage) {
//     io.field("prompt", usage.prompt_tokens);
//     io.field("complete", usage.complete, true);
//   }
//
// FieldWriter writes them in this order, and leaves out what has its usual value. FieldReader keeps the value
// of what is left out: the usual value must be that of a new object. It throws json::exception. A value that
// is an array of fixed form has items() in place of fields().
#pragma once

#include "core/json_text.hpp"
#include "loop/time.hpp"
#include "persist/json_fields.hpp"

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace agentcore::detail::persist {

// T to read it, const T to write it.
template <typename U, typename T>
concept Of = std::same_as<std::remove_const_t<U>, T>;

class ItemWriter {
 public:
  static constexpr bool reads = false;

  void item(bool value) { next() += value ? "true" : "false"; }
  void item(const std::string& value) { next() += core::JsonObjectText::string(value); }
  template <std::integral T>
  requires(!std::same_as<T, bool>) void item(T value) { core::JsonObjectText::add_number(next(), value); }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void item(Enum value, Enum) { item(static_cast<int>(value)); }
  template <typename T>
  void item(const std::optional<T>& value) {
    if (value) item(*value);
  }
  std::string take() { return std::move(text_ += ']'); }

 private:
  std::string& next() { return text_ += text_.empty() ? '[' : ','; }

  std::string text_;
};

class ItemReader {
 public:
  static constexpr bool reads = true;
  // `name`: of the member, for errors.
  ItemReader(const json& list, std::string_view name) : list_(list), name_(name) {}

  template <typename T>
  void item(T& value) {
    read_value(next(), name_, value);
  }
  // `last`: the greatest enumerator.
  template <typename Enum>
  void item(Enum& value, Enum last) {
    read_enum(next(), name_, value, last);
  }
  // The last one, which may be missing.
  template <typename T>
  void item(std::optional<T>& value) {
    if (at_ < list_.size()) item(value.emplace());
  }
  void end() const {
    if (at_ != list_.size()) refuse();
  }

 private:
  const json& next() {
    if (!list_.is_array() || at_ >= list_.size()) refuse();
    return list_[at_++];
  }
  [[noreturn]] void refuse() const { refuse_field(name_, "has an entry of another form"); }

  const json& list_;
  std::string_view name_;
  std::size_t at_ = 0;
};

template <typename T>
concept HasItems = requires(ItemWriter& io, const T& value) {
  items(io, value);
};

// The members of a record that are a deadline, as numbers of `Unit`.
template <typename Unit>
struct DeadlineFields {
  std::optional<std::int64_t> when, left;

  DeadlineFields() = default;
  explicit DeadlineFields(const std::optional<loop::WallDeadline>& deadline) {
    if (!deadline) return;
    when = std::chrono::duration_cast<Unit>(deadline->when.time_since_epoch()).count();
    left = std::chrono::duration_cast<Unit>(deadline->left).count();
  }
  std::optional<loop::WallDeadline> deadline() const {
    if (!when) return std::nullopt;
    loop::WallDeadline made{WallTime(std::chrono::duration_cast<WallTime::duration>(duration_of(*when)))};
    if (left) made.left = duration_of(*left);
    return made;
  }

 private:
  static Duration duration_of(std::int64_t count) {
    constexpr std::int64_t most = std::chrono::duration_cast<Unit>(Duration::max()).count();
    return std::chrono::duration_cast<Duration>(Unit(std::clamp(count, std::int64_t{0}, most)));
  }
};

class FieldWriter {
 public:
  static constexpr bool reads = false;

  template <typename T>
  void need(const char* name, const T& value) {
    text_.add(name, value);
  }
  template <typename T>
  void always(const char* name, const T& value) {
    text_.add(name, value);
  }
  template <typename Enum>
  void always(const char* name, Enum value, Enum) {
    text_.add(name, static_cast<int>(value));
  }
  template <typename T>
  void field(const char* name, const T& value, const std::type_identity_t<T>& usual = {}) {
    text_.put(name, value, usual);
  }
  template <typename T>
  void field(const char* name, const std::optional<T>& value) {
    text_.put(name, value);
  }
  template <typename Enum>
  void number(const char* name, Enum value, Enum usual, Enum) {
    text_.put_enum(name, value, usual);
  }
  void duration(const char* name, Duration value, Duration usual) { text_.put_duration(name, value, usual); }
  template <typename Unit>
  void deadline(const std::optional<loop::WallDeadline>& value) {
    const DeadlineFields<Unit> numbers(value);
    field("deadline", numbers.when);
    field("time_left", numbers.left);
  }
  template <typename T>
  void value(const char* name, const T& value, const T& usual) {
    if (!(value == usual)) text_.add_json(name, json_of(value));
  }
  template <typename T>
  void object(const char* name, const T& value) {
    text_.put_object(name, json_of(value));
  }
  template <typename T>
  void object(const char* name, const std::optional<T>& value) {
    if (value) text_.add_json(name, json_of(*value));
  }
  template <typename T>
  void need_object(const char* name, const T& value) {
    text_.add_json(name, json_of(value));
  }
  template <typename Members>
  void members(const char* name, Members&& write) {
    FieldWriter io;
    write(io);
    text_.put_object(name, io.take());
  }
  template <typename T>
  void list(const char* name, const std::vector<T>& values) {
    if (!values.empty()) text_.add_json(name, core::JsonObjectText::array(values, json_of<T>));
  }
  // A member that is JSON already.
  void json_text(const char* name, std::string_view text) { text_.add_json(name, text); }
  std::string take() { return text_.take(); }

  template <typename T>
  static std::string json_of(const T& value) {
    if constexpr (HasItems<T>) {
      ItemWriter io;
      items(io, value);
      return io.take();
    } else {
      FieldWriter io;
      fields(io, value);
      return io.take();
    }
  }

 private:
  core::JsonObjectText text_;
};

class FieldReader {
 public:
  static constexpr bool reads = true;
  explicit FieldReader(const json& object) : object_(object) {}

  // Must be there.
  template <typename T>
  void need(const char* name, T& value) {
    persist::need(object_, name, value);
  }
  // Is always written; an earlier version did not.
  template <typename T>
  void always(const char* name, T& value) {
    get(object_, name, value);
  }
  template <typename Enum>
  void always(const char* name, Enum& value, Enum last) {
    get_enum(object_, name, value, last);
  }
  template <typename T>
  void field(const char* name, T& value, const std::type_identity_t<T>& = {}) {
    get(object_, name, value);
  }
  template <typename T>
  void field(const char* name, std::optional<T>& value) {
    get(object_, name, value);
  }
  // An enumerator as its number. `last`: the greatest one.
  template <typename Enum>
  void number(const char* name, Enum& value, Enum, Enum last) {
    get_enum(object_, name, value, last);
  }
  // In nanoseconds.
  void duration(const char* name, Duration& value, Duration) { get_duration(object_, name, value); }
  template <typename Unit>
  void deadline(std::optional<loop::WallDeadline>& value) {
    DeadlineFields<Unit> numbers;
    field("deadline", numbers.when);
    field("time_left", numbers.left);
    value = numbers.deadline();
  }
  // Left out if it is equal to the usual one.
  template <typename T>
  void value(const char* name, T& value, const T&) {
    if (const auto found = object_.find(name); found != object_.end()) read(*found, name, value);
  }
  // Left out if it has no members.
  template <typename T>
  void object(const char* name, T& value) {
    this->value(name, value, value);
  }
  template <typename T>
  void object(const char* name, std::optional<T>& value) {
    if (object_.contains(name)) object(name, value.emplace());
  }
  template <typename T>
  void need_object(const char* name, T& value) {
    read(member_of(object_, name), name, value);
  }
  template <typename Members>
  void members(const char* name, Members&& read_members) {
    get_object(object_, name, [&](const json& found) {
      FieldReader io(found);
      read_members(io);
    });
  }
  // Left out if it is empty.
  template <typename T>
  void list(const char* name, std::vector<T>& values) {
    get_each(object_, name, [&](const json& entry) { read(entry, name, values.emplace_back()); });
  }

  // Must be there.
  const json& member(const char* name) const { return member_of(object_, name); }

  template <typename T>
  static void read(const json& from, const char* name, T& value) {
    if constexpr (HasItems<T>) {
      ItemReader io(from, name);
      items(io, value);
      io.end();
    } else {
      if (!from.is_object()) refuse_field(name, "is not an object");
      FieldReader io(from);
      fields(io, value);
    }
  }

 private:
  const json& object_;
};

// The record that `text` has.
template <typename T>
T record_of(std::string_view text) {
  const ParsedRecord parsed(text);
  T record;
  FieldReader io(*parsed);
  fields(io, record);
  return record;
}

template <typename Io, Of<Budget> T>
void fields(Io& io, T& budget) {
  io.field("turns", budget.turns, no_limit);
  io.field("tokens", budget.tokens, no_limit);
  io.field("cost", budget.cost, no_limit);
  io.duration("wall_clock", budget.wall_clock, no_limit);
}

}  // namespace agentcore::detail::persist
