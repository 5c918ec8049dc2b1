#include "persist/tree_record.hpp"

#include "persist/fields.hpp"

#include <agentcore/store.hpp>

namespace agentcore::detail::persist {

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

template <typename Io, Of<TreeRecord> T>
void fields(Io& io, T& record) {
  io.need("format", record.format);
  if (record.format > TreeRecord::format_now) return;  // the other fields may have changed
  io.need("next_key", record.next_key);
  io.need("next_spec", record.next_spec);
  io.need("next_segment", record.next_segment);
  io.need("generation", record.generation);
  io.need("sequence", record.sequence);
  io.always("questions", record.questions);
  io.always("grants", record.grants);
  io.always("identity", record.identity);
  io.need("stopped", record.stopped);
  io.need("paused", record.paused);
  io.field("swept", record.swept);
  io.always("epoch", record.epoch);
  io.field("stop_unsettled", record.stop_unsettled);
}

std::string to_json(const TreeRecord& record) {
  return FieldWriter::json_of(record);
}

TreeRecord read_tree(std::string_view text) {
  auto record = record_of<TreeRecord>(text);
  if (record.format > TreeRecord::format_now) return record;
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
