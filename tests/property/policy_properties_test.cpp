// Policies and grants against a model: rules in random trees, random calls, approvals, revocations, deletes
// and changes of tools. No call runs that no rule and no grant allows, none is asked about that one of them
// allows, and what was approved is byte for byte what ran.
#include "support/drive/tree_fixture.hpp"
#include "support/prop.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::test;
using nlohmann::json;

namespace {

constexpr std::array<int, 6> parents{-1, 0, 1, 1, 0, -1};  // of the agents "0" to "5"
constexpr std::size_t agents = parents.size();
constexpr std::array tools{"read", "shell"};
// Different texts, some of the same value.
constexpr std::array arguments{R"({"a":1,"key":"x"})", R"({ "key" : "x", "a" : 1 })",  R"({"a":2,"key":"x"})",
                               R"({"a":1,"key":"y"})", R"({"b":1.50e1,"a":"\u00e9"})", "{}"};

using Op = std::array<std::uint8_t, 5>;

bool is_at_or_below(std::size_t agent, std::size_t top) {
  for (int at = static_cast<int>(agent); at >= 0; at = parents.at(static_cast<std::size_t>(at)))
    if (at == static_cast<int>(top)) return true;
  return false;
}

// What one source decides about the calls of an agent to a tool.
struct Rule {
  Permission permission = Permission::allow;
  bool by_key = false;  // it asks with the key in the arguments

  std::string key(const std::string& text) const {
    if (permission != Permission::ask || !by_key) return {};
    return json::parse(text).value("key", std::string());
  }
};

// A call as the model sees it.
struct Wanted {
  std::size_t agent = 0;
  std::string tool = {};
  std::string version = {};  // of the tool: its description
  std::string arguments = {};
  std::string key = {};  // empty: the arguments count
};

struct ModelGrant {
  Wanted covers;
  bool subtree = false;

  bool covers_call(const Wanted& call) const {
    const bool same_agent =
        call.agent == covers.agent || (subtree && is_at_or_below(call.agent, covers.agent));
    if (!same_agent || call.tool != covers.tool || call.version != covers.version) return false;
    return call.key == covers.key && (!call.key.empty() || call.arguments == covers.arguments);
  }
  bool operator==(const ModelGrant& other) const {
    return subtree == other.subtree && covers.agent == other.covers.agent && covers_call(other.covers);
  }
  std::tuple<std::string, bool, std::string, std::string, std::string> shown() const {
    return {std::to_string(covers.agent), subtree, covers.tool, covers.key.empty() ? covers.arguments : "",
            covers.key};
  }
};

struct World : TreeFixture {
  // The model: rules, tools, grants, and what a person approved.
  std::map<std::string, Rule> tree_rules, spec_rules;  // by agent and tool
  std::map<std::string, std::string> versions;         // by registry and tool; none: not registered
  std::map<std::string, bool> careful;                 // the same: needs_approval
  std::vector<ModelGrant> grants;
  std::map<std::string, Wanted> asked;     // by the id of the question
  std::map<std::string, Wanted> approved;  // by agent and call
  std::map<std::string, std::string> call_of;
  std::string answering;  // the question that the host answers just now
  std::vector<std::string> wrong;
  std::size_t ran_by_rule = 0, ran_by_grant = 0, ran_by_approval = 0, approved_by_grant = 0;

  std::array<std::shared_ptr<ToolRegistry>, 2> registries{std::make_shared<ToolRegistry>(),
                                                          std::make_shared<ToolRegistry>()};
  Subscription events;

  World() : TreeFixture(options()) {
    for (std::size_t registry = 0; registry < 2; ++registry)
      for (const char* const tool : tools) add(registry, tool, "v0", false);
    for (std::size_t i = 0; i < agents; ++i)
      tree_rules[std::to_string(i) + "shell"] = {Permission::ask, i == 2};
    make_agents();
    events = tree->on_event([this](const Event& event) { on_event(event); });
  }

  TreeOptions options() {
    TreeOptions made;
    made.tool_policy = [this](const ToolRequest& request) { return decide(tree_rules, request); };
    return made;
  }
  static ToolDecision decide(std::map<std::string, Rule>& rules, const ToolRequest& request) {
    const Rule& rule = rules[std::string(request.agent_id) + request.tool.name];
    return {rule.permission, {}, rule.key(std::string(request.arguments))};
  }
  void make_agents() {
    for (std::size_t i = 0; i < agents; ++i) {
      const std::string id = std::to_string(i);
      if (tree->find(id)) continue;
      AgentSpec spec{.tools = registries.at(i % 2),
                     .limits = {.parallel_tools = static_cast<std::uint16_t>(1 + i % 3)}};
      spec.tool_policy = [this](const ToolRequest& request) { return decide(spec_rules, request); };
      if (parents.at(i) < 0)
        root(id, std::move(spec));
      else
        child((*this)[std::to_string(parents.at(i))], id, std::move(spec));
    }
  }

  static std::string place(std::size_t registry, const std::string& tool) {
    return std::to_string(registry) + tool;
  }
  void add(std::size_t registry, const std::string& tool, const std::string& version, bool needs_approval) {
    versions[place(registry, tool)] = version;
    careful[place(registry, tool)] = needs_approval;
    registries.at(registry)->add(make_tool(
        {.name = tool,
         .description = version,
         .parameters = R"({"type":"object"})",
         .needs_approval = needs_approval},
        [this, tool, version](const json& given, const ToolContext& context) {
          on_run({std::stoul(context.agent().id()), tool, version, given.dump()}, context.call_id());
          return ToolResult::done("ok");
        }));
  }

  // What the rules say about a call, and its key.
  Permission permission(Wanted& call) {
    const Rule& of_tree = tree_rules[std::to_string(call.agent) + call.tool];
    const Rule& of_spec = spec_rules[std::to_string(call.agent) + call.tool];
    const std::string keys[] = {of_tree.key(call.arguments), of_spec.key(call.arguments)};
    const bool tree_asks = of_tree.permission == Permission::ask;
    const bool spec_asks = of_spec.permission == Permission::ask;
    if (tree_asks && spec_asks)
      call.key = keys[0] == keys[1] ? keys[0] : "";
    else
      call.key = tree_asks ? keys[0] : keys[1];
    const bool asks = careful[place(call.agent % 2, call.tool)];
    return std::max({of_tree.permission, of_spec.permission, asks ? Permission::ask : Permission::allow});
  }
  bool is_granted(const Wanted& call) const {
    return std::any_of(grants.begin(), grants.end(),
                       [&](const ModelGrant& grant) { return grant.covers_call(call); });
  }

  void on_run(Wanted call, const std::string& call_id) {
    const auto yes = approved.find(std::to_string(call.agent) + call_id);
    if (yes != approved.end()) {
      if (yes->second.tool != call.tool || yes->second.version != call.version ||
          yes->second.arguments != call.arguments)
        wrong.push_back("another call ran than was approved: " + call.arguments);
      approved.erase(yes);
      ++ran_by_approval;
      return;
    }
    const Permission allowed = permission(call);
    if (allowed == Permission::deny) wrong.push_back("a denied call ran");
    if (allowed == Permission::ask && !is_granted(call)) wrong.push_back("a call ran unasked");
    ++(allowed == Permission::ask ? ran_by_grant : ran_by_rule);
  }
  void on_event(const Event& event) {
    if (const auto* question = event.get<QuestionAsked>()) {
      Wanted call{
          std::stoul(question->question.agent_id), question->question.tool, {}, question->question.text};
      call.version = versions[place(call.agent % 2, call.tool)];
      if (permission(call) != Permission::ask) wrong.push_back("a question that no rule asks");
      if (is_granted(call)) wrong.push_back("a question although it is granted");
      call_of[question->question.id] = std::to_string(call.agent) + question->question.call_id;
      asked[question->question.id] = std::move(call);
    }
    if (const auto* closed = event.get<QuestionClosed>()) {
      const Wanted call = asked.at(closed->question_id);
      asked.erase(closed->question_id);
      if (closed->outcome != QuestionOutcome::answered) return;
      if (closed->question_id != answering && !is_granted(call)) wrong.push_back("approved by nobody");
      approved_by_grant += closed->question_id != answering;
      approved[call_of.at(closed->question_id)] = call;
    }
    if (const auto* refused = event.get<ToolRefused>(); refused && refused->reason.starts_with("denied")) {
      Wanted call{std::stoul(refused->agent.id()), refused->tool, {}, refused->arguments};
      if (permission(call) != Permission::deny) wrong.push_back("a denial that no rule demands");
    }
  }

  void play(const Op& op) {
    constexpr std::array permissions{Permission::allow, Permission::ask, Permission::ask, Permission::deny};
    const std::size_t agent = std::min<std::size_t>(op[1] % (agents + 2), 4 + op[1] % 2);
    const std::string id = std::to_string(agent);
    const std::string tool = tools.at(op[2] % tools.size());
    switch (op[0] % 24) {
      case 0:
        tree_rules[id + tool] = {permissions.at(op[3] % 4), op[4] % 2 == 0};
        return;
      case 1:
        spec_rules[id + tool] = {permissions.at(op[3] % 4), op[4] % 2 == 0};
        return;
      case 2:
        return change_tool(op[1] % 2, tool, op);
      case 3:
        return revoke(op);
      case 4:
        if (op[3] % 4 == 0) remove_agent(agent);
        return;
      case 5:
        static_cast<void>((*this)[id].stop());
        settle();
        static_cast<void>((*this)[id].resume());
        return;
      default:
        return op[0] % 2 ? call_tools(id, op) : answer_question(op);
    }
  }
  void call_tools(const std::string& id, const Op& op) {
    if (state(id) == AgentState::idle) ask((*this)[id]);
    if (state(id) != AgentState::waiting_llm) return;  // its calls wait for a person
    std::vector<ToolCall> calls;
    for (std::size_t i = 0; i < 1 + op[3] % 3U; ++i)
      calls.push_back(
          {.id = "c" + std::to_string(i),
           .name = tools.at((op[2] + i / 2) % tools.size()),
           .arguments = arguments.at(op[4] % 4 ? op[3] % 2 : (op[4] / 4 + i) % arguments.size())});
    llm->call_tools(id, std::move(calls));
    settle();
    if (op[4] % 2 == 0 && state(id) == AgentState::waiting_llm) llm->answer(id, "well");
  }
  void change_tool(std::size_t registry, const std::string& tool, const Op& op) {
    if (!versions[place(registry, tool)].empty() && op[3] % 4 == 0) {
      registries.at(registry)->remove(tool);
      versions[place(registry, tool)].clear();
      return;
    }
    registries.at(registry)->remove(tool);
    add(registry, tool, op[3] % 2 ? "v0" : "v1", op[4] % 2 == 0);
  }
  void answer_question(const Op& op) {
    const std::vector<OpenQuestion> open = tree->questions();
    if (open.empty()) return;
    const std::string id = open[op[2] % open.size()].id;
    if (op[3] % 8 == 0) return static_cast<void>(tree->decline(id));
    answering = id;
    const GrantScope scope = static_cast<GrantScope>(op[4] % 3);
    const std::vector<ModelGrant> before = grants;
    if (scope != GrantScope::once) {
      const ModelGrant grant{asked.at(id), scope == GrantScope::subtree};
      if (std::find(grants.begin(), grants.end(), grant) == grants.end()) grants.push_back(grant);
    }
    if (!tree->approve(id, scope)) grants = before;
    answering.clear();
    if (scope == GrantScope::once) return;
    end_changed();  // a call that begins by this answer may have found another tool of that name
    for (const auto& [question, call] : asked)
      if (is_granted(call)) wrong.push_back("open although it is granted: " + question);
  }
  void revoke(const Op& op) {
    const std::vector<Grant> all = tree->grants();
    if (all.empty()) return;
    const std::size_t at = op[2] % all.size();
    if (!tree->revoke(all[at].id)) wrong.push_back("a grant cannot be revoked");
    grants.erase(grants.begin() + static_cast<std::ptrdiff_t>(at));
  }
  void remove_agent(std::size_t agent) {
    static_cast<void>((*this)[std::to_string(agent)].terminate());
    settle();
    std::erase_if(grants, [&](const ModelGrant& grant) { return is_at_or_below(grant.covers.agent, agent); });
    make_agents();
  }

  // A grant ends when its tool is replaced by another one.
  void end_changed() {
    std::erase_if(grants, [&](const ModelGrant& grant) {
      const std::string& now = versions[place(grant.covers.agent % 2, grant.covers.tool)];
      return !now.empty() && now != grant.covers.version;
    });
  }
  // After each step: the list of grants is that of the model.
  void compare() {
    end_changed();
    const std::vector<Grant> all = tree->grants();
    bool same = all.size() == grants.size();
    for (std::size_t i = 0; same && i < all.size(); ++i)
      same = grants[i].shown() == std::tuple(all[i].agent_id, all[i].scope == GrantScope::subtree,
                                             all[i].tool, all[i].arguments, all[i].key);
    if (!same) wrong.push_back("other grants than in the model");
  }
};

// The meaning of a pattern, by trying all ways.
bool means(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*')
    return means(pattern.substr(1), text) || (!text.empty() && means(pattern, text.substr(1)));
  if (text.empty() || (pattern[0] != '?' && pattern[0] != text[0])) return false;
  return means(pattern.substr(1), text.substr(1));
}

std::string any_text(const std::string& characters) {
  return *rc::gen::resize(12, rc::gen::container<std::string>(rc::gen::elementOf(characters)));
}

}  // namespace

TEST_CASE("no call runs that no rule and no grant allows, and what was approved is what ran",
          "[property][policy][grants]") {
  std::array<std::size_t, 4> ran{};
  prop("calls, approvals, revocations, deletes and changes of tools agree with the model", [&] {
    const auto ops = *rc::gen::scale(
        2.5, rc::gen::container<std::vector<Op>>(rc::gen::resize(100, rc::gen::arbitrary<Op>())));
    World world;
    for (const Op& op : ops) {
      world.play(op);
      world.settle();
      world.compare();
      RC_ASSERT(world.wrong == std::vector<std::string>{});
    }
    RC_ASSERT(world.seen.violations == std::vector<std::string>{});
    const std::array by{world.ran_by_rule, world.ran_by_grant, world.ran_by_approval,
                        world.approved_by_grant};
    for (std::size_t i = 0; i < by.size(); ++i) ran.at(i) += by.at(i);
  });
  CAPTURE(ran);
  for (const std::size_t count : ran) CHECK(count > 0);
}

TEST_CASE("the first rule whose patterns match decides", "[property][policy]") {
  prop("the rules agree with a matcher that tries all ways", [] {
    std::vector<ToolRule> rules;
    for (int left = *rc::gen::inRange(0, 4); left > 0; --left)
      rules.push_back({any_text("ab_*?"), *rc::gen::element(Permission::allow, Permission::ask),
                       *rc::gen::element<std::string>("*", "a*", "b?")});
    const std::string window = *rc::gen::element<std::string>("", "a", "b_a"), name = any_text("ab_");
    const std::string agent_id = any_text("ab");
    const std::string full = window.empty() ? name : window + "__" + name;
    Permission expected = Permission::deny;
    for (auto rule = rules.rbegin(); rule != rules.rend(); ++rule)
      if (means(rule->tool, full) && means(rule->agent, agent_id)) expected = rule->permission;
    const Agent agent;
    const ToolSpec spec{.name = name};
    RC_ASSERT(make_tool_policy(rules)({agent, agent_id, window, spec, "{}"}).permission == expected);
  });
}
