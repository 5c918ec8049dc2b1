// ErrorReader: reads the errors of all dialects as facts, in each of their forms.
#pragma once

#include "llm/dialects/api_error.hpp"

#include <string>

#include <simdjson.h>

namespace agentcore::detail::llm {

class ErrorReader {
 public:
  using Key = simdjson::ondemand::raw_json_string;
  using Value = simdjson::ondemand::value;

  // `repair`: a buffer for a text that simdjson refuses. `broken` becomes true for an invalid string.
  ErrorReader(std::string& repair, bool& broken) : repair_(repair), broken_(broken) {}

  // The value of a member "error": a text, an object, or a list. False: it says nothing, like null, false, ""
  // and {}. The message stays empty if the error has none: see finish().
  bool read(Value value, ApiError& error);
  // A member of an object that is an error itself: {"message": ..., "type": ..., "code": ...}, {"detail":
  // ...}, and others. False: it has no such name, and was not read.
  bool read_member(const Key& key, Value value, ApiError& error);
  // A code, a type or a status: a text or a number.
  void read_code(Value value, ApiError& error);
  // Completes an error with what stands around it in its object. An error without a message gets one. The
  // message of `around` is moved, because it may be as large as an answer.
  static void finish(ApiError& error, ApiError& around);

 private:
  bool read_object(Value value, ApiError& error);
  void read_message(Value value, ApiError& error);
  bool read_words(Value value, ApiError& error);
  void read_list(simdjson::ondemand::array& list, ApiError& error);
  std::string text_of_entry(Value value);
  std::string place_in(Value value);
  void read_metadata(Value value, ApiError& error);
  void read_details(Value value, ApiError& error);
  void read_base(Value value, ApiError& error);

  std::string& repair_;
  bool& broken_;
};

}  // namespace agentcore::detail::llm
