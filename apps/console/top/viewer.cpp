#include "console/top/viewer.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace console_app::top {
namespace {

const Json with_reason = {{"reason", "agentcore-console top"}};

// Why a verb had no effect, in words.
std::string reason_in(const Json& answer) {
  std::string reason = text_in(answer, "reason");
  std::replace(reason.begin(), reason.end(), '_', ' ');
  return reason.empty() ? "there was nothing to do" : reason;
}

}  // namespace

Viewer::Viewer(Api& api, Agents& agents, Questions& questions, Conversation& conversation, Follower& follower)
    : api_(api),
      agents_(agents),
      questions_(questions),
      conversation_(conversation),
      follower_(follower),
      answering_(api, questions, prompt_, note_) {
}

Frame Viewer::frame(Size size) {
  const Picture picture{.agents = agents_,
                        .questions = questions_,
                        .conversation = conversation_,
                        .url = api_.url(),
                        .connected = follower_.is_connected(),
                        .problem = follower_.problem(),
                        .prompt = prompt_,
                        .note = note_};
  return draw(picture, size, view_);
}

bool Viewer::press(KeyPress key) {
  if (prompt_.kind == PromptKind::none) return browse(key);
  if (prompt_.is_of_question())
    scroll_or_answer(key);
  else if (prompt_.takes_text())
    type(key);
  else
    confirm(key);
  return true;
}

bool Viewer::browse(KeyPress key) {
  if (key.key == Key::enter) key = {Key::character, 'm'};
  if (key.key != Key::character) {
    navigate(key.key);
    return true;
  }
  if (key.character == 'q') return false;
  note_ = {};
  if (key.character == '/') {
    open(PromptKind::search);
  } else if (key.character == 'n' && !last_search_.empty()) {
    search(last_search_);
  } else if (key.character == 'a') {
    open_question();
  } else if (const AgentNode* const agent = agents_.selected()) {
    use_verb(key.character, *agent);
  }
  return true;
}

void Viewer::navigate(Key key) {
  const std::size_t row = agents_.selected_row(), page = std::max<std::size_t>(view_.tree_height, 2) - 1;
  if (key == Key::up) agents_.select(row - std::min<std::size_t>(row, 1));
  if (key == Key::down) agents_.select(row + 1);
  if (key == Key::page_up) agents_.select(row - std::min(row, page));
  if (key == Key::page_down) agents_.select(row + page);
  if (key == Key::home) agents_.select(0);
  if (key == Key::end) agents_.select(agents_.size());
  if (key == Key::left) agents_.collapse();
  if (key == Key::right) agents_.expand();
  if (key == Key::escape) note_ = {};
  follower_.follow_selected();
}

void Viewer::use_verb(char32_t key, const AgentNode& agent) {
  const std::string& id = agent.id;
  if (key == 'm') open(PromptKind::message);
  if (key == 's') open(PromptKind::stop);
  if (key == 'd') open(PromptKind::erase);
  if (key == 'i') call("POST", id, "interrupt", "interrupted", "the turn was interrupted");
  if (key == 'x') call("POST", id, "abort", "aborted", "the model call was stopped");
  if (key == 'r') call("POST", id, "resume", "resumed", "resumed");
  if (key == 'p' && agent.paused) call("POST", id, "unpause", "unpaused", "unpaused");
  if (key == 'p' && !agent.paused) call("POST", id, "pause", "paused", "paused");
}

void Viewer::call(const std::string& method, const std::string& id, const std::string& verb,
                  const char* field, std::string done) {
  const std::string path =
      Api::agent_path(id) + (verb.empty() ? "?reason=agentcore-console%20top" : "/" + verb);
  const bool has_reason = verb == "stop" || verb == "interrupt" || verb == "pause";
  api_.send(method, path, has_reason ? with_reason : Json(nullptr),
            [this, id, field, done = std::move(done)](const Answer& answer) {
              follower_.refresh();
              if (!answer.ok())
                note_ = {id + ": " + answer.problem, true};
              else if (flag_in(answer.json, field))
                note_ = {id + ": " + done, false};
              else if (const std::string by = text_in(answer.json, "pausedBy"); !by.empty())
                note_ = {id + ": still paused by " + by, false};
              else
                note_ = {id + ": no effect: " + reason_in(answer.json), false};
            });
}

// ---- prompts ----

void Viewer::open(PromptKind kind) {
  const AgentNode* const agent = agents_.selected();
  prompt_ = {.kind = kind};
  ++prompts_;
  if (agent != nullptr) prompt_.agent_id = agent->id;
  if (kind == PromptKind::message) prompt_.line = LineEditor(std::exchange(drafts_[prompt_.agent_id], {}));
  if (!prompt_.takes_text()) ask_reach();
}

// The oldest one of the selected agent, or of all.
void Viewer::open_question() {
  const AgentNode* const agent = agents_.selected();
  const Question* question = agent != nullptr ? questions_.oldest_of(agent->id) : nullptr;
  if (question == nullptr && !questions_.all().empty()) question = &questions_.all().front();
  if (question == nullptr) {
    note_ = {"there is no open question", false};
    return;
  }
  agents_.select(question->agent_id);
  follower_.follow_selected();
  view_.question_row = 0;
  ++prompts_;
  answering_.open(*question);
}

void Viewer::scroll_or_answer(KeyPress key) {
  std::size_t& row = view_.question_row;
  const std::size_t page = std::max<std::size_t>(view_.question_height, 2) - 1;
  if (key.key == Key::up)
    row -= std::min<std::size_t>(row, 1);
  else if (key.key == Key::down)
    ++row;
  else if (key.key == Key::page_up)
    row -= std::min(row, page);
  else if (key.key == Key::page_down)
    row += page;
  else
    answering_.press(key);
}

// The question is on the screen at once: a stop need not wait for this answer.
void Viewer::ask_reach() {
  api_.get(Api::agent_path(prompt_.agent_id) + "/reach", [this, prompt = prompts_](const Answer& answer) {
    if (prompt != prompts_ || prompt_.takes_text() || !answer.ok()) return;
    const std::uint64_t agents = number_in(answer.json, "agents");
    prompt_.reach = fmt::format("{} agent{}", agents, agents == 1 ? "" : "s");
  });
}

void Viewer::confirm(KeyPress key) {
  const bool no = key.key == Key::escape || key.character == 'n' || key.character == 'q';
  const bool yes = key.key == Key::character && key.character == 'y';
  if (!yes && !no) return;
  const Prompt asked = std::exchange(prompt_, {});
  ++prompts_;
  if (no)
    note_ = {"nothing was done", false};
  else if (asked.kind == PromptKind::stop)
    call("POST", asked.agent_id, "stop", "stopped", "stopped");
  else
    call("DELETE", asked.agent_id, "", "terminated", "deleted");
}

void Viewer::type(KeyPress key) {
  if (key.key == Key::enter) return finish_typing();
  if (key.key != Key::escape) return prompt_.line.press(key);
  if (prompt_.kind == PromptKind::message) drafts_[prompt_.agent_id] = prompt_.line.text();
  prompt_ = {};
}

void Viewer::finish_typing() {
  const Prompt typed = std::exchange(prompt_, {});
  const std::string text = typed.line.text();
  if (text.find_first_not_of(' ') == std::string::npos) return;
  if (typed.kind == PromptKind::search)
    search(text);
  else
    write(typed.agent_id, text);
}

void Viewer::search(const std::string& text) {
  last_search_ = text;
  if (agents_.search(text))
    note_ = {"n: the next one with \"" + text + "\"", false};
  else
    note_ = {"no agent has \"" + text + "\" in its name", true};
  follower_.follow_selected();
}

// While a turn runs, the message goes into it.
void Viewer::write(const std::string& id, const std::string& text) {
  const AgentNode* const agent = agents_.find(id);
  const bool steers = agent != nullptr && agent->is_running();
  api_.send("POST", Api::agent_path(id) + (steers ? "/steer" : "/send"), {{"text", text}},
            [this, id, text, steers](const Answer& answer) {
              follower_.refresh();
              if (answer.ok()) {
                note_ = {id + (steers ? ": the message goes into the running turn" : ": sent"), false};
                return;
              }
              note_ = {id + ": " + answer.problem, true};
              drafts_[id] = text;
            });
}

}  // namespace console_app::top
