// ModelServer: the server's side of one exchange. What it says waits here until it flows into the transfer,
// in pieces of any size.
#pragma once

#include "sim/answer_form.hpp"
#include "sim/sim_transport.hpp"

#include <agentcore/clock.hpp>
#include <agentcore/provider.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::sim {

class ModelServer {
 public:
  // `provider`: whose rules it follows. `now`: for the dates that it sends.
  ModelServer(const Provider& provider, const SimTransfer& transfer, WallTime now);

  void text(const std::string& words);
  void reasoning(const std::string& words, bool is_signed);
  void calls(const std::vector<ToolCall>& calls);
  // The end of an answer. `closes`: the connection ends with it.
  void answer_ends(FinishReason reason, bool closes);
  // An error in one of the forms of providers, as the answer or within one that has begun.
  void error(std::uint32_t kind);
  // Bytes that no dialect has.
  void garbage(std::uint32_t kind);
  // No further byte: the connection ends in order, or breaks, at whatever stage it is.
  void closes();
  void breaks(std::uint32_t kind);

  // Moves what waits into the inbox of the transfer, all or a part of it.
  void flow(ServedTransport& transport, SimTransfer& transfer, std::uint32_t how);

  // Nothing more can be said; what was said may still wait.
  bool has_ended() const noexcept { return ended_; }
  // An answer was given an end and its usage; what it ends with may still wait.
  bool has_counted() const noexcept { return billed_; }
  // All bytes of such an answer have flowed.
  bool has_billed() const noexcept { return billed_ && waiting_.empty(); }
  const Usage& usage() const noexcept { return usage_; }

 private:
  void say(const std::string& bytes);
  void refuse(int status, std::string_view type, std::string_view code, std::string_view message);
  void end(detail::net::HttpEnd how);

  std::unique_ptr<AnswerForm> form_;
  bool stream_ = true;
  WallTime now_;
  Usage usage_;

  bool connects_ = true;  // the connection is still to be made
  std::optional<detail::net::HttpHead> head_;
  bool has_head_ = false;  // it has been sent
  std::string waiting_;
  std::optional<detail::net::HttpEnd> end_;
  bool ended_ = false;
  bool billed_ = false;
};

}  // namespace agentcore::sim
