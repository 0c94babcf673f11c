// Runs pieces of work on several threads of the library.
#pragma once

#include <cstdint>

namespace liquidtime {

// Call piece(context, index) for each index in 0…count-1, in any order, on at most `threads` threads and on at most as
// many as this process has cores.
void run_pieces(int64_t threads, int64_t count, void (*piece)(void*, int64_t), void* context);

}  // namespace liquidtime
