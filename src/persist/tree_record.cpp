#include "persist/tree_record.hpp"

#include "persist/json_fields.hpp"
#include "persist/record_text.hpp"

#include <agentcore/store.hpp>

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
  text.add("grants", record.grants);
  text.add("identity", std::string_view(record.identity));
  text.add("stopped", record.stopped);
  text.add("paused", record.paused);
  text.put("swept", record.swept);
  text.add("epoch", record.epoch);
  text.put("stop_unsettled", record.stop_unsettled);
  return text.take();
}

namespace {

// So that later numbers have room.
constexpr std::uint64_t max_key = RecordKey::max / 2;
constexpr std::uint64_t max_number = std::uint64_t{1} << 62;

void check_key(const char* name, std::uint64_t key) {
  if (key == 0 || key > max_key) refuse_field(name, "is out of range");
}
void check_number(const char* name, std::uint64_t number) {
  if (number > max_number) refuse_field(name, "is out of range");
}

bool is_identity(std::string_view text) noexcept {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

TreeRecord read_tree(std::string_view text) {
  const ParsedRecord parsed(text);
  const json& object = *parsed;
  TreeRecord record;
  need(object, "format", record.format);
  if (record.format > TreeRecord::format_now) return record;  // the other fields may have changed
  need(object, "next_key", record.next_key);
  need(object, "next_spec", record.next_spec);
  need(object, "next_segment", record.next_segment);
  need(object, "generation", record.generation);
  need(object, "sequence", record.sequence);
  get(object, "questions", record.questions);
  get(object, "grants", record.grants);
  get(object, "identity", record.identity);
  get(object, "epoch", record.epoch);
  get(object, "stop_unsettled", record.stop_unsettled);
  need(object, "stopped", record.stopped);
  need(object, "paused", record.paused);
  get(object, "swept", record.swept);
  check_key("next_key", record.next_key);
  check_key("next_spec", record.next_spec);
  check_key("next_segment", record.next_segment);
  check_number("questions", record.questions);
  check_number("grants", record.grants);
  check_number("epoch", record.epoch);
  if (!record.identity.empty() && !is_identity(record.identity))
    refuse_field("identity", "is not 32 digits of a hexadecimal number");
  return record;
}

}  // namespace agentcore::detail::persist
