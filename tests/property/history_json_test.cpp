// Histories as JSON: valid ones come back, anything else does no harm.
#include "any_history.hpp"

#include <agentcore/history.hpp>

#include <nlohmann/json.hpp>

using namespace agentcore;
using property_test::HistoryWriter;

namespace {

// `text` after some bytes were changed, cut out, or put in.
std::string damaged(std::string text) {
  const auto pieces = rc::gen::element<std::string>("", "{", "}", "[", "]", "\"", ",", ":", "null", "1",
                                                    "7e999", "\\", "\\ud800", "\xFF", "{\"role\":\"user\"},");
  for (int left = *rc::gen::inRange(1, 4); left > 0 && !text.empty(); --left) {
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    const auto length = *rc::gen::inRange<std::size_t>(0, 8);
    text.replace(at, length, *pieces);
  }
  return text;
}

// `value` with one value somewhere in it replaced, or taken away: still JSON.
void replace_one(nlohmann::json& value) {
  nlohmann::json* at = &value;
  while (at->is_structured() && !at->empty() && *rc::gen::inRange(0, 4) != 0) {
    auto child = at->begin();
    std::advance(child, *rc::gen::inRange<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(at->size())));
    if (*rc::gen::inRange(0, 10) == 0) {
      at->erase(child);
      return;
    }
    at = &*child;
  }
  *at = nlohmann::json::parse(
      *rc::gen::element<std::string>("null", "7", "true", "\"\"", "\"tool\"", "\"user\"", "[]", "{}",
                                     R"([{"type":"text","text":"t"}])", R"({"function":{"name":"a__b"}})"));
}

void read_and_repair(const std::string& text) {
  const auto read = history_from_json(text);
  if (!read) {
    RC_ASSERT(read.error().code == Errc::invalid_history);
    RC_ASSERT(!read.error().message.empty());
    return;
  }
  RC_ASSERT(is_valid_history(repair_history(*read).messages));
  RC_ASSERT(history_from_json(history_to_json(*read)));
}

}  // namespace

TEST_CASE("a valid history survives being written and read", "[property][llm][G8]") {
  prop("what is read is what was written", [] {
    const std::vector<ChatMessage> history = HistoryWriter(20).write(*rc::gen::inRange(0, 6));
    RC_ASSERT(is_valid_history(history));
    const auto read = history_from_json(history_to_json(history));
    RC_ASSERT(read);
    RC_ASSERT(*read == history);
  });
}

TEST_CASE("a damaged history is read or refused", "[property][llm][G8][G15]") {
  prop("damaged text is read or refused, and what is read can be repaired",
       [] { read_and_repair(damaged(history_to_json(HistoryWriter(0).write(*rc::gen::inRange(0, 4))))); });
  prop("JSON of another shape is read or refused, and what is read can be repaired", [] {
    auto json = nlohmann::json::parse(history_to_json(HistoryWriter(0).write(*rc::gen::inRange(1, 4))));
    for (int left = *rc::gen::inRange(1, 4); left > 0; --left) replace_one(json);
    read_and_repair(json.dump());
  });
}
