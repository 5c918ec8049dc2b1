// The servers of models behind HTTP, in a World.
#include "sim/random.hpp"
#include "sim/world.hpp"
#include "sim/world_run.hpp"

#include <array>
#include <utility>

namespace agentcore::sim {
namespace {

std::string hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf2'9ce4'8422'2325U;
  for (const char c : text) hash = mixed(hash, static_cast<unsigned char>(c));
  return std::to_string(hash);
}

}  // namespace

HttpModels::Host World::http_host() {
  HttpModels::Host host;
  host.on_key = [this] {
    const test::HostCode code_of_host;
    ++events_;
    say("key");
    const std::uint64_t pauses = gates_.pauses();
    const TimePoint before = clock_.now();
    run_pending(place_of(Callback::model_call));
    paused_by_key_ = gates_.pauses() != pauses;
    late_by_key_ = clock_.now() != before;
    throw_if_due();
  };
  host.fails = [this](bool begins) { return network_->faults.of_transfer(begins); };
  host.on_retry = [this](const RetryNotice& notice) {
    const test::HostCode code_of_host;
    ++events_;
    say("retry " + std::string(notice.agent_id) + ' ' + std::to_string(notice.route) + ' ' +
        std::to_string(notice.next_route) + ' ' + std::to_string(notice.delay.count()) + ' ' +
        std::string(to_string(notice.error.code)));
    waits_.retries(notice.agent_id);
    run_pending(place_of(Callback::retry));
    throw_if_due();
  };
  host.on_begun = [this](const std::string& agent) {
    const test::HostCode code_of_host;
    if (killed_) return;
    transfer_rules_.begun(agent, paused_by_key_);
    budget_rules_.model_call_begins(agent, gates_.turn_of(agent));
    if (!late_by_key_) turn_rules_.model_call_begins(agent, gates_.turn_of(agent));
  };
  host.on_sent = [this](const Sent& sent) {
    const test::HostCode code_of_host;
    ++events_;
    say("sent " + std::to_string(sent.id) + ' ' + sent.agent + ' ' + sent.provider + ' ' +
        hash_of(sent.body));
    counts_.add("sent to " + sent.provider);
    if (killed_) return;
    transfer_rules_.sent(sent, cuts_later_);
    verdict_.require(sent.body.find(secret) == std::string::npos, "G11",
                     "a request of " + sent.agent + " has a word of a stop");
  };
  host.on_end = [this](const Ended& ended) {
    const test::HostCode code_of_host;
    ++events_;
    const std::string how = std::string(to_string(ended.end.code)) + ' ' + std::to_string(ended.end.status);
    say("transfer " + std::to_string(ended.id) + " ends " + how + (ended.arrived ? " whole" : ""));
    counts_.add("transfer " + how);
    if (!killed_) transfer_rules_.ended(ended);
  };
  return host;
}

// In the text protocol.
void World::say_blocks(ModelServer& server, const std::string& agent, std::uint32_t n, std::uint32_t form) {
  const WrittenCalls written = write_calls(tool_calls(n, agent), form);
  for (const std::string& piece : pieces_of(written.text, form % 7)) server.text(piece);
  block_rules_.said(agent, written);
}

// False: agents call no servers.
bool World::act_as_server(const Command& command) {
  if (command.act < Act::model_text || command.act > Act::server_garbage) return false;
  if (!run_->http) return command.act >= Act::server_sends;
  const test::HostCode host;
  SimTransfer* const transfer = run_->http->exchange(command.n[0]);
  if (transfer == nullptr) return true;
  ModelServer& server = run_->http->server(*transfer);
  const std::string agent = HttpModels::agent_of(*transfer);
  const auto [_, a, b] = command.n;
  std::uint32_t how = b;
  switch (command.act) {
    case Act::model_text:
      server.text("t" + std::to_string(++texts_) + ' ');
      break;
    case Act::model_reasoning:
      server.reasoning("r" + std::to_string(++texts_), a % 2 == 1);
      break;
    case Act::model_answers: {
      static constexpr std::array reasons = {FinishReason::complete, FinishReason::complete,
                                             FinishReason::complete, FinishReason::refusal};
      if (a % 8 != 7) server.text(a % 3 == 2 ? R"({"a":1})" : "an answer");
      server.answer_ends(reasons[b % reasons.size()], a / 8 % 4 != 3);
      how = b / 4;
      break;
    }
    case Act::model_calls: {
      const bool in_blocks = asks_for_blocks(transfer->request.body);
      if (in_blocks)
        say_blocks(server, agent, a, b / 4);
      else
        server.calls(tool_calls(a, agent));
      server.answer_ends(in_blocks ? FinishReason::complete : FinishReason::tool_calls, true);
      break;
    }
    case Act::model_is_cut: {
      static constexpr std::array reasons = {FinishReason::length, FinishReason::content_filter,
                                             FinishReason::other};
      if (a % 2 == 1 && asks_for_blocks(transfer->request.body))
        say_blocks(server, agent, a, b / 4);
      else if (a % 2 == 1)
        server.calls(tool_calls(a, agent));
      server.answer_ends(reasons[b % reasons.size()], true);
      how = b / 3;
      break;
    }
    case Act::model_fails:
    case Act::server_resets:
      server.breaks(a);
      break;
    case Act::server_errors:
      server.error(a);
      break;
    case Act::server_closes:
      server.closes();
      break;
    case Act::server_garbage:
      server.garbage(a);
      block_rules_.garbled(agent);
      break;
    default:  // server_sends: what waits
      how = a;
      break;
  }
  note(command, "sent");
  run_->http->flow(*transfer, how);
  return true;
}

void World::may_cut_later(const StopOptions& options) {
  cuts_later_ = cuts_later_ || options.cut != StopCut::all;
}

void World::check_transfers(bool after_poll) {
  if (!run_->http || !run_->tree || killed_ || tree_is_destroyed_) return;
  if (!cuts_later_) transfer_rules_.check_cut(*run_->http);
  if (after_poll) transfer_rules_.check_quiet(*run_->http, *run_->tree);
  if (!in_poll_ && depth_ == 0) transfer_rules_.check_slots(*run_->http, setup_);
}

}  // namespace agentcore::sim
