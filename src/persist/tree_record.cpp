#include "persist/tree_record.hpp"

#include "persist/json_fields.hpp"
#include "persist/record_text.hpp"

namespace agentcore::detail::persist {

std::string to_json(const TreeRecord& record) {
  RecordText text;
  text.add("format", record.format);
  text.add("next_key", record.next_key);
  text.add("next_spec", record.next_spec);
  text.add("next_segment", record.next_segment);
  text.add("generation", record.generation);
  text.add("sequence", record.sequence);
  text.add("questions", record.questions);
  text.add("identity", std::string_view(record.identity));
  text.add("stopped", record.stopped);
  text.add("paused", record.paused);
  return text.take();
}

TreeRecord read_tree(std::string_view text) {
  const json object = parse_object(text);
  TreeRecord record;
  object.at("format").get_to(record.format);
  if (record.format > TreeRecord::format_now) return record;  // the other fields may have changed
  object.at("next_key").get_to(record.next_key);
  object.at("next_spec").get_to(record.next_spec);
  object.at("next_segment").get_to(record.next_segment);
  object.at("generation").get_to(record.generation);
  object.at("sequence").get_to(record.sequence);
  get(object, "questions", record.questions);
  get(object, "identity", record.identity);
  object.at("stopped").get_to(record.stopped);
  object.at("paused").get_to(record.paused);
  return record;
}

}  // namespace agentcore::detail::persist
