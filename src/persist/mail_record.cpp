#include "persist/mail_record.hpp"

#include "core/enum_names.hpp"
#include "persist/fields.hpp"

#include <chrono>

namespace agentcore::detail::persist {

template <typename Io, Of<ContentPart> T>
void fields(Io& io, T& part) {
  io.field("url", part.url);
  io.field("data", part.data);
  io.field("media_type", part.media_type);
  io.field("detail", part.detail);
  std::string kind(part.kind == ContentPart::Kind::image ? "" : to_string(part.kind));
  io.field("kind", kind);
  io.field("name", part.name);
  if constexpr (Io::reads) {
    if (kind.empty()) return;
    const auto known = core::value_of<ContentPart::Kind>(kind);
    if (!known) refuse_field("kind", "is not image, document or audio");
    part.kind = *known;
  }
}

template <typename Io, Of<MailRecord> T>
void fields(Io& io, T& record) {
  auto& message = record.message;
  io.need("id", record.id.value);
  io.need("text", message.text);
  io.field("sender", message.sender);
  io.field("kind", message.kind);
  io.field("simulated", record.simulated);
  bool urgent = message.priority == MessagePriority::urgent;
  io.field("urgent", urgent);
  if constexpr (Io::reads) message.priority = urgent ? MessagePriority::urgent : MessagePriority::normal;
  io.list("parts", message.parts);
  io.template deadline<std::chrono::milliseconds>(record.deadline);
  io.field("begun", record.begun);
}

std::string to_json(const MailRecord& record) {
  return FieldWriter::json_of(record);
}

MailRecord read_mail(std::string_view text) {
  return record_of<MailRecord>(text);
}

}  // namespace agentcore::detail::persist
