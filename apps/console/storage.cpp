// The files of a Host: the store and the receipts.
#include "console/host.hpp"

#include <agentcore/receipt_file.hpp>
#include <agentcore/sqlite_store.hpp>

#include <stdexcept>
#include <utility>

namespace console_app {

void Host::open_receipts(const std::string& path) {
  auto file = agentcore::ReceiptFile::open(path);
  if (!file) throw std::runtime_error("--receipts: " + file.error().message);
  receipts_ = *std::move(file);
}

void Host::restore(const std::string& path, bool secure_delete) {
  auto store = agentcore::SqliteStore::open(path, {.secure_delete = secure_delete});
  if (!store) throw std::runtime_error("--store: " + store.error().message);
  store_ = *std::move(store);
  const auto restored = tree_->restore(store_, {.code = code_});
  if (!restored) throw std::runtime_error("--store: " + restored.error().message);
}

}  // namespace console_app
