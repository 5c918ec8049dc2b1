// The open questions of all agents to people. An approval is a question, too: may this tool call run?
#pragma once

#include "console/top/json_fields.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace console_app::top {

struct Question {
  std::string id = {};
  bool is_approval = false;
  std::string agent_id = {};
  std::string call_id = {};
  std::string tool = {};
  std::string text = {};  // of an approval: the arguments of the call
  std::vector<std::string> choices = {};

  bool operator==(const Question&) const = default;
};

class Questions {
 public:
  // Takes the answer of GET /api/questions.
  void take(const Json& answer);
  void apply(const Json& event);
  void close(const std::string& id);

  // The oldest first.
  const std::vector<Question>& all() const { return open_; }
  // False: it is closed, or another question has its id now, because the console was started again.
  bool has(const Question& question) const;
  // Of an agent. Null: it asks nothing.
  const Question* oldest_of(std::string_view agent_id) const;
  std::size_t count_of(std::string_view agent_id) const;

 private:
  void add(const Json& question);

  std::vector<Question> open_ = {};
};

}  // namespace console_app::top
