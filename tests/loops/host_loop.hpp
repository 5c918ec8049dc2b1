// HostLoop: an event loop of another library, with the adapter that drives a Runtime from it.
#pragma once

#include <agentcore/error.hpp>
#include <agentcore/runtime.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

namespace loops_test {

// Each file in hosts/ implements this for one library; the tests know nothing else of it.
class HostLoop {
 public:
  virtual ~HostLoop() = default;

  // Makes the adapter, and destroys it. detach() may be called after close().
  virtual void attach(agentcore::Runtime& runtime) = 0;
  // The same by the make() of the adapter, which throws nothing.
  virtual agentcore::Result<void> try_attach(agentcore::Runtime& runtime) = 0;
  virtual void detach() = 0;

  // One turn: sleeps until something happens, and calls what is ready.
  virtual void turn() = 0;
  // The same without sleeping.
  virtual void look() = 0;

  // Runs until nothing is left that the loop waits for. Only for libraries whose loop ends then.
  virtual void run() {}

  // Has the library call `function` in a later turn, after `delay`.
  virtual void call_after(std::chrono::milliseconds delay, std::function<void()> function) = 0;

  // Destroys the loop of the library, as its manual says.
  virtual void close() = 0;
};

std::unique_ptr<HostLoop> make_host_loop();

// Keeps the adapter, if it was made.
template <typename Adapter>
agentcore::Result<void> keep(std::unique_ptr<Adapter>& adapter,
                             agentcore::Result<std::unique_ptr<Adapter>> made) {
  if (!made) return made.error();
  adapter = *std::move(made);
  return {};
}

}  // namespace loops_test
