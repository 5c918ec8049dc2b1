// DetailReader: reads the `reasoning_details` in a message, or in a delta of one, of the OpenAI dialect.
#pragma once

#include "llm/dialects/wire_format.hpp"

#include <string>
#include <vector>

#include <simdjson.h>

namespace agentcore::detail::llm {

class DetailReader {
 public:
  // `details`: receives the entries; `words`: receives their text. `repair`: a buffer for a text that
  // simdjson refuses. `broken` becomes true for an invalid string.
  DetailReader(std::vector<ReasoningDetail>& details, std::string& words, std::string& repair, bool& broken)
      : details_(details), words_(words), repair_(repair), broken_(broken) {}

  // An entry is an object with a type; any other value, and an object with more than max_detail_members, is
  // skipped. `whole`: the list is that of a message, whose entries are not in pieces.
  void read_list(simdjson::ondemand::value value, bool whole, AnswerObject& object);

 private:
  void read_entry(simdjson::ondemand::object fields, bool whole);
  std::string read_json(simdjson::ondemand::value& value, bool shown, std::string& words, CutPair& cut);

  std::vector<ReasoningDetail>& details_;
  std::string& words_;
  CutPair cut_;  // at the ends of words_
  std::string& repair_;
  bool& broken_;
};

}  // namespace agentcore::detail::llm
