// Routes: maps paths to handlers, and makes the answers that are ready at once.
#pragma once

#include "chat_call.hpp"
#include "http.hpp"
#include "options.hpp"
#include "record.hpp"

#include <optional>
#include <string>

namespace standin {

// The API of a request for the model, a POST to one of its paths; nullopt for any other request.
std::optional<Api> api_of(const HttpRequest& request) noexcept;

// The whole answer to any other request: models, health, records, stats, or 404 and 405.
std::string answer_plain(const HttpRequest& request, const Options& options, RecordLog& log);

// The answer to bytes that are not a request; announces that the connection will be closed.
std::string answer_error(const HttpError& error);

}  // namespace standin
