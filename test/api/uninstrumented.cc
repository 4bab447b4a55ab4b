// For sanitizers alone. ThreadSanitizer: Debian's gRPC and Abseil are not built for it, so it does not see how they hand memory from thread to
// thread. What has a frame of theirs in its stack is left out, and so are the answers of the tests' own inspector: a test changes
// them when an answer has come, which only gRPC puts in order. What is behind the API (ViewPublisher, QuestionQueue, the workers) is looked at
// by tests with threads of their own. LeakSanitizer: gRPC ends connections on threads of its own, and the program may end before
// what OpenSSL holds of one is given back. Any other build ignores these.
// Source: compiler-rt/lib/tsan/rtl/tsan_suppressions.cpp, tsan_flags.inc; lib/lsan/lsan_common.cpp

// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_options();
extern "C" const char* __lsan_default_suppressions();

const char* __tsan_default_suppressions() {
  return "race:libgrpc\n"
         "race:libabsl\n"
         "race:rail::FakeInspector::\n";
}

const char* __tsan_default_options() {
  return "ignore_noninstrumented_modules=1";
}

const char* __lsan_default_suppressions() {
  return "leak:libcrypto\n";
}
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
