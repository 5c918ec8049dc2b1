#include "persist/mail_record.hpp"

#include "persist/deadline_fields.hpp"
#include "persist/json_fields.hpp"
#include "persist/record_text.hpp"

namespace agentcore::detail::persist {
namespace {

using std::chrono::milliseconds;

json part_json(const ContentPart& part) {
  json object = json::object();
  put(object, "url", part.url);
  put(object, "data", part.data);
  put(object, "media_type", part.media_type);
  put(object, "detail", part.detail);
  return object;
}

std::string parts_json(const std::vector<ContentPart>& parts) {
  json list = json::array();
  for (const ContentPart& part : parts) list.push_back(part_json(part));
  return list.dump(-1, ' ', false, json::error_handler_t::replace);
}

ContentPart read_part(const json& object) {
  ContentPart part;
  get(object, "url", part.url);
  get(object, "data", part.data);
  get(object, "media_type", part.media_type);
  get(object, "detail", part.detail);
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
  text.put("simulated", message.simulated);
  text.put("urgent", message.priority == MessagePriority::urgent);
  if (!message.parts.empty()) text.add_json("parts", parts_json(message.parts));
  if (record.deadline) add_deadline<milliseconds>(text, *record.deadline);
  return text.take();
}

MailRecord read_mail(std::string_view text) {
  const json object = parse_object(text);
  MailRecord record;
  object.at("id").get_to(record.id.value);
  object.at("text").get_to(record.message.text);
  get(object, "sender", record.message.sender);
  get(object, "kind", record.message.kind);
  get(object, "simulated", record.message.simulated);
  bool urgent = false;
  get(object, "urgent", urgent);
  record.message.priority = urgent ? MessagePriority::urgent : MessagePriority::normal;
  if (const auto parts = object.find("parts"); parts != object.end())
    for (const json& part : *parts) record.message.parts.push_back(read_part(part));
  record.deadline = read_deadline<milliseconds>(object);
  return record;
}

}  // namespace agentcore::detail::persist
