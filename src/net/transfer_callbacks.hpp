// The functions that libcurl calls for a transfer.
#pragma once

#include <curl/curl.h>

namespace agentcore::detail::net {

class SocketTable;
class Transfer;

// Registers the callbacks at a transfer's easy handle. They run inside a call into libcurl, where handles can
// be neither removed nor added, and are the boundary at which every exception ends: the transfer fails then.
CURLcode set_callbacks(CURL* easy, Transfer& transfer, SocketTable& sockets) noexcept;

// The transfer that the callbacks of `easy` were registered for; null: there is none.
Transfer* transfer_of(CURL* easy) noexcept;

}  // namespace agentcore::detail::net
