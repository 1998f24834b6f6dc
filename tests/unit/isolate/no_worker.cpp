// A shared library that is no worker library: it lacks the entry points.
extern "C" [[gnu::visibility("default")]] int some_other_function() { return 0; }
