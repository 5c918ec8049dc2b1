// back_up: a copy of a database that is in use.
#pragma once

#include "store/sqlite/database.hpp"

#include <agentcore/error.hpp>
#include <agentcore/sqlite_store.hpp>

#include <string>

namespace agentcore::detail::store {

// Copies the database as it is after the last commit, in one transaction of a reader: it waits for no writer,
// and no writer waits for it. `vfs` is that of the source. What is written meanwhile is a file of another
// name, which becomes `target` when it is complete and on the disk. Throws std::bad_alloc.
Result<void> back_up(Database& source, const std::string& target, const SqliteBackupOptions& options,
                     const std::string& vfs);

}  // namespace agentcore::detail::store
