// SANITIZED: defined when a sanitizer checks memory. It has its own allocator, and makes everything slower.
// RACES_WATCHED: defined when a sanitizer checks threads.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#if defined(__SANITIZE_THREAD__)
#define RACES_WATCHED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RACES_WATCHED 1
#endif
#endif
