// Tool calls in pieces: however they are cut and mixed, the same calls come out.
#include "llm/dialects/tool_call_assembler.hpp"

#include "support/prop.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::detail::llm;

namespace {

using Calls = std::vector<ToolCall>;
using Pieces = std::vector<ToolCallPiece>;

std::string object_of(const std::string& bytes) {
  return nlohmann::json{{"a", bytes}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Calls with ids of their own; their arguments are any object, or no JSON.
Calls any_calls() {
  Calls calls(*rc::gen::inRange<std::size_t>(1, 8));
  for (std::size_t i = 0; i < calls.size(); ++i)
    calls[i] = {"id" + std::to_string(i), *rc::gen::element<std::string>("look", "wait", "w__look"),
                *rc::gen::oneOf(rc::gen::element<std::string>("", "{}", "{\"a\":{}}", "{\"a\":\"}{}\"}", "x"),
                                rc::gen::map(rc::gen::arbitrary<std::string>(), object_of))};
  return calls;
}

// The call, its arguments cut anywhere. Some servers repeat id and name in each piece, or one of the two.
Pieces cut(const ToolCall& call, std::uint64_t index) {
  const bool repeats_id = *rc::gen::arbitrary<bool>(),
             repeats_name = *rc::gen::arbitrary<bool>() && repeats_id;
  Pieces pieces = {{index, call.id, call.name, ""}};
  std::string_view rest = call.arguments;
  pieces[0].arguments = rest.substr(0, *rc::gen::inRange<std::size_t>(0, rest.size() + 1));
  rest.remove_prefix(pieces[0].arguments.size());
  while (!rest.empty()) {
    const auto size = *rc::gen::inRange<std::size_t>(1, rest.size() + 1);
    pieces.push_back(
        {index, repeats_id ? call.id : "", repeats_name ? call.name : "", std::string(rest.substr(0, size))});
    rest.remove_prefix(size);
  }
  return pieces;
}

// All lists in one, the order within each kept.
Pieces mixed(std::vector<Pieces> lists) {
  Pieces all;
  std::vector<std::size_t> turns;
  for (std::size_t list = 0; list < lists.size(); ++list) turns.insert(turns.end(), lists[list].size(), list);
  std::vector<std::size_t> next(lists.size(), 0);
  while (!turns.empty()) {
    const auto at = static_cast<std::ptrdiff_t>(*rc::gen::inRange<std::size_t>(0, turns.size()));
    const std::size_t list = turns[static_cast<std::size_t>(at)];
    turns.erase(turns.begin() + at);
    all.push_back(lists[list][next[list]++]);
  }
  return all;
}

Calls assembled(const Pieces& pieces) {
  ToolCallAssembler assembler(1 << 20);
  Calls calls;
  for (const ToolCallPiece& piece : pieces) RC_ASSERT(assembler.add(piece) == ToolCallFault::none);
  std::vector<ItemPlace> places;
  RC_ASSERT(assembler.finish(calls, places) == ToolCallFault::none);
  RC_ASSERT(places.size() == calls.size());
  return calls;
}

}  // namespace

TEST_CASE("tool calls are assembled however they are split and mixed", "[property][llm][tools]") {
  prop("pieces with an index, those of all calls in any order", [] {
    const Calls calls = any_calls();
    std::vector<Pieces> lists;
    for (std::size_t i = 0; i < calls.size(); ++i) lists.push_back(cut(calls[i], i));
    RC_ASSERT(assembled(mixed(std::move(lists))) == calls);
  });
  prop("pieces without an index, or all with the index 0, one call after the other", [] {
    Calls calls = any_calls();
    const bool with_index = *rc::gen::arbitrary<bool>();
    // At one index, a text that is no JSON could go on with one that has not ended: servers that give each
    // piece an id of its own cut them so.
    for (ToolCall& call : calls)
      if (with_index && call.arguments == "x") call.arguments = "{}";
    Pieces pieces;
    for (const ToolCall& call : calls)
      for (ToolCallPiece& piece : cut(call, 0)) {
        if (!with_index) piece.index.reset();
        pieces.push_back(std::move(piece));
      }
    RC_ASSERT(assembled(pieces) == calls);
  });
  prop("calls that are repeated, at other indexes and with ids of others", [] {
    struct Repeated {
      std::size_t id, name, value, spelling;
    };
    const std::vector<std::vector<std::string>> spellings = {
        {R"({"a":"A","b":1})", R"({ "b": 1.0, "a": "\u0041" })", R"({"b":10e-1,"a":"A"})"},
        {R"({"a":"A","b":2})", R"({"b":2,"a":"\u0041"})", R"({"a":"A", "b":2})"},
        {"{}", " {} ", "{ }"}};
    std::vector<Repeated> sent(*rc::gen::inRange<std::size_t>(1, 9));
    Calls expected;
    std::vector<Repeated> known;
    std::vector<Pieces> lists;
    for (std::size_t i = 0; i < sent.size(); ++i) {
      Repeated& call = sent[i];
      call = {*rc::gen::inRange<std::size_t>(0, 2), *rc::gen::inRange<std::size_t>(0, 2),
              *rc::gen::inRange<std::size_t>(0, 3), *rc::gen::inRange<std::size_t>(0, 3)};
      const auto is_same = [&](const Repeated& other) {
        return other.id == call.id && other.name == call.name && other.value == call.value;
      };
      const auto has_id = [&](const Repeated& other) { return other.id == call.id; };
      ToolCall one{call.id == 0 ? "a" : "b", call.name == 0 ? "look" : "wait",
                   spellings[call.value][call.spelling]};
      lists.push_back(cut(one, i));
      if (std::ranges::any_of(known, is_same)) continue;
      if (std::ranges::any_of(known, has_id)) one.id.clear();
      known.push_back(call);
      expected.push_back(one);
    }
    RC_ASSERT(assembled(mixed(std::move(lists))) == expected);
  });
}
