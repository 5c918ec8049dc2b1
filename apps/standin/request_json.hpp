// Request bodies: how the JSON of each API is read.
#pragma once

#include "chat_call.hpp"

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace standin {

// Read the body, an object, into `call`; `limit` becomes the limit of the answer. nullopt when it is valid.
std::optional<ApiError> read_chat_json(const nlohmann::json& body, ChatCall& call, std::uint64_t& limit);
std::optional<ApiError> read_messages_json(const nlohmann::json& body, ChatCall& call, std::uint64_t& limit);

// What the bodies of both have: the messages, `model`, `stream` and `max_tokens`.
std::optional<ApiError> read_common(const nlohmann::json& body, ChatCall& call, std::uint64_t& limit);

ApiError bad_request(std::string param, std::string message);

}  // namespace standin
