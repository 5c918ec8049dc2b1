// Pieces of tool calls, as different servers cut and name them.
#include "llm/dialects/tool_call_assembler.hpp"

#include "support/catch.hpp"

#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::detail::llm;

namespace {

using Pieces = std::vector<ToolCallPiece>;
using Calls = std::vector<ToolCall>;

struct Result {
  ToolCallFault fault = ToolCallFault::none;
  Calls calls;
  std::vector<ItemPlace> places;
};

Result assembled(Pieces pieces, std::size_t max_bytes = 1000) {
  ToolCallAssembler assembler(max_bytes);
  Result result;
  for (ToolCallPiece& piece : pieces)
    if (result.fault == ToolCallFault::none) result.fault = assembler.add(std::move(piece));
  if (result.fault == ToolCallFault::none) result.fault = assembler.finish(result.calls, result.places);
  return result;
}

Calls calls_of(Pieces pieces) {
  Result result = assembled(std::move(pieces));
  CHECK(result.fault == ToolCallFault::none);
  return std::move(result.calls);
}

const Calls look_and_wait = {{"a", "look", R"({"at":1})"}, {"b", "wait", R"({"s":2})"}};

}  // namespace

TEST_CASE("pieces are assembled by index in any order", "[llm][tools]") {
  CHECK(calls_of({{1, "b", "wait", ""},
                  {0, "a", "look", ""},
                  {0, "", "", R"({"at")"},
                  {1, "", "", R"({"s":)"},
                  {0, "", "", ":1}"},
                  {1, "", "", "2}"}}) == look_and_wait);
}

TEST_CASE("calls that all have index 0 are told apart by their ids", "[llm][tools]") {
  CHECK(calls_of({{0, "a", "look", R"({"at":1})"}, {0, "b", "wait", R"({"s":2})"}}) == look_and_wait);
  CHECK(calls_of({{0, "a", "look", R"({"at")"},
                  {0, "", "", ":1}"},
                  {0, "b", "wait", ""},
                  {0, "b", "", R"({"s":2})"}}) == look_and_wait);
  CHECK(calls_of({{0, "a", "look", ""},
                  {0, "b", "wait", ""},
                  {0, "a", "", R"({"at":1})"},
                  {0, "b", "", R"({"s":2})"}}) == look_and_wait);
}

TEST_CASE("calls without an index are told apart by id or order", "[llm][tools]") {
  const std::optional<std::uint64_t> none;
  CHECK(calls_of({{none, "a", "look", R"({"at")"},
                  {none, "b", "wait", ""},
                  {none, "a", "", ":1}"},
                  {none, "b", "", R"({"s":2})"}}) == look_and_wait);
  CHECK(calls_of({{none, "a", "look", ""},
                  {none, "", "", R"({"at":1})"},
                  {none, "b", "wait", ""},
                  {none, "", "", R"({"s":2})"}}) == look_and_wait);
}

TEST_CASE("without index and id a name starts a call once the last one has arguments", "[llm][tools]") {
  const std::optional<std::uint64_t> none;
  const Calls two = {{"", "look", R"({"at":1})"}, {"", "look", R"({"at":2})"}};
  CHECK(calls_of({{none, "", "look", R"({"at":1})"}, {none, "", "look", R"({"at":2})"}}) == two);
  CHECK(calls_of({{0, "", "look", R"({"at":1})"}, {0, "", "look", R"({"at":2})"}}) == two);
  CHECK(calls_of({{none, "", "look", "{}"}, {none, "", "wait", ""}}) ==
        Calls{{"", "look", "{}"}, {"", "wait", ""}});
}

TEST_CASE("a call whose pieces repeat id and name is one call", "[llm][tools]") {
  CHECK(calls_of({{0, "a", "look", R"({"a)"}, {0, "a", "look", R"(t":)"}, {0, "a", "look", "1}"}}) ==
        Calls{look_and_wait[0]});
  CHECK(calls_of({{0, "", "look", R"({"a)"}, {0, "", "look", R"(t":)"}, {0, "", "look", "1}"}}) ==
        Calls{{"", "look", R"({"at":1})"}});
}

TEST_CASE("a new id without a name is the same call", "[llm][tools]") {
  CHECK(calls_of({{0, "a", "look", ""}, {0, "x", "", R"({"at":)"}, {0, "y", "", "1}"}}) ==
        Calls{look_and_wait[0]});
}

TEST_CASE("a name may come in pieces and an id later", "[llm][tools]") {
  CHECK(calls_of({{0, "", "lo", ""}, {0, "", "ok", ""}, {0, "a", "", R"({"at":1})"}}) ==
        Calls{look_and_wait[0]});
}

TEST_CASE("complete calls are separate calls", "[llm][tools]") {
  CHECK(calls_of({{0, "a", "look", "1", true}, {0, "a", "look", "2", true}}) ==
        Calls{{"a", "look", "1"}, {"", "look", "2"}});  // ids are unique
  CHECK(calls_of({{0, "a", "look", "", true}, {0, "a", "look", "", true}}) == Calls{{"a", "look", ""}});
  CHECK(calls_of({{{}, "", "look", "", true}, {{}, "", "look", "", true}}).size() == 2);
}

TEST_CASE("empty pieces are skipped", "[llm][tools]") {
  CHECK(calls_of({{}, {3}}).empty());
  CHECK(calls_of({{0, "a", "look", R"({"at":1})"}, {0}, {}}) == Calls{look_and_wait[0]});
}

TEST_CASE("arguments are kept as text", "[llm][tools]") {
  CHECK(calls_of({{0, "a", "look", "{\"at\": sea"}, {0, "", "", "}}\n"}})[0].arguments == "{\"at\": sea}}\n");
}

TEST_CASE("an answer has at most 64 calls", "[llm][tools][limits]") {
  Pieces pieces;
  for (std::uint64_t i = 0; i < max_tool_calls; ++i) pieces.push_back({i, "", "look", "{}"});
  CHECK(assembled(pieces).calls.size() == 64);
  pieces.push_back({0, "other", "look", "{}", true});
  CHECK(assembled(pieces).fault == ToolCallFault::too_many);
  CHECK(assembled({{64, "a", "look", ""}}).fault == ToolCallFault::bad_index);
  CHECK(assembled({{UINT64_MAX}}).fault == ToolCallFault::bad_index);
}

TEST_CASE("the total size of the calls is limited", "[llm][tools][limits]") {
  const Pieces pieces = {{0, "a", "look", "12345"}, {1, "b", "wait", "12345"}, {0, "", "", "1234567890"}};
  CHECK(assembled(pieces, 30).fault == ToolCallFault::none);
  CHECK(assembled(pieces, 29).fault == ToolCallFault::too_large);
}

TEST_CASE("a call without a name is an error", "[llm][tools]") {
  CHECK(assembled({{0, "a", "look", ""}, {1, "b", "", "{}"}}).fault == ToolCallFault::no_name);
}

TEST_CASE("calls of server tools are ignored", "[llm][tools]") {
  const ToolCallPiece own{.index = 1, .foreign = true};
  CHECK(calls_of({own, {1, "", "", "{}"}, {0, "a", "look", R"({"at":1})"}, {1, "", "", "{}"}}) ==
        Calls{look_and_wait[0]});
  CHECK(calls_of({own, {1, "b", "wait", ""}, {1, "", "", R"({"s":2})"}, own, {1, "", "", "{}"}}) ==
        Calls{look_and_wait[1]});
  CHECK(calls_of({{.foreign = true}}).empty());
  CHECK(assembled({{64, "", "", "", false, true}}).fault == ToolCallFault::bad_index);
}

TEST_CASE("a replacement replaces all arguments", "[llm][tools]") {
  const auto done = [](std::optional<std::uint64_t> index, std::string id, std::string name,
                       std::string all) {
    ToolCallPiece piece{index, std::move(id), std::move(name), std::move(all)};
    piece.replaces = true;
    return piece;
  };
  const Pieces begun = {{0, "a", "look", R"({"at")"}, {0, "", "", ":1}"}};
  const auto and_then = [&](ToolCallPiece piece) {
    Pieces pieces = begun;
    pieces.push_back(std::move(piece));
    return calls_of(std::move(pieces));
  };
  const std::optional<std::uint64_t> none;
  CHECK(and_then(done(0, "", "", R"({"at":2})")) == Calls{{"a", "look", R"({"at":2})"}});
  CHECK(and_then(done(0, "a", "look", "")) == Calls{look_and_wait[0]});
  CHECK(and_then(done(0, "another", "look", R"({"at":1})")) == Calls{look_and_wait[0]});
  CHECK(and_then(done(none, "a", "look", "{}")) == Calls{{"a", "look", "{}"}});
  CHECK(and_then(done(none, "b", "look", "{}")).size() == 2);
  CHECK(and_then(done(0, "b", "wait", "{}")).size() == 2);
  CHECK(and_then(done(1, "b", "look", "{}")).size() == 2);
  CHECK(calls_of({done(3, "a", "look", R"({"at":1})")}) == Calls{look_and_wait[0]});
}

TEST_CASE("arguments that begin again are the same arguments once more", "[llm][tools][repeats]") {
  const Calls look = {look_and_wait[0]};
  const ToolCallPiece head{0, "a", "look", ""}, all{0, "", "", R"({"at":1})"};
  const ToolCallPiece first{0, "", "", R"({"at")"}, second{0, "", "", ":1}"};
  CHECK(calls_of({head, all, all}) == look);
  CHECK(calls_of({head, first, second, first, second}) == look);
  CHECK(calls_of({head, first, second, head, first, second, all}) == look);
  CHECK(calls_of({head, first, second, first}) == look);  // once more, but cut off
  CHECK(calls_of({head, first, all}) == look);            // all so far, and more
  CHECK(calls_of({head, {0, "", "", "{}"}, all}) == look);
  CHECK(calls_of({head, all, {0, "", "", "{}"}})[0].arguments == R"({"at":1}{})");
  CHECK(calls_of({head, all, {0, "", "", R"({"at":2})"}})[0].arguments == R"({"at":1}{"at":2})");
}

TEST_CASE("braces in a text begin no arguments", "[llm][tools][repeats]") {
  CHECK(
      calls_of({{0, "a", "look", R"({"at":"{})"}, {0, "", "", R"({"})"}, {0, "", "", "\"}"}})[0].arguments ==
      R"({"at":"{}{"}"})");
  CHECK(
      calls_of({{0, "a", "look", R"({"at":"\")"}, {0, "", "", R"({}{})"}, {0, "", "", "\"}"}})[0].arguments ==
      R"({"at":"\"{}{}"})");
}

TEST_CASE("a snapshot takes each call once", "[llm][tools][repeats]") {
  const auto repeated = [](const Pieces& pieces, Pieces snapshot) {
    ToolCallAssembler assembler(1000);
    for (const ToolCallPiece& piece : pieces) CHECK(assembler.add(piece) == ToolCallFault::none);
    for (int times = 0; times < 2; ++times) {  // a server may repeat it in each chunk
      assembler.begin_snapshot();
      for (const ToolCallPiece& piece : snapshot) CHECK(assembler.add_snapshot(piece) == ToolCallFault::none);
    }
    Result result;
    CHECK(assembler.finish(result.calls, result.places) == ToolCallFault::none);
    return result.calls;
  };
  const ToolCallPiece look{0, "a", "look", R"({"at":1})"}, wait{1, "b", "wait", R"({"s":2})"};
  const std::optional<std::uint64_t> none;
  CHECK(repeated({look, wait}, {look, wait}) == look_and_wait);
  CHECK(repeated({look, wait}, {wait, look}) == look_and_wait);
  CHECK(repeated({look}, {look, wait}) == look_and_wait);
  CHECK(repeated({}, {look, wait}) == look_and_wait);
  CHECK(repeated({look, wait}, {}) == look_and_wait);
  CHECK(repeated({{0, "", "roll", "{}"}, {1, "", "roll", "{}"}},
                 {{none, "", "roll", "{}"}, {none, "", "roll", "{}"}}) ==
        Calls{{"", "roll", "{}"}, {"", "roll", "{}"}});
  CHECK(repeated({{0, "a", "look", R"({"at")"}}, {look}) == Calls{look_and_wait[0]});
  CHECK(repeated({{0, "", "look", R"({"at":1})"}}, {look}) == Calls{look_and_wait[0]});
}

TEST_CASE("a snapshot that differs is noticed, and what came first counts", "[llm][tools][repeats]") {
  ToolCallAssembler assembler(1000);
  CHECK(assembler.add({0, "a", "look", R"({"at":1})"}) == ToolCallFault::none);
  assembler.begin_snapshot();
  CHECK(assembler.add_snapshot({0, "a", "look", R"({ "at" : 1 })"}) == ToolCallFault::none);
  CHECK_FALSE(assembler.has_difference());
  assembler.begin_snapshot();
  CHECK(assembler.add_snapshot({0, "a", "look", R"({"at":2})"}) == ToolCallFault::none);
  CHECK(assembler.has_difference());
  Result result;
  CHECK(assembler.finish(result.calls, result.places) == ToolCallFault::none);
  CHECK(result.calls == Calls{look_and_wait[0]});
}

TEST_CASE("pieces without an index belong to the call of their item", "[llm][tools][repeats]") {
  const auto of_item = [](std::string item, std::string id, std::string name, std::string arguments) {
    ToolCallPiece piece{{}, std::move(id), std::move(name), std::move(arguments)};
    piece.item = std::move(item);
    return piece;
  };
  CHECK(calls_of({of_item("i", "a", "look", ""), of_item("k", "b", "wait", ""),
                  of_item("i", "", "", R"({"at":1})"), of_item("k", "", "", R"({"s":2})")}) == look_and_wait);
}

TEST_CASE("replaced arguments do not count against the limit", "[llm][tools][limits]") {
  Pieces pieces = {{0, "a", "look", "1234567890"}};
  ToolCallPiece all{0, "", "", "1234567890"};
  all.replaces = true;
  for (int i = 0; i < 3; ++i) pieces.push_back(all);
  CHECK(assembled(pieces, 15).fault == ToolCallFault::none);
  CHECK(assembled(pieces, 14).fault == ToolCallFault::too_large);
}

TEST_CASE("a call that is whole without arguments has {} if the answer ended normally",
          "[llm][tools][missing]") {
  for (const bool normally : {true, false}) {
    ToolCallAssembler assembler(1000);
    for (const ToolCallPiece& piece :
         Pieces{{0, "a", "now", ""}, {1, "b", "look", R"({"at":1})"}, {2, "c", "now", ""}})
      REQUIRE(assembler.add(piece) == ToolCallFault::none);
    for (const std::uint64_t index : {0U, 1U, 7U}) assembler.end(index);
    Result result;
    CHECK(assembler.finish(result.calls, result.places, normally) == ToolCallFault::none);
    CHECK(result.calls ==
          Calls{{"a", "now", normally ? "{}" : ""}, {"b", "look", R"({"at":1})"}, {"c", "now", ""}});
  }
}

TEST_CASE("arguments may come after the end of a call", "[llm][tools][missing]") {
  ToolCallAssembler assembler(100);
  REQUIRE(assembler.add({0, "a", "now", ""}) == ToolCallFault::none);
  assembler.end(0);
  REQUIRE(assembler.add({0, "", "", R"({"a":)"}) == ToolCallFault::none);
  REQUIRE(assembler.add({0, "", "", "1}"}) == ToolCallFault::none);
  Result result;
  CHECK(assembler.finish(result.calls, result.places) == ToolCallFault::none);
  CHECK(result.calls == Calls{{"a", "now", R"({"a":1})"}});
}
