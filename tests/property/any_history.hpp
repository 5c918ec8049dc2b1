// Generators: valid histories with steps, steered messages, interruptions, parts of answers and pins.
#pragma once

#include "support/messages.hpp"
#include "support/prop.hpp"

#include <agentcore/chat.hpp>

#include <string>
#include <vector>

namespace property_test {

// Valid UTF-8, sometimes none.
inline rc::Gen<std::string> any_words() {
  return rc::gen::map(
      rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
          "a", "sea ", "\"", "\\", "\n", "\xC3\xA9", "\xF0\x9F\x98\x80", std::string(1, '\0'), "{", "]")),
      [](const std::vector<std::string>& pieces) {
        std::string text;
        for (const std::string& piece : pieces) text += piece;
        return text;
      });
}

// Writes a history, turn by turn. Call it within a property.
class HistoryWriter {
 public:
  explicit HistoryWriter(int pinned_in_100) : pinned_in_100_(pinned_in_100) {}

  std::vector<agentcore::ChatMessage> write(int turns) {
    if (*rc::gen::arbitrary<bool>()) add(agentcore::ChatMessage::system(*any_words()));
    for (int turn = 1; turn <= turns; ++turn) write_turn(turn == turns);
    return history_;
  }

 private:
  // Every turn but the last one is answered or interrupted.
  void write_turn(bool last) {
    using agentcore::Interruption;
    using agentcore::Role;
    const auto mark = *rc::gen::weightedElement<Interruption>(
        {{3, Interruption::none}, {1, Interruption::aborted}, {1, Interruption::failed}});
    add(agentcore::test::marked(agentcore::ChatMessage::user(*any_words()), mark));
    if (*rc::gen::inRange(0, 4) == 0)
      history_.back().append(
          std::vector<agentcore::ContentPart>{{.url = "https://a/" + *any_words()},
                                              {.data = "aGk=", .media_type = "image/png", .detail = "low"}});
    for (int steps = *rc::gen::weightedOneOf<int>({{1, rc::gen::just(0)}, {1, rc::gen::inRange(0, 5)}});
         steps > 0; --steps)
      write_step();
    if (*rc::gen::inRange(0, 4) == 0) write_steer();
    if (mark == Interruption::none && (!last || *rc::gen::arbitrary<bool>()))
      add(agentcore::test::marked(
          agentcore::ChatMessage::assistant(*any_words()),
          *rc::gen::weightedElement<Interruption>({{3, Interruption::none}, {1, Interruption::truncated}})));
    else if (mark != Interruption::none && *rc::gen::arbitrary<bool>())
      add(agentcore::test::marked(agentcore::ChatMessage::assistant(*any_words()), mark));
    if (history_.back().interruption == Interruption::none && history_.back().role == Role::assistant &&
        *rc::gen::inRange(0, 4) == 0)
      agentcore::test::put_reasoning(
          history_.back(),
          {{"anthropic_messages", *any_words(), *rc::gen::element<std::string>("", "api.example.com")}});
  }

  // A steered message, sometimes with the part of an answer that it has ended.
  void write_steer() {
    if (*rc::gen::arbitrary<bool>())
      add(agentcore::test::marked(agentcore::ChatMessage::assistant(*any_words()),
                                  agentcore::Interruption::steered));
    add(agentcore::test::steered(agentcore::ChatMessage::user(*any_words())));
  }

  void write_step() {
    agentcore::ChatMessage asking = agentcore::ChatMessage::assistant(*any_words());
    for (int calls = *rc::gen::inRange(1, 4); calls > 0; --calls) {
      const std::string window = *rc::gen::element<std::string>("", "", "notes", "n_");
      const std::string name =
          (window.empty() ? "" : window + "__") + *rc::gen::element<std::string>("a", "b_c");
      asking.items.emplace_back(agentcore::ToolCall{
          "c" + std::to_string(++calls_), name, *any_words(),
          *rc::gen::weightedElement<std::string>({{4, window_of(name)}, {1, ""}, {1, "a window"}}),
          *rc::gen::element<std::string>("", "", "b/c")});
    }
    add(asking);
    // Results in any order: of two or more calls the last one's comes first, sometimes.
    std::vector<agentcore::ToolCall> open = asking.tool_calls();
    if (*rc::gen::arbitrary<bool>()) std::swap(open.front(), open.back());
    for (const agentcore::ToolCall& call : open) {
      agentcore::ChatMessage result = agentcore::ChatMessage::tool_result({}, *any_words());
      result.tool_call_id = call.id;
      add(result);
    }
  }

  static std::string window_of(const std::string& name) {
    const auto at = name.find("__");
    return at == std::string::npos ? "" : name.substr(0, at);
  }

  void add(agentcore::ChatMessage message) {
    message.pinned = *rc::gen::inRange(0, 100) < pinned_in_100_;
    history_.push_back(std::move(message));
  }

  int pinned_in_100_;
  int calls_ = 0;
  std::vector<agentcore::ChatMessage> history_;
};

}  // namespace property_test
