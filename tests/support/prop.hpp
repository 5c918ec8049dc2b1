// prop: a property checked by rapidcheck, reported by Catch2 2 or 3. (rapidcheck/catch.h wants Catch2 2.)
#pragma once

#include "support/catch.hpp"

#include <sstream>
#include <string>
#include <utility>

#include <rapidcheck.h>

// Checks `testable` (a callable whose parameters are generated, or that draws with `*rc::gen::...`) on 100
// generated cases, or by RC_PARAMS, and fails the running test with the smallest counterexample and the seed
// that reproduces it. `text` describes the property. Assert inside with RC_ASSERT: shrinking depends on it.
template <typename Testable>
void prop(const std::string& text, Testable&& testable) {
  rc::detail::TestMetadata metadata{text, text};
  const auto seed = rc::detail::configuration().testParams.seed;
  const auto result = rc::detail::checkTestable(std::forward<Testable>(testable), metadata);
  std::ostringstream report;
  rc::detail::printResultMessage(result, report);
  INFO(text << "\n" << report.str() << "\nagain with RC_PARAMS=\"seed=" << seed << "\"");
  CHECK(result.template is<rc::detail::SuccessResult>());
}
