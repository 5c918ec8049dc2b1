// GlibLoop: drives a Runtime from GLib's main loop (2.58 or newer), and so from that of GTK.
#pragma once

#include <agentcore/error.hpp>
#include <agentcore/loop_attachment.hpp>

#include <memory>
#include <utility>

#include <glib-unix.h>
#include <glib.h>

namespace agentcore::adapters {

/// Drives a Runtime from a GMainContext.
///
///     GMainLoop* loop = g_main_loop_new(nullptr, FALSE);
///     agentcore::Runtime runtime;
///     agentcore::adapters::GlibLoop attached{nullptr, runtime};  // the default context
///     g_main_loop_run(loop);
///
/// Threads. The thread that iterates the context is the loop thread.
///
/// Lifetime. The destructor ends the adapter. It may be called in any callback, before and after the end of
/// the Runtime, and before and after the end of the context. The adapter does not keep the context alive.
///
/// Priorities. The source of the adapter has the priority G_PRIORITY_DEFAULT. If there is more work than
/// RuntimeOptions::poll_budget allows, it continues with G_PRIORITY_DEFAULT_IDLE, so that a window is drawn,
/// and idle functions are called, in between.
///
/// @loop_thread
class GlibLoop {
 public:
  /// Attaches `runtime` to `context`; null: to the default context. Throws std::system_error for the reasons
  /// that LoopAttachment::open_descriptor() names.
  GlibLoop(GMainContext* context, Runtime& runtime) {
    auto attachment = std::make_unique<LoopAttachment>(runtime);
    const int descriptor = attachment->open_descriptor();
    start(context, std::move(attachment), descriptor);
  }
  /// As the constructor, for hosts without exceptions. Errors: those of
  /// LoopAttachment::try_open_descriptor().
  static Result<std::unique_ptr<GlibLoop>> make(GMainContext* context, Runtime& runtime) {
    auto attachment = std::make_unique<LoopAttachment>(runtime);
    const Result<int> descriptor = attachment->try_open_descriptor();
    if (!descriptor) return descriptor.error();
    std::unique_ptr<GlibLoop> made(new GlibLoop);
    made->start(context, std::move(attachment), *descriptor);
    return made;
  }
  /// Detaches. No poll() follows.
  ~GlibLoop() {
    g_source_destroy(source_);
    g_source_unref(source_);
  }
  GlibLoop(const GlibLoop&) = delete;
  GlibLoop& operator=(const GlibLoop&) = delete;

 private:
  GlibLoop() = default;

  // The source owns the attachment.
  void start(GMainContext* context, std::unique_ptr<LoopAttachment> attachment, int descriptor) {
    source_ = g_unix_fd_source_new(descriptor, G_IO_IN);
    g_source_set_callback(source_, G_SOURCE_FUNC(on_readable), attachment.release(),
                          [](gpointer data) { delete static_cast<LoopAttachment*>(data); });
    g_source_attach(source_, context);
  }

  // GLib keeps the source and its data until this function has returned.
  static gboolean on_readable(gint, GIOCondition, gpointer data) {
    auto* const attachment = static_cast<LoopAttachment*>(data);
    const bool more = attachment->poll();
    if (!attachment->is_attached()) return G_SOURCE_REMOVE;
    GSource* const source = g_main_current_source();
    const gint priority = more ? G_PRIORITY_DEFAULT_IDLE : G_PRIORITY_DEFAULT;
    if (!g_source_is_destroyed(source) && g_source_get_priority(source) != priority)
      g_source_set_priority(source, priority);
    return G_SOURCE_CONTINUE;
  }

  GSource* source_ = nullptr;
};

}  // namespace agentcore::adapters
