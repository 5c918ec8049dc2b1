// What a provider has cached of a conversation begins the next request, too.
#include "llm/dialects/last_check.hpp"
#include "llm/dialects/wire_format.hpp"
#include "support/drive/tree_fixture.hpp"
#include "support/prop.hpp"
#include "support/wire/provider_request.hpp"

#include <agentcore/history.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::test;
using detail::llm::WireFormat;
using Json = nlohmann::ordered_json;

namespace {

enum class Act {
  ask,
  answer,
  blank,
  call_tools,
  invent_calls,
  refused,
  steer_now,
  steer,
  interrupt,
  open,
  close,
  write
};

// One agent, its model and its windows, driven by random acts.
struct Talk : TreeFixture {
  std::shared_ptr<ToolRegistry> tools = std::make_shared<ToolRegistry>();
  std::vector<std::string> windows;
  int texts = 0;
  std::size_t results = 0;
  int calls = 0;

  Talk(ToolProtocol protocol, bool checks_answers, std::size_t max_tokens) {
    const std::size_t longest = max_tokens == no_limit ? 10 : 300;
    tools->add(make_tool({.name = "look"}, [this, longest](const nlohmann::json&, const ToolContext&) {
      ++results;
      return ToolResult::done("seen" + std::string(results * results % longest, 's'));
    }));
    AgentSpec spec;
    spec.system_prompt = "Be brief.";
    spec.tools = tools;
    spec.tool_protocol = protocol;
    spec.context = {.max_tokens = max_tokens, .target_tokens = 0, .min_conversation_tokens = 1};
    spec.limits.repairs = 100;
    if (checks_answers) spec.model.response_format = {.kind = ResponseFormat::Kind::json_object};
    is_checked = checks_answers;
    is_text = protocol == ToolProtocol::text;
    root("a", std::move(spec));
  }

  std::string next_text() { return "text " + std::to_string(++texts); }
  bool waits() const { return static_cast<bool>(llm->find("a")); }
  void answer(const std::string& text) {
    if (waits()) llm->answer("a", text);
  }
  void call_tools(int number) {
    if (!waits()) return;
    if (is_text)
      return llm->answer("a", R"(<tool_call>{"calls":[{"window_id":"tools","action_id":"look","params":{}}]})"
                              "</tool_call>");
    std::vector<ToolCall> wanted;
    for (int i = 0; i < number; ++i)
      wanted.push_back({.id = "c" + std::to_string(++calls), .name = "look", .arguments = "{}"});
    llm->call_tools("a", std::move(wanted));
  }
  // Names and arguments that no tool has.
  void invent_calls(int number) {
    if (!waits() || is_text) return;
    const std::vector<std::string> names = {"functions.look", "look at", "<|channel|>", std::string(80, 'n')};
    const std::string name = names[static_cast<std::size_t>(number) % names.size()];
    llm->call_tools("a", {{.id = "c" + std::to_string(++calls), .name = name, .arguments = "{\"a\":"},
                          {.id = "c" + std::to_string(++calls), .name = "look", .arguments = ""}});
  }
  void change_windows(Act act) {
    if (act == Act::open) {
      windows.push_back("w" + std::to_string(++texts));
      tools->open({.id = windows.back(), .content = next_text()});
    } else if (!windows.empty() && act == Act::close) {
      tools->close(windows.back());
      windows.pop_back();
    } else if (!windows.empty()) {
      tools->set_content(windows.back(), next_text());
    }
  }
  void run(Act act, int number) {
    const Agent agent = (*this)["a"];
    switch (act) {
      case Act::ask:
        static_cast<void>(agent.send(next_text()));
        break;
      case Act::answer:
        answer(is_checked ? "{}" : next_text());
        break;
      case Act::blank:
        answer(is_checked ? "{}" : " ");
        break;
      case Act::call_tools:
        call_tools(number);
        break;
      case Act::invent_calls:
        invent_calls(number);
        break;
      case Act::refused:
        answer(is_checked ? "no JSON" : next_text());
        break;
      case Act::steer_now:
      case Act::steer:
        static_cast<void>(
            agent.steer(next_text(), {.when = act == Act::steer ? SteerWhen::next_step : SteerWhen::now}));
        break;
      case Act::interrupt:
        static_cast<void>(agent.interrupt());
        break;
      default:
        change_windows(act);
    }
    settle();
  }

  bool is_checked = false;
  bool is_text = false;
};

std::vector<ChatRequest> requests_of_any_talk(std::size_t max_tokens) {
  const auto acts = *rc::gen::resize(
      40, rc::gen::container<std::vector<Act>>(rc::gen::weightedElement<Act>({{6, Act::ask},
                                                                              {4, Act::answer},
                                                                              {1, Act::blank},
                                                                              {6, Act::call_tools},
                                                                              {2, Act::invent_calls},
                                                                              {3, Act::refused},
                                                                              {2, Act::steer_now},
                                                                              {2, Act::steer},
                                                                              {2, Act::interrupt},
                                                                              {1, Act::open},
                                                                              {1, Act::close},
                                                                              {2, Act::write}})));
  Talk talk(*rc::gen::element(ToolProtocol::native, ToolProtocol::text), *rc::gen::arbitrary<bool>(),
            max_tokens);
  for (const Act act : acts) talk.run(act, *rc::gen::inRange(1, 14));
  std::vector<ChatRequest> requests;
  for (std::size_t i = 0; i < talk.llm->calls(); ++i) requests.push_back(talk.llm->call(i).request);
  return requests;
}

const std::vector<const WireFormat*> formats = {&detail::llm::openai_chat(), &detail::llm::openai_responses(),
                                                &detail::llm::anthropic_messages()};

void remove_marks(Json& json) {
  if (json.is_object()) json.erase("cache_control");
  if (json.is_structured())
    for (Json& entry : json) remove_marks(entry);
}

Json body_of(const WireFormat& format, ChatRequest request) {
  const detail::llm::BodyDefaults defaults = {.model = "m", .prompt_caching = true};
  detail::llm::last_check(request, format.dialect(), defaults);
  Json body = Json::parse(format.body(request, defaults));
  remove_marks(body);
  return body;
}

Json& list_in(Json& body) {
  return body[body.contains("input") ? "input" : "messages"];
}

std::size_t stable_end(const ChatRequest& request) {
  return request.stable_messages.value_or(request.messages.size());
}

// The stable part as text, without the bracket that ends the list.
std::string stable_text(const WireFormat& format, ChatRequest request) {
  request.messages.resize(stable_end(request));
  request.tail.clear();
  Json body = body_of(format, request);
  std::string text = list_in(body).dump();
  text.pop_back();
  return text;
}

// Removes the tail; false if it is not the last part.
bool remove_tail(Json& list, const std::string& tail) {
  if (list.empty()) return false;
  Json& content = list.back()["content"];
  if (content == tail) {
    list.erase(list.end() - 1);
    return true;
  }
  if (!content.is_array() || content.empty() || content.back().value("text", "") != tail) return false;
  content.erase(content.end() - 1);
  if (content.empty()) list.erase(list.end() - 1);
  return true;
}

bool begins_with(const std::vector<ChatMessage>& longer, const ChatRequest& request) {
  return longer.size() >= stable_end(request) &&
         std::equal(request.messages.begin(),
                    request.messages.begin() + static_cast<std::ptrdiff_t>(stable_end(request)),
                    longer.begin(), [](const ChatMessage& a, const ChatMessage& b) {
                      return a.content() == b.content() && a.role == b.role &&
                             a.tool_calls() == b.tool_calls();
                    });
}

}  // namespace

TEST_CASE("the stable part of a request begins the next one", "[property][llm][tools]") {
  prop("whatever happens in a conversation, byte for byte and in each dialect", [] {
    const std::vector<ChatRequest> requests = requests_of_any_talk(no_limit);
    RC_CLASSIFY(requests.size() > 5, "more than 5 requests");
    for (std::size_t i = 0; i + 1 < requests.size(); ++i) {
      RC_ASSERT(begins_with(requests[i + 1].messages, requests[i]));
      for (const WireFormat* format : formats) {
        const std::string before = stable_text(*format, requests[i]);
        const std::string after = stable_text(*format, requests[i + 1]);
        RC_ASSERT(after.substr(0, before.size()) == before);
        Json one = body_of(*format, requests[i]), two = body_of(*format, requests[i + 1]);
        for (const char* name : {"system", "instructions"})
          RC_ASSERT(one.value(name, Json()) == two.value(name, Json()));
        if (one.contains("tools")) RC_ASSERT(one["tools"][0] == two["tools"][0]);
      }
    }
  });
}

TEST_CASE("each provider takes every request of a conversation", "[property][llm][tools][provider]") {
  prop("whatever verbs ran, and whatever the model wrote", [] {
    const std::size_t limit = *rc::gen::arbitrary<bool>() ? static_cast<std::size_t>(no_limit) : 200;
    for (const ChatRequest& request : requests_of_any_talk(limit)) {
      for (const Provider& provider : providers()) {
        const std::string body = body_for(provider.name, request);
        const std::string why = refusal_of(provider.name, body);
        if (!why.empty()) RC_FAIL(why + " in " + body);
      }
    }
  });
}

TEST_CASE("a long result is cut alike in all requests", "[property][llm][tools][context]") {
  prop("so that what a provider has cached begins the next request, too", [] {
    const std::vector<ChatRequest> requests = requests_of_any_talk(*rc::gen::inRange<std::size_t>(100, 1000));
    std::map<std::string, std::string> results;
    bool is_cut = false;
    for (const ChatRequest& request : requests)
      for (const ChatMessage& message : request.messages) {
        if (message.role != Role::tool) continue;
        const auto [result, is_new] = results.emplace(message.tool_call_id, message.content());
        is_cut = is_cut || message.content().find(" left out of the middle ") != std::string::npos;
        RC_ASSERT(is_new || result->second == message.content());
      }
    RC_CLASSIFY(is_cut, "with a result that is cut");
  });
}

TEST_CASE("the tail is a separate last part", "[property][llm][tools]") {
  prop("and what stands before it is written as without a tail", [] {
    for (const ChatRequest& request : requests_of_any_talk(no_limit)) {
      RC_CLASSIFY(!request.tail.empty(), "with a tail");
      if (request.tail.empty()) continue;
      ChatRequest without = request;
      without.tail.clear();
      for (const WireFormat* format : formats) {
        Json with = body_of(*format, request), bare = body_of(*format, without);
        RC_ASSERT(remove_tail(list_in(with), request.tail));
        RC_ASSERT(with == bare);
      }
    }
  });
}

TEST_CASE("a request has at most four marks", "[property][llm][anthropic][context]") {
  prop("also after messages were trimmed, and its numbers of messages are in order", [] {
    const std::vector<ChatRequest> requests = requests_of_any_talk(*rc::gen::inRange<std::size_t>(20, 400));
    std::vector<std::size_t> ends;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const ChatRequest& request = requests[i];
      const std::string body = detail::llm::anthropic_messages().body(request, {.prompt_caching = true});
      std::size_t marks = 0;
      for (auto at = body.find("cache_control"); at != body.npos; at = body.find("cache_control", at + 1))
        ++marks;
      RC_ASSERT(marks >= 2U);
      RC_ASSERT(marks <= 4U);
      RC_ASSERT(is_valid_history(request.messages));
      RC_ASSERT(std::is_sorted(request.sent_before.begin(), request.sent_before.end()));
      for (const std::size_t end : request.sent_before) RC_ASSERT(end < stable_end(request));
      RC_ASSERT(request.cache_key == requests[0].cache_key);
      if (i == 0 || !begins_with(request.messages, requests[i - 1])) continue;
      for (const WireFormat* format : formats) {
        const std::string before = stable_text(*format, requests[i - 1]);
        RC_ASSERT(stable_text(*format, request).substr(0, before.size()) == before);
      }
    }
  });
}
