// Fixture for the tests of tools: an owner of calls that records its notifications, and a loop to drive.
#pragma once

#include "loop/engine.hpp"
#include "support/catch.hpp"
#include "support/drive/unhurried.hpp"
#include "support/observe/host_code.hpp"
#include "tools/call_scope.hpp"

#include <agentcore/runtime.hpp>
#include <agentcore/tool.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace agentcore::test {

using namespace std::chrono_literals;

struct CallRecord final : detail::tools::CallOwner {
  struct Entry {
    ToolResult result;
    std::thread::id thread;
  };

  Errc refusal_of(const detail::tools::CallScope&) const noexcept override { return refusal; }
  SendResult delegate(const detail::tools::CallScope&, const Agent& to, bool, Message message,
                      SendOptions options) override {
    return to.send(std::move(message), std::move(options));
  }
  std::vector<std::string>* tool_children(const detail::tools::CallScope&) override { return nullptr; }
  void on_result(const detail::tools::CallScope& call, ToolResult result) override {
    const HostCode host;
    const bool first =
        results.emplace(call.operation.serial, Entry{std::move(result), std::this_thread::get_id()}).second;
    CHECK(first);
  }
  void on_progress(const detail::tools::CallScope&, std::string) override {}
  void on_ask(const detail::tools::CallScope&, Question, std::function<void(const Answer&)>) override {}

  Errc refusal = Errc::none;
  std::map<std::uint64_t, Entry> results;
};

struct ToolFixture {
  explicit ToolFixture(RuntimeOptions options = {})
      : runtime(std::make_unique<Runtime>(unhurried(std::move(options)))) {}

  struct Call {
    std::uint64_t serial;
    StopSource stop;
  };

  Call start(const Tool& tool, StopSource stop = {}) {
    auto scope = std::make_shared<detail::tools::CallScope>();
    scope->engine = detail::loop::engine_of(*runtime);
    scope->owner = &owner;
    scope->operation = {1, ++last_serial};
    scope->stop = stop.get_token();
    detail::tools::start_call(tool, nlohmann::json::object(),
                              detail::tools::make_completion(std::move(scope)));
    return {last_serial, std::move(stop)};
  }

  // Drives the loop until `condition` holds; false when it does not for half a minute.
  bool until(const std::function<bool()>& condition) {
    const auto give_up = std::chrono::steady_clock::now() + 30s;
    while (!condition() && std::chrono::steady_clock::now() < give_up) {
      if (detail::loop::engine_of(*runtime)->clock().runs_by_itself())
        runtime->run_for(2ms);
      else
        runtime->poll();
    }
    return condition();
  }

  bool has_result(const Call& call) const { return owner.results.count(call.serial) != 0; }

  const ToolResult& result_of(const Call& call) {
    REQUIRE(until([&] { return has_result(call); }));
    return owner.results.at(call.serial).result;
  }
  ToolResult run(const Tool& tool) { return result_of(start(tool)); }

  CallRecord owner;
  std::unique_ptr<Runtime> runtime;
  std::uint64_t last_serial = 0;
};

}  // namespace agentcore::test
