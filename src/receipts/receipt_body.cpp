#include "receipts/receipt_body.hpp"

#include "core/json_text.hpp"
#include "core/utf8.hpp"
#include "receipts/receipt_line.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <nlohmann/json.hpp>

namespace agentcore::detail::receipts {
namespace {

// Written by hand: the destructor of a JSON object allocates, and its exception could not be caught.
class ObjectText {
 public:
  // `value`: JSON.
  ObjectText& add(std::string_view key, std::string_view value) {
    text_ += text_.size() == 1 ? "\"" : ",\"";
    text_ += key;
    text_ += "\":";
    text_ += value;
    return *this;
  }
  ObjectText& add(std::string_view key, std::uint64_t value) { return add(key, std::to_string(value)); }
  ObjectText& add_flag(std::string_view key, bool value) { return add(key, value ? "true" : "false"); }
  std::string end() { return text_ + "}"; }

 private:
  std::string text_ = "{";
};

std::string json_text(std::string_view text, std::size_t most = max_id_bytes) {
  return core::json_string(std::string(core::whole_characters(text.substr(0, most))));
}

std::string nanoseconds_of(TimePoint time) {
  return std::to_string(
      std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}

std::string text_of(const StopTime& time) {
  return ObjectText()
      .add("monotonic_ns", nanoseconds_of(time.monotonic))
      .add("wall", json_text(text_of_time(time.wall)))
      .end();
}

// The number of all, and the first entries, each by entry_of().
template <typename List, typename EntryOf>
std::string text_of(const List& list, std::size_t count, EntryOf&& entry_of) {
  std::string first = "[";
  for (std::size_t i = 0; i < std::min(list.size(), max_listed); ++i)
    first.append(i == 0 ? "" : ",").append(entry_of(list[i]));
  return ObjectText().add("count", count).add("first", first + "]").end();
}

std::string text_of(const std::vector<std::string>& names) {
  return text_of(names, names.size(), [](const std::string& name) { return json_text(name); });
}

std::string text_of(const CutOperation& operation) {
  return ObjectText()
      .add("kind", json_text(to_string(operation.kind)))
      .add("agent", json_text(operation.agent_id))
      .add("turn", operation.turn)
      .add("call", json_text(operation.call_id))
      .add("tool", json_text(operation.tool))
      .add("outcome", json_text(to_string(operation.outcome)))
      .add("cut_ns", operation.cut ? nanoseconds_of(*operation.cut) : "null")
      .add("tokens_counted", operation.tokens_counted)
      .add("tokens_reserved", operation.tokens_reserved)
      .end();
}

}  // namespace

std::string body_of(const StopRecord& record, const std::string& salt) {
  ObjectText text;
  text.add("salt", json_text(salt))
      .add("verb", json_text(to_string(record.verb)))
      .add("tree", record.tree)
      .add("agent", json_text(record.agent_id))
      .add("below", json_text(record.below))
      .add("cause", json_text(to_string(record.cause)))
      .add("caller", json_text(record.caller))
      .add("reason", json_text(record.reason, max_reason_bytes))
      .add_flag("cascade", record.cascade)
      .add("when", json_text(to_string(record.when)))
      .add("called", text_of(record.called))
      .add("closed", record.closed ? text_of(*record.closed) : "null")
      .add("settled", text_of(record.settled))
      .add("descendants", text_of(record.descendants))
      .add("abandoned", text_of(record.abandoned))
      .add("messages_dropped", text_of(record.dropped_messages, record.messages_dropped,
                                       [](MessageId id) { return json_text(to_string(id)); }))
      .add("operations", text_of(record.operations, record.operations.size(),
                                 [](const CutOperation& operation) { return text_of(operation); }))
      .add("after_gate", record.after_gate)
      .add("discarded", record.discarded)
      .add("discarded_deltas", record.discarded_deltas)
      .add("tokens_counted", record.tokens_counted())
      .add("tokens_at_most", record.tokens_at_most())
      .add_flag("complete", record.complete);
  if (record.restart) text.add_flag("restart", true);
  return text.end();
}

bool names_any(std::string_view body, const std::set<std::string>& agents) {
  using Json = nlohmann::json;
  const Json json = Json::parse(body, nullptr, false);
  const auto names = [&](const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() && agents.contains(found->get<std::string>());
  };
  if (!json.is_object()) return false;
  if (names(json, "agent") || names(json, "below") || names(json, "caller")) return true;
  const auto any_of = [&](const char* key, auto&& matches) {
    const auto list = json.find(key);
    if (list == json.end() || !list->is_object()) return false;
    const auto first = list->find("first");
    return first != list->end() && std::any_of(first->begin(), first->end(), matches);
  };
  const auto is_name = [&](const Json& name) {
    return name.is_string() && agents.contains(name.get<std::string>());
  };
  return any_of("descendants", is_name) || any_of("abandoned", is_name) ||
         any_of("operations",
                [&](const Json& operation) { return operation.is_object() && names(operation, "agent"); });
}

}  // namespace agentcore::detail::receipts
