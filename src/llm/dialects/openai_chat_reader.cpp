// OpenAI chat completions: how an answer is read.
#include "llm/dialects/openai_chat_reader.hpp"

#include "llm/dialects/finish_word.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace agentcore::detail::llm {
namespace {

namespace json = simdjson::ondemand;

// True for the choice of index 0, and for one whose index is missing or no number. Mostly "index" is the
// first member, so that the search is short.
bool is_first(json::object& choice) {
  json::value index;
  std::uint64_t number = 0;
  const auto error = choice.find_field_unordered("index").get(index);
  if (error == simdjson::NO_SUCH_FIELD) return !choice.reset().error();
  if (error || (!index.get_uint64().get(number) && number != 0)) return false;
  return !choice.reset().error();
}

}  // namespace

void OpenAiChatReader::begin() {
  begin(delta_);
  begin(message_);
  message_.whole = true;
  failure_.reset();
}

void OpenAiChatReader::begin(Message& message) {
  message.tool_calls.clear();
  message.kept_reasoning.clear();
  message.details.clear();
  message.refusal.clear();
  message.refusal_cut = {};
  message.texts.clear();
}

bool OpenAiChatReader::read_member(const Key& key, json::value value, AnswerObject& object) {
  if (key.unsafe_is_equal("choices")) {
    read_choices(value, object);
  } else if (key.unsafe_is_equal("usage")) {
    read_usage(value, object);
  } else if (key.unsafe_is_equal("model")) {
    if (const auto name = text(value, model_)) object.model = *name;
    mark(value, ChunkShape::Use::model);
  } else if (key.unsafe_is_equal("x_groq")) {
    read_groq(value, object);
  } else {
    return false;
  }
  return true;
}

void OpenAiChatReader::finish(AnswerObject& object) {
  object.reasoning_pieces = delta_.kept_reasoning;
  object.other_items = other_items_;
  if (failure_ && !object.error) object.error = std::move(failure_);
  add_refusal(delta_, object);
}

// The refusal follows the content.
void OpenAiChatReader::add_refusal(Message& message, AnswerObject& object) {
  if (message.refusal.empty() && !message.refusal_cut) return;
  object.refused = true;
  message.content.assign(object.content);
  CutPair& cut = object.content_cut;
  if (message.content.empty() && !cut) {
    cut = message.refusal_cut;
  } else {  // the halves between both are of two texts
    append_pair(message.content, std::exchange(cut.high, message.refusal_cut.high), 0);
    std::string first;
    append_pair(first, 0, message.refusal_cut.low);
    message.refusal.insert(0, first);
  }
  if (!message.content.empty()) message.texts.push_back({.bytes = message.content.size()});
  message.texts.push_back(
      {.offset = message.content.size(), .bytes = message.refusal.size(), .refusal = true});
  message.content += message.refusal;
  object.content = message.content;
  object.texts = message.texts;
}

// Only the first choice is read, see is_first(). Further choices come if HttpLlmOptions::extra_body requests
// them.
void OpenAiChatReader::read_choices(json::value value, AnswerObject& object) {
  json::array choices;
  if (value.get_array().get(choices)) return;
  holds_choices_ = true;
  for (auto entry : choices) {
    json::object choice;
    if (entry.get_object().get(choice)) return;
    if (!is_first(choice)) continue;
    object.has_choice = true;
    read_choice(choice, object);
    return;
  }
}

void OpenAiChatReader::read_choice(json::object choice, AnswerObject& object) {
  for (auto entry : choice) {
    json::field field;
    if (std::move(entry).get(field)) return;
    const json::raw_json_string key = field.key();
    if (key.unsafe_is_equal("delta")) {
      read_message(field.value(), delta_, object);
    } else if (key.unsafe_is_equal("message")) {
      read_whole_message(field.value(), object);
    } else if (key.unsafe_is_equal("finish_reason")) {
      const auto reason = word(field.value());
      if (!reason || reason->empty()) continue;
      AnswerEnd end = answer_end_of(*reason);
      object.finish_reason = end.reason;
      failure_ = std::move(end.error);
    } else if (key.unsafe_is_equal("usage")) {
      read_usage(field.value(), object);  // Moonshot
    } else if (key.unsafe_is_equal("error")) {
      read_error(field.value(), object);  // OpenRouter, in the middle of a stream
    }
  }
}

// A message is the whole answer so far, beside a delta or after all of them; or the only form of it.
void OpenAiChatReader::read_whole_message(json::value value, AnswerObject& object) {
  said_ = AnswerObject{};
  begin(message_);
  read_message(value, message_, said_);
  add_refusal(message_, said_);
  object.refused = object.refused || said_.refused;
  object.tool_call_fault = std::max(object.tool_call_fault, said_.tool_call_fault);
  object.too_many_details = object.too_many_details || said_.too_many_details;
  snapshot_ = {.content = said_.content,
               .texts = said_.texts,
               .reasoning = said_.reasoning,
               .text_in_details = said_.text_in_details,
               .tool_calls = said_.tool_calls,
               .reasoning_pieces = message_.kept_reasoning,
               .reasoning_details = said_.reasoning_details};
  object.snapshot = &snapshot_;
}

void OpenAiChatReader::read_message(json::value value, Message& message, AnswerObject& object) {
  const bool whole = message.whole;
  json::object members;
  if (value.get_object().get(members)) return;
  for (auto entry : members) {
    json::field field;
    if (std::move(entry).get(field)) return;
    const json::raw_json_string key = field.key();
    if (key.unsafe_is_equal("content")) {
      read_content(field.value(), message, object);
    } else if (key.unsafe_is_equal("tool_calls")) {
      tool_call_reader(message).read_list(field.value(), whole, object);
    } else if (key.unsafe_is_equal("function_call")) {
      tool_call_reader(message).read_single(field.value(), whole, object);
    } else if (key.unsafe_is_equal("reasoning_content")) {
      read_reasoning(field.value(), true, message, object);
    } else if (key.unsafe_is_equal("reasoning")) {
      read_reasoning(field.value(), false, message, object);
    } else if (key.unsafe_is_equal("reasoning_details")) {
      detail_reader(message).read_list(field.value(), whole, object);
    } else if (key.unsafe_is_equal("extra_content")) {
      keep_extra(json_of(field.value()), message);
    } else if (key.unsafe_is_equal("images") || key.unsafe_is_equal("audio")) {
      note_other(key.unsafe_is_equal("audio") ? "audio" : "images", field.value());
    } else if (key.unsafe_is_equal("refusal")) {
      if (whole)
        message.refusal = word(field.value()).value_or("");
      else
        message.refusal = piece(field.value(), repaired_word_, message.refusal_cut).value_or("");
    }
  }
}

// Gemini puts the signature of an answer without calls into extra_content of its last chunk; in other chunks
// that member only marks reasoning. Kept without a check: the JSON is parsed when it is given back.
void OpenAiChatReader::keep_extra(std::string_view extra, Message& message) {
  if (!extra.starts_with('{') || extra.find("\"thought_signature\"") == std::string_view::npos) return;
  message.kept_reasoning.push_back(
      {.index = UINT64_MAX, .block = R"({"extra_content":)" + std::string(extra) + "}", .of_message = true});
}

// Notes items of an answer other than text and calls. Null and [] hold nothing.
void OpenAiChatReader::note_other(const char* name, json::value value) {
  const std::string_view text = json_of(value);
  if (text.starts_with('{') || (text.starts_with('[') && text.find('{') != std::string_view::npos))
    note_other_item(name);
}

ToolCallReader OpenAiChatReader::tool_call_reader(Message& message) {
  return {message.tool_calls, message.kept_reasoning, other_items_, repaired_word_, broken_string_};
}

DetailReader OpenAiChatReader::detail_reader(Message& message) {
  return {message.details, message.words_in_details, repaired_word_, broken_string_};
}

// DeepSeek, llama.cpp and LM Studio send "reasoning_content", OpenRouter, Ollama and newer vLLM "reasoning",
// and some both. The first, also when it is empty, is `wanted_back`: DeepSeek refuses calls of tools without
// it. The second is only for servers whose rule names it.
void OpenAiChatReader::read_reasoning(json::value value, bool wanted_back, Message& message,
                                      AnswerObject& object) {
  // The view may point into the buffer.
  const bool said = !object.reasoning.empty() || object.reasoning_cut;
  if (said && !wanted_back) return;
  CutPair cut;
  std::string& buffer = said ? repaired_word_ : message.reasoning;
  const auto words = message.whole ? text(value, buffer) : piece(value, buffer, cut);
  if (!words) return;
  if (!said) object.reasoning = *words;
  if (!said) object.reasoning_cut = cut;
  message.kept_reasoning.push_back(
      {.index = 0, .text = std::string(*words), .of_field_reasoning = !wanted_back, .cut = cut});
}

// A text, or the parts of one (Mistral).
void OpenAiChatReader::read_content(json::value value, Message& message, AnswerObject& object) {
  mark(value, ChunkShape::Use::content);
  CutPair& cut = object.content_cut;
  cut = {};
  if (const auto words = message.whole ? text(value, message.content) : piece(value, message.content, cut)) {
    object.content = *words;
    return;
  }
  json::array parts;
  json::json_type type;
  if (value.type().get(type) || type != json::json_type::array || value.get_array().get(parts)) return;
  message.content.clear();
  message.reasoning_text.clear();
  message.content_cut = message.reasoning_cut = {};
  for (auto entry : parts) {
    json::object part;
    if (entry.get_object().get(part)) break;
    read_part(part, message);
  }
  if (message.whole) {
    end_pieces(message.content, message.content_cut);
    end_pieces(message.reasoning_text, message.reasoning_cut);
  }
  object.content = message.content;
  cut = message.content_cut;
  if (message.reasoning_text.empty() && !message.reasoning_cut) return;
  object.reasoning = message.reasoning_text;
  object.reasoning_cut = message.reasoning_cut;
}

// {"type": "text", "text": "..."}, or {"type": "thinking", "thinking": [{"type": "text", "text": "..."}]}.
void OpenAiChatReader::read_part(json::object part, Message& message) {
  for (auto entry : part) {
    json::field field;
    if (std::move(entry).get(field)) return;
    const json::raw_json_string key = field.key();
    if (key.unsafe_is_equal("text")) {
      CutPair cut;
      if (const auto words = piece(field.value(), repaired_word_, cut))
        append_piece(message.content, message.content_cut, *words, cut);
    } else if (key.unsafe_is_equal("thinking")) {
      json::array pieces;
      if (field.value().get_array().get(pieces)) return;
      for (auto entry_of_text : pieces) {
        json::value words;
        if (entry_of_text["text"].get(words)) continue;  // a reference
        CutPair cut;
        if (const auto text = piece(words, repaired_word_, cut))
          append_piece(message.reasoning_text, message.reasoning_cut, *text, cut);
      }
    }
  }
}

// {"id": ..., "usage": {...}} in the last chunk, or {"id": ..., "error": "..."}.
void OpenAiChatReader::read_groq(json::value value, AnswerObject& object) {
  json::object fields;
  if (value.get_object().get(fields)) return;
  for (auto entry : fields) {
    json::field field;
    if (std::move(entry).get(field)) return;
    if (field.key().unsafe_is_equal("usage")) {
      read_usage(field.value(), object);
    } else if (field.key().unsafe_is_equal("error")) {
      read_error(field.value(), object);
    }
  }
}

void OpenAiChatReader::read_usage(json::value value, AnswerObject& object) {
  json::object counts;
  if (value.get_object().get(counts)) return;
  UsageCounts usage;
  for (auto entry : counts) {
    json::field field;
    if (std::move(entry).get(field)) return;
    const json::raw_json_string key = field.key();
    if (key.unsafe_is_equal("prompt_tokens")) {
      usage.prompt = said_count(field.value());
    } else if (key.unsafe_is_equal("completion_tokens")) {
      usage.completion = said_count(field.value());
    } else if (key.unsafe_is_equal("input_tokens")) {  // gateways before other dialects
      if (!usage.prompt) usage.prompt = said_count(field.value());
    } else if (key.unsafe_is_equal("output_tokens")) {
      if (!usage.completion) usage.completion = said_count(field.value());
    } else if (key.unsafe_is_equal("total_tokens")) {
      usage.total = said_count(field.value());
    } else if (key.unsafe_is_equal("prompt_tokens_details")) {
      each_member(field.value(), [&usage](const json::raw_json_string& name, json::value count) {
        if (name.unsafe_is_equal("cached_tokens")) {
          usage.cache_read = std::max(usage.cache_read, said_count(count));
        } else if (name.unsafe_is_equal("cache_write_tokens")) {  // OpenRouter
          usage.cache_written = std::max(usage.cache_written, said_count(count));
        }
      });
    } else if (key.unsafe_is_equal("prompt_cache_hit_tokens") ||  // DeepSeek
               key.unsafe_is_equal("cached_tokens")) {            // Moonshot
      usage.cache_read = std::max(usage.cache_read, said_count(field.value()));
    } else if (key.unsafe_is_equal("cache_creation_input_tokens")) {  // LiteLLM
      usage.cache_written = std::max(usage.cache_written, said_count(field.value()));
    } else if (key.unsafe_is_equal("completion_tokens_details")) {
      usage.reasoning = detail_of(field.value(), "reasoning_tokens");
    } else if (key.unsafe_is_equal("cost")) {  // OpenRouter
      double cost = 0;
      if (!field.value().get_double().get(cost) && cost >= 0) object.cost = cost;
    }
  }
  if (!object.usage) object.usage.emplace();
  object.usage->merge(usage);  // Groq may send it twice in one object
}

}  // namespace agentcore::detail::llm
