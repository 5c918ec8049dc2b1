#include "loops/host_loop.hpp"

#include <agentcore/adapters/glib.hpp>

#include <utility>

namespace loops_test {

namespace {

class GlibHost final : public HostLoop {
 public:
  ~GlibHost() override {
    detach();
    close();
  }

  void attach(agentcore::Runtime& runtime) override {
    adapter_ = std::make_unique<agentcore::adapters::GlibLoop>(context_, runtime);
  }
  agentcore::Result<void> try_attach(agentcore::Runtime& runtime) override {
    return keep(adapter_, agentcore::adapters::GlibLoop::make(context_, runtime));
  }
  void detach() override { adapter_.reset(); }
  void turn() override { g_main_context_iteration(context_, TRUE); }
  void look() override { g_main_context_iteration(context_, FALSE); }
  // With the priority of idle functions, which wait for all others.
  void call_after(std::chrono::milliseconds delay, std::function<void()> function) override {
    GSource* const source =
        delay.count() == 0 ? g_idle_source_new() : g_timeout_source_new(static_cast<guint>(delay.count()));
    const auto call = [](gpointer data) -> gboolean {
      (*static_cast<std::function<void()>*>(data))();
      return G_SOURCE_REMOVE;
    };
    g_source_set_callback(source, call, new std::function(std::move(function)),
                          [](gpointer data) { delete static_cast<std::function<void()>*>(data); });
    g_source_attach(source, context_);
    g_source_unref(source);
  }
  void close() override {
    if (context_ != nullptr) g_main_context_unref(std::exchange(context_, nullptr));
  }

 private:
  GMainContext* context_ = g_main_context_new();
  std::unique_ptr<agentcore::adapters::GlibLoop> adapter_;
};

}  // namespace

std::unique_ptr<HostLoop> make_host_loop() {
  return std::make_unique<GlibHost>();
}

}  // namespace loops_test
