// For ThreadSanitizer alone: Debian's gRPC and Abseil are not built for it, so it does not see how they hand memory from thread to
// thread. What has a frame of theirs in its stack is left out, and so are the answers of the tests' own inspector: a test changes
// them when an answer has come, which only gRPC puts in order. What is behind the API (Board, Desk, the workers) is looked at
// by tests with threads of their own. Any other build ignores these.
// Source: compiler-rt/lib/tsan/rtl/tsan_suppressions.cpp, tsan_flags.inc

// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_options();

const char* __tsan_default_suppressions() {
  return "race:libgrpc\n"
         "race:libabsl\n"
         "race:rail::FakeInspector::\n";
}

const char* __tsan_default_options() {
  return "ignore_noninstrumented_modules=1";
}
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
