// main() of every test executable. Catch2 3 brings its own.
#if !__has_include(<catch2/catch_all.hpp>)
#define CATCH_CONFIG_MAIN
#include <cfloat>  // Catch2 2.13 uses DBL_MAX_10_EXP, and some standard libraries do not include it for others

#include <catch2/catch.hpp>
#endif
