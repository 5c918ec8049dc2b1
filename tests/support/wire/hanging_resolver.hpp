// A name whose resolution hangs until the test releases it: "hangs.test".
#pragma once

namespace agentcore::test {

// While an object exists, looking up "hangs.test" blocks its thread; its destructor makes the look-up fail.
class HangingResolver {
 public:
  HangingResolver();
  ~HangingResolver();
  HangingResolver(const HangingResolver&) = delete;
  HangingResolver& operator=(const HangingResolver&) = delete;

  // Blocks until that many threads hang in a look-up.
  void wait_for(int threads);
  // Releases the threads, and blocks until they have ended.
  void release();
};

}  // namespace agentcore::test
