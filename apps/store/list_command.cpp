// agentcore-store list FILE
#include "agent_view.hpp"
#include "core/utf8.hpp"
#include "opened_store.hpp"
#include "safe_text.hpp"
#include "subcommand.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace store_tool {
namespace {

struct ListOptions {
  std::string file;
  bool json = false;
};

// "1 message", "2 messages".
std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string description_of(const AgentView& view) {
  const persist::ForestAgent& agent = *view.agent;
  std::string text(view.state);
  if (view.state != "open") text += fmt::format(" ({})", to_string(agent.found.cause));
  if (view.is_paused) text += ", paused";
  if (view.is_held) text += ", held";
  text += ", " + counted(agent.record.turns, "turn");
  if (agent.record.turn) text += fmt::format(", turn {} in progress", agent.record.turn->number);
  if (!agent.mail.empty()) text += ", " + counted(agent.mail.size(), "message") + " waiting";
  return text;
}

struct Line {
  std::string branches_and_id;
  const AgentView* view;
};

// The forest as lines, parents before their children. Iterative: the depth of a damaged file has no limit.
std::vector<Line> lines_of(const std::vector<AgentView>& views) {
  constexpr std::size_t deepest = 64;  // levels that are indented
  struct Next {
    const AgentView* view;
    std::string margin;  // of its children
    bool is_root;
    bool is_last;
  };
  std::vector<Next> stack;
  for (auto view = views.rbegin(); view != views.rend(); ++view)
    if (!view->agent->parent) stack.push_back({&*view, "", true, true});
  std::vector<Line> lines;
  while (!stack.empty()) {
    const Next next = std::move(stack.back());
    stack.pop_back();
    const char* const branch = next.is_root ? "" : next.is_last ? "`- " : "|- ";
    lines.push_back({next.margin + branch + printable(next.view->agent->id()), next.view});
    const bool goes_deeper = !next.is_root && next.view->agent->depth < deepest;
    const std::string margin = next.margin + (!goes_deeper ? "" : next.is_last ? "   " : "|  ");
    const auto& children = next.view->children;
    for (auto child = children.rbegin(); child != children.rend(); ++child)
      stack.push_back({*child, margin, false, child == children.rbegin()});
  }
  return lines;
}

std::size_t width_of(std::string_view text) noexcept {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xC0) != 0x80; }));
}

void print_list_text(const std::string& file, const persist::StoredForest& forest, Output& output) {
  constexpr std::size_t widest = 40;  // a longer id moves only its own description
  const std::vector<AgentView> views = views_of(forest);
  std::size_t messages = 0;
  for (const AgentView& view : views) messages += view.agent->mail.size();
  std::string head = fmt::format("{}: {}, {} waiting", printable(file), counted(views.size(), "agent"),
                                 counted(messages, "message"));
  if (forest.tree().stopped) head += "; the whole tree is stopped";
  if (forest.tree().paused) head += "; the whole tree is paused";
  output.print(head + "\n");
  const std::vector<Line> lines = lines_of(views);
  std::size_t width = 0;
  for (const Line& line : lines)
    if (const std::size_t own = width_of(line.branches_and_id); own <= widest) width = std::max(width, own);
  for (const Line& line : lines) {
    if (output.is_closed()) return;
    const std::size_t own = width_of(line.branches_and_id);
    output.print(line.branches_and_id + std::string(own < width ? width - own : 0, ' ') + "  " +
                 description_of(*line.view) + "\n");
  }
}

void print_list_json(const std::string& file, const persist::StoredForest& forest, Output& output) {
  Json object{{"file", file}, {"stopped", forest.tree().stopped}, {"paused", forest.tree().paused}};
  Json& agents = object["agents"] = Json::array();
  for (const AgentView& view : views_of(forest)) agents.push_back(agent_json(view));
  output.print(safe_json(object) + "\n");
}

int run_list(const ListOptions& options, Output& output) {
  OpenedStore store(options.file);
  const persist::StoredForest forest = store.forest();
  (options.json ? print_list_json : print_list_text)(options.file, forest, output);
  return exit_ok;
}

}  // namespace

Subcommand list_command(CLI::App& app) {
  const auto options = std::make_shared<ListOptions>();
  CLI::App* const parser = app.add_subcommand("list", "Lists the agents of a store as a tree");
  parser->add_option("FILE", options->file, "The file of a SqliteStore")->required()->type_name("");
  parser->add_flag("--json", options->json, "Print JSON");
  return {parser, [options](Output& output) { return run_list(*options, output); }};
}

}  // namespace store_tool
