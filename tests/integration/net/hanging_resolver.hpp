// A name that does not resolve until it is told to: "hangs.test".
#pragma once

namespace agentcore::test {

// While one lives, looking up "hangs.test" blocks its thread; with its end, the look-up fails.
class HangingResolver {
 public:
  HangingResolver();
  ~HangingResolver();
  HangingResolver(const HangingResolver&) = delete;
  HangingResolver& operator=(const HangingResolver&) = delete;

  // Blocks until that many threads hang in it.
  void wait_for(int threads);
  // Lets them go, and blocks until they have ended.
  void release();
};

}  // namespace agentcore::test
