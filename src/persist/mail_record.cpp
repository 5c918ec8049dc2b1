#include "persist/mail_record.hpp"

#include "core/enum_names.hpp"
#include "persist/deadline_fields.hpp"
#include "persist/json_fields.hpp"
#include "persist/record_text.hpp"

namespace agentcore::detail::persist {
namespace {

using std::chrono::milliseconds;

std::string part_json(const ContentPart& part) {
  RecordText text;
  text.put("url", part.url);
  text.put("data", part.data);
  text.put("media_type", part.media_type);
  text.put("detail", part.detail);
  if (part.kind != ContentPart::Kind::image) text.add("kind", to_string(part.kind));
  text.put("name", part.name);
  return text.take();
}

ContentPart read_part(const json& object) {
  if (!object.is_object()) refuse_field("parts", "has an entry that is not an object");
  ContentPart part;
  get(object, "url", part.url);
  get(object, "data", part.data);
  get(object, "media_type", part.media_type);
  get(object, "detail", part.detail);
  get(object, "name", part.name);
  std::string kind;
  get(object, "kind", kind);
  if (kind.empty()) return part;
  const auto known = core::value_of<ContentPart::Kind>(kind);
  if (!known) refuse_field("kind", "is not image, document or audio");
  part.kind = *known;
  return part;
}

}  // namespace

std::string to_json(const MailRecord& record) {
  const Message& message = record.message;
  RecordText text;
  text.add("id", record.id.value);
  text.add("text", std::string_view(message.text));
  text.put("sender", message.sender);
  text.put("kind", message.kind);
  text.put("simulated", record.simulated);
  text.put("urgent", message.priority == MessagePriority::urgent);
  if (!message.parts.empty()) text.add_json("parts", RecordText::array(message.parts, part_json));
  if (record.deadline) add_deadline<milliseconds>(text, *record.deadline);
  text.put("begun", record.begun);
  return text.take();
}

MailRecord read_mail(std::string_view text) {
  const ParsedRecord parsed(text);
  const json& object = *parsed;
  MailRecord record;
  need(object, "id", record.id.value);
  need(object, "text", record.message.text);
  get(object, "sender", record.message.sender);
  get(object, "kind", record.message.kind);
  get(object, "simulated", record.simulated);
  bool urgent = false;
  get(object, "urgent", urgent);
  record.message.priority = urgent ? MessagePriority::urgent : MessagePriority::normal;
  get_each(object, "parts", [&](const json& part) { record.message.parts.push_back(read_part(part)); });
  record.deadline = read_deadline<milliseconds>(object);
  get(object, "begun", record.begun);
  return record;
}

}  // namespace agentcore::detail::persist
