// The last messages of the selected agent, and the answer that is streaming.
#pragma once

#include "console/top/event_id.hpp"
#include "console/top/json_fields.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace console_app::top {

struct ShownMessage {
  std::string role;
  std::string text;
  std::string mark;  // "stopped", "steered", ...; empty: it is whole
};

struct LiveText {
  std::uint64_t turn = 0;  // 0: none streams
  std::uint64_t call = 0;
  std::string text = {};
  std::string reasoning = {};
  bool truncated = false;  // its beginning is missing
};

class Conversation {
 public:
  // Another agent is shown; "": none.
  void open(std::string agent_id);
  const std::string& agent_id() const { return agent_id_; }
  bool is_loaded() const { return loaded_; }
  // Why there are no messages.
  const std::string& problem() const { return problem_; }
  const std::vector<ShownMessage>& messages() const { return messages_; }
  std::uint64_t total() const { return total_; }
  const LiveText& live() const { return live_; }
  // What was shown of the last answer that was cut and is not among the messages, until the next one begins.
  const std::string& cut_answer() const { return cut_answer_; }

  // Before the server is asked for a page: text that arrives until then may be newer than the page.
  void begin_load();
  void take_page(const Json& page);
  void fail(std::string problem);
  // False: the event may have changed messages, and the page is to be loaded again.
  bool apply(const EventId& id, const Json& event);

 private:
  void add_text(const EventId& id, const Json& event);

  std::string agent_id_ = {};
  bool loading_ = false;
  bool loaded_ = false;
  std::string problem_ = {};
  std::vector<ShownMessage> messages_ = {};
  std::uint64_t total_ = 0;
  LiveText live_ = {};
  std::string cut_answer_ = {};
  EventId at_ = {};  // the page has what came up to here
  std::vector<std::pair<EventId, Json>> held_ = {};
};

}  // namespace console_app::top
