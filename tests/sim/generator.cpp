#include "sim/generator.hpp"

#include "sim/choices.hpp"
#include "sim/http_models.hpp"
#include "sim/random.hpp"
#include "sim/situations.hpp"

#include <array>
#include <vector>

namespace agentcore::sim {
namespace {

// The numbers of choices in World::spec() and World::tool_calls().
constexpr std::uint32_t spec_kinds = 16, tool_kinds = 10;

// What a feature adds to the choices of a run, how often beside the others.
struct Choice {
  Act act;
  std::uint32_t weight;
};
using Choices = std::vector<Choice>;

// Always there: without these nothing happens.
const Choices basics = {
    {Act::poll, 12}, {Act::poll_until_quiet, 6}, {Act::create_root, 3},  {Act::create_child, 3},
    {Act::send, 10}, {Act::model_text, 4},       {Act::model_answers, 8}};

// Each is in half of the runs.
const std::array<Choices, 15> features = {{
    {{Act::model_calls, 10},
     {Act::tool_done, 8},
     {Act::tool_fails, 2},
     {Act::tool_dropped, 1},
     {Act::run_job, 3},
     {Act::approve, 3},
     {Act::decline, 1},
     {Act::answer, 2},
     {Act::revoke, 3}},
    {{Act::stop, 5}, {Act::resume, 5}, {Act::stop_all, 1}, {Act::resume_all, 1}},
    {{Act::terminate, 4}, {Act::create_child, 4}},
    {{Act::interrupt, 5}, {Act::abort, 3}, {Act::release_queue, 2}},
    {{Act::pause, 4}, {Act::unpause, 4}, {Act::pause_all, 1}, {Act::unpause_all, 1}},
    {{Act::steer, 5}, {Act::simulate, 2}},
    {{Act::time_passes, 4}, {Act::next_timer, 5}, {Act::renew, 2}, {Act::send_with_deadline, 4}},
    {{Act::send_urgent, 3}, {Act::drop_queue, 2}, {Act::edit_queued, 2}, {Act::remove_queued, 2}},
    {{Act::fork, 3},
     {Act::rewind, 2},
     {Act::regenerate, 3},
     {Act::truncate_answer, 1},
     {Act::acknowledge, 2}},
    {{Act::cancel_call, 3}, {Act::complete_call, 3}, {Act::cancel_task, 5}, {Act::model_calls, 4}},
    {{Act::tool_progress, 4},
     {Act::tool_asks, 3},
     {Act::tool_sends, 3},
     {Act::tool_creates, 6},
     {Act::model_calls, 4}},
    {{Act::grant, 2},
     {Act::grant_subtree, 1},
     {Act::set_model, 1},
     {Act::set_llm, 1},
     {Act::set_system_prompt, 1},
     {Act::set_tools, 1},
     {Act::revoke, 1}},
    {{Act::model_reasoning, 3}, {Act::model_is_cut, 4}, {Act::model_fails, 3}},
    {{Act::restart, 2}, {Act::kill, 2}, {Act::flush, 2}, {Act::destroy_tree, 1}},
    {{Act::store_refuses, 3},
     {Act::store_is_unknown, 2},
     {Act::callback_throws, 2},
     {Act::poll_without_budget, 3}},
}};
// Each is in three of four runs with models over HTTP.
const std::array<Choices, 3> server_features = {{
    {{Act::server_sends, 8}, {Act::server_closes, 1}, {Act::server_garbage, 1}},
    {{Act::server_errors, 8}, {Act::server_resets, 3}},
    {{Act::server_sends, 4}, {Act::next_timer, 8}, {Act::time_passes, 2}},
}};

// In runs with a store in a file.
const Choices disk_feature = {{Act::disk_fails, 4},   {Act::disk_fills, 3}, {Act::disk_is_slow, 2},
                              {Act::disk_is_busy, 2}, {Act::disk_dies, 4},  {Act::kill, 3},
                              {Act::restart, 1},      {Act::flush, 2},      {Act::run_job, 3}};

// In runs with a console.
const Choices console_feature = {{Act::http_request, 25},
                                 {Act::http_moves, 4},
                                 {Act::http_follows, 3},
                                 {Act::http_reads, 2},
                                 {Act::http_leaves, 2}};

// In some runs with a console or models over HTTP.
const Choices socket_feature = {
    {Act::socket_fails, 8}, {Act::http_request, 4}, {Act::http_leaves, 2}, {Act::time_passes, 2}};

// In runs with programs.
const Choices program_feature = {{Act::model_calls, 20},
                                 {Act::send, 10},
                                 {Act::poll_until_quiet, 10},
                                 {Act::program_writes, 7},
                                 {Act::program_reads, 3},
                                 {Act::program_closes, 2},
                                 {Act::program_exits, 5},
                                 {Act::program_dies, 2},
                                 {Act::program_forks, 4},
                                 {Act::program_leaves, 3},
                                 {Act::program_ignores, 2},
                                 {Act::program_hangs, 1},
                                 {Act::program_calls_fail, 2},
                                 {Act::stop, 3},
                                 {Act::resume, 4},
                                 {Act::next_timer, 4},
                                 {Act::time_passes, 2},
                                 {Act::cancel_call, 2}};

// Of the knobs up to call_limits.
constexpr std::array<std::uint32_t, 16> choices_of_knobs = {2, 2, 3, 2, 4, 5, 2, 3, 3, 2, 3, 2, 5, 5, 1, 5};

Setup any_setup(Random& random) {
  Setup setup;
  for (std::size_t i = 0; i < choices_of_knobs.size(); ++i)  // add_small_limits() chooses those that follow
    if (random.once_in(2)) setup.values[i] = random.below(choices_of_knobs[i]);
  setup[Knob::store] = random.below(2);
  setup[Knob::models] = random.once_in(2) ? random.below(model_choices()) : 0;
  return setup;
}

// Limits as small as they can be. Numbers of its own leave the rest of the script as it is.
void add_small_limits(Setup& setup, Random random) {
  for (const Knob knob : {Knob::small_batches, Knob::small_bytes, Knob::short_times})
    setup[knob] = random.once_in(4) ? 1 : 0;
  if (setup[Knob::short_times] == 0 && random.once_in(3)) setup[Knob::short_times] = 2;
}

// In a third of the runs faults cease in a part of the world for a while.
void add_calm(Script& script, Random random) {
  for (std::uint32_t left = random.once_in(3) ? 1 + random.below(3) : 0; left != 0; --left) {
    const Command calm{.act = Act::calm, .n = {random.below(1000), random.below(1000), random.below(1000)}};
    const std::uint32_t at = 1 + random.below(static_cast<std::uint32_t>(script.commands.size()));
    script.commands.insert(script.commands.begin() + at, calm);
  }
}

Command any_of(Random& random, Act act) {
  return {.act = act, .n = {random.below(1000), random.below(1000), random.below(1000)}};
}

void insert(Script& script, Random& random, const std::vector<Command>& commands) {
  const std::uint32_t at = 1 + random.below(static_cast<std::uint32_t>(script.commands.size()));
  script.commands.insert(script.commands.begin() + at, commands.begin(), commands.end());
}

// In a quarter of the runs agents are exported, and imported again: beside the others, or in their place.
void add_documents(Script& script, Random random) {
  if (!random.once_in(4)) return;
  for (std::uint32_t left = 1 + random.below(3); left != 0; --left) {
    std::vector<Command> commands = {any_of(random, Act::export_agents)};
    if (random.once_in(2)) {
      const std::array ends = {Act::terminate, Act::terminate, Act::restart, Act::kill};
      commands.push_back(any_of(random, ends[random.below(ends.size())]));
      commands.back().n[0] = commands.front().n[0];
      commands.push_back({.act = Act::poll_until_quiet});
    }
    if (random.once_in(2)) commands.push_back(any_of(random, Act::import_agents));
    insert(script, random, commands);
  }
  for (std::uint32_t left = 1 + random.below(4); left != 0; --left) {
    Command command = any_of(random, Act::import_agents);
    if (random.once_in(4))
      command.place.number =
          static_cast<std::uint8_t>(1 + random.below(static_cast<std::uint32_t>(place_count() - 1)));
    insert(script, random, {command});
  }
}

// In a fifth of the runs agents are made in scopes, some of which are closed in a callback.
void add_scopes(Script& script, Random random) {
  if (!random.once_in(5)) return;
  for (std::uint32_t left = 1 + random.below(3); left != 0; --left) {
    std::vector<Command> commands = {any_of(random, Act::open_scope)};
    for (std::uint32_t agents = 1 + random.below(3); agents != 0; --agents)
      commands.push_back(any_of(random, random.once_in(3) ? Act::scope_attaches : Act::scope_creates));
    insert(script, random, commands);
  }
  constexpr std::array ends = {Act::close_scope, Act::close_scope, Act::release_scope, Act::scope_attaches,
                               Act::scope_creates};
  for (std::uint32_t left = 2 + random.below(6); left != 0; --left) {
    Command command = any_of(random, ends[random.below(ends.size())]);
    if (random.once_in(3))
      command.place.number =
          static_cast<std::uint8_t>(1 + random.below(static_cast<std::uint32_t>(place_count() - 1)));
    insert(script, random, {command});
  }
}

// In some of the runs with a store the host chooses what follows a commit that has failed, or another tree
// takes the store.
void add_owners(Script& script, Random random) {
  if (script.setup[Knob::store] == 0) return;
  if (random.once_in(5)) {
    script.setup[Knob::after_failure] = 1 + random.below(3);
    for (std::uint32_t left = random.below(3); left != 0; --left)
      insert(script, random, {any_of(random, Act::store_refuses)});
  }
  if (script.setup[Knob::store] != 1) return;
  for (std::uint32_t left = random.once_in(3) ? 1 + random.below(4) : 0; left != 0; --left)
    insert(script, random, {any_of(random, random.once_in(4) ? Act::lose_code : Act::damage_record)});
  if (!random.once_in(8)) return;
  std::vector<Command> commands = {any_of(random, Act::second_owner)};
  if (random.once_in(2)) commands.push_back({.act = Act::send});
  if (random.once_in(2)) commands.push_back(any_of(random, Act::stop));
  commands.push_back({.act = Act::poll_until_quiet});
  if (random.once_in(2)) commands.insert(commands.end(), {{.act = Act::next_timer}, {.act = Act::poll}});
  if (random.once_in(2)) commands.push_back({.act = random.once_in(2) ? Act::kill : Act::restart});
  insert(script, random, commands);
}

// In half of the runs commands have further options, and in some of these the tree grows.
void add_options(Script& script, Random random) {
  if (random.once_in(2)) return;
  for (Command& command : script.commands)
    if (random.once_in(3)) command.n[1] += options_begin * (1 + random.below(option_choices - 1));
  for (std::uint32_t left = random.once_in(4) ? 3 + random.below(20) : 0; left != 0; --left) {
    const Command child{.act = Act::create_child,
                        .n = {random.below(1000), random.below(options_begin * option_choices), 0}};
    const std::uint32_t at = 1 + random.below(static_cast<std::uint32_t>(script.commands.size()));
    script.commands.insert(script.commands.begin() + at, child);
  }
}

}  // namespace

std::uint32_t choices_of(Knob knob) {
  if (knob == Knob::store) return 4;  // in memory, and in a file
  if (knob == Knob::models) return model_choices();
  if (knob == Knob::plain_arguments) return 1;  // for failing allocations
  if (knob == Knob::real) return 1;             // for a comparison
  if (knob == Knob::programs) return 5;
  if (knob == Knob::short_times) return 3;
  if (knob == Knob::after_failure) return 4;
  const auto i = static_cast<std::size_t>(knob);
  return i < choices_of_knobs.size() ? choices_of_knobs[i] : 2;
}

bool may_be_in_callback(Act act) {
  return act != Act::restart && act != Act::poll_until_quiet && act != Act::run_job && act != Act::calm;
}

Script script_of_seed(std::uint64_t seed) {
  Random random(seed);
  Script script{any_setup(random), {}};
  std::vector<Act> bag;
  const auto add = [&](const Choices& choices) {
    for (const Choice& choice : choices) {
      const std::uint32_t weight = choice.weight * (1 + random.below(3));
      bag.insert(bag.end(), weight, choice.act);
    }
  };
  add(basics);
  for (const Choices& feature : features)
    if (random.once_in(2)) add(feature);
  if (script.setup[Knob::console] != 0) add(console_feature);
  if (script.setup[Knob::models] != 0)
    for (const Choices& feature : server_features)
      if (!random.once_in(4)) add(feature);
  // Few runs: such a store takes more time. Numbers of their own leave the other runs as they are.
  Random of_disk(seed ^ 0x6469'736bU);
  if (script.setup[Knob::store] != 0 && of_disk.once_in(6)) {
    script.setup[Knob::store] = 2 + of_disk.below(2);
    if (!of_disk.once_in(4)) add(disk_feature);
  }
  Random of_programs(seed ^ 0x7072'6f67U);
  const bool has_programs = of_programs.once_in(4);
  if (has_programs) {
    script.setup[Knob::programs] = 1 + of_programs.below(4);
    if (!of_programs.once_in(4)) script.setup[Knob::models] = 0;
    add(program_feature);
  }
  Random of_sockets(seed ^ 0x736f'636bU);
  const bool has_sockets = (script.setup[Knob::console] | script.setup[Knob::models]) != 0;
  if (has_sockets && of_sockets.once_in(4)) add(socket_feature);
  const std::uint32_t callbacks = random.below(3);  // 0: none; else one command of 12 or 4 is in a callback
  std::uint32_t length = 20 + random.below(random.once_in(10) ? 400 : 100);
  // Half of the agents are of one kind, and half of the calls of one tool: else kinds that need several
  // commands in a row would do nothing.
  std::uint32_t kind = random.below(spec_kinds), tool = random.below(tool_kinds);
  // What needs several commands in a row: background tasks, approvals, questions, delegation.
  switch (random.below(12)) {
    case 0:
    case 1:
      kind = 7;
      tool = 3;
      break;
    case 2:
      tool = 2;
      add({{Act::model_calls, 8}, {Act::approve, 8}, {Act::decline, 2}, {Act::revoke, 1}});
      break;
    case 3:
      tool = 6;
      add({{Act::model_calls, 8}, {Act::answer, 6}, {Act::decline, 2}});
      break;
    case 4:
      tool = 7;
      add({{Act::model_calls, 8}});
      break;
    default:
      break;
  }
  if (has_programs) tool = 10 + of_programs.below(10);
  const auto any = [&] {
    Command command{.act = bag[random.below(static_cast<std::uint32_t>(bag.size()))]};
    for (std::uint32_t& n : command.n) n = random.below(1000);
    if (!random.once_in(2)) return command;
    if (command.act == Act::create_root || command.act == Act::create_child)
      command.n[1] = command.n[1] / spec_kinds * spec_kinds + kind;
    if (command.act == Act::model_calls) command.n[1] = tool * 3 + command.n[1] % 3;
    return command;
  };
  // Half of the runs begin in a situation, and are short.
  Random of_situation(seed ^ 0x7369'7475U);
  const bool has_situation = !has_programs && of_situation.once_in(2);
  if (has_situation) {
    add_way_to(Wait(of_situation.below(wait_count)), script, of_situation);
    add_verbs(script, of_situation);
    length = static_cast<std::uint32_t>(script.commands.size()) + of_situation.below(20);
  } else
    script.commands.push_back({.act = Act::create_root, .n = {0, random.below(1000), 0}});
  // Programs are started in four commands: else most of what they do would have no effect.
  const auto start_programs = [&] {
    for (const Act act : {Act::send, Act::poll_until_quiet, Act::model_calls, Act::poll_until_quiet})
      script.commands.push_back({.act = act});
    Command& calls = script.commands[script.commands.size() - 2];
    calls.n[1] = (10 + of_programs.below(10)) * 3 + of_programs.below(3);
  };
  if (has_programs) {
    std::uint32_t& kind_of_root = script.commands.front().n[1];
    kind_of_root = kind_of_root / spec_kinds * spec_kinds + (of_programs.once_in(3) ? 7 : 0);
    start_programs();
  }
  if (random.once_in(100))
    script.commands.push_back({.act = Act::create_many, .n = {0, random.below(1000), 0}});
  // A person at the console is asked in five commands.
  Random of_console(seed ^ 0x636f'6e73U);
  const bool has_people = script.setup[Knob::console] != 0 && of_console.once_in(2);
  const auto ask_a_person = [&] {
    for (const Act act : {Act::send, Act::poll_until_quiet, Act::model_calls, Act::poll_until_quiet,
                          Act::http_request, Act::poll_until_quiet})
      script.commands.push_back(
          {.act = act, .n = {0, of_console.below(1000), 4 + 20 * of_console.below(40)}});
    Command& calls = script.commands[script.commands.size() - 4];
    calls.n[1] = (of_console.once_in(3) ? 6U : 2U) * 3;
  };
  while (script.commands.size() < length) {
    if (has_people && of_console.once_in(15)) ask_a_person();
    if (has_programs && of_programs.once_in(12)) start_programs();
    Command command = any();
    if (callbacks != 0 && random.once_in(callbacks == 1 ? 12 : 4) && may_be_in_callback(command.act))
      command.place.number =
          static_cast<std::uint8_t>(1 + random.below(static_cast<std::uint32_t>(place_count() - 1)));
    script.commands.push_back(command);
  }
  add_small_limits(script.setup, Random(seed ^ 0x736d'616c'6cU));
  add_documents(script, Random(seed ^ 0x646f'6375U));
  add_scopes(script, Random(seed ^ 0x7363'6f70U));
  add_owners(script, Random(seed ^ 0x6f77'6e65U));
  add_options(script, Random(seed ^ 0x6f70'7469U));
  add_calm(script, Random(seed ^ 0x6361'6c6dU));
  return script;
}

}  // namespace agentcore::sim
