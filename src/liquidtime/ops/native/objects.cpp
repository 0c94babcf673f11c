// Checks whether Python objects are unchanged. Called with the interpreter lock held.
#include <cstdint>
#include <cstring>

#include "boundary.h"

namespace {

// Functions of Python's stable interface, set by objects.py.
struct Python {
  int (*next)(void* dict, intptr_t* position, void** key, void** value);  // PyDict_Next
  void* (*type)(void* object);                                            // PyObject_Type, a new reference
  void* (*dict)(void* object, void*);                                     // PyObject_GenericGetDict, a new reference
  void* (*slot)(void* type, int slot);                                    // PyType_GetSlot
  void (*release)(void* object);                                          // Py_DecRef
};

constexpr int slot_of_bases = 49;  // Py_tp_bases

bool is(const Python& python, void* reference, int64_t expected) {
  if (!reference) return false;
  python.release(reference);
  return reinterpret_cast<int64_t>(reference) == expected;
}

// Whether instances have the same types and dictionaries, and classes the same bases, as before: three words for each
// instance and two for each class; the words that follow are not read.
bool are_built_alike(const Python& python, const int64_t*& words, int64_t instances, int64_t classes) {
  for (int64_t k = 0; k < instances; ++k, words += 3) {
    void* object = reinterpret_cast<void*>(words[0]);
    if (!is(python, python.type(object), words[1]) || !is(python, python.dict(object, nullptr), words[2])) return false;
  }
  for (int64_t k = 0; k < classes; ++k, words += 2)
    if (python.slot(reinterpret_cast<void*>(words[0]), slot_of_bases) != reinterpret_cast<void*>(words[1])) return false;
  return true;
}

}  // namespace

// Whether instances have the same types and dictionaries, classes the same bases, and dictionaries the very same keys
// and values as before: for each instance three words, itself, its type and its dictionary; for each class itself and
// its bases; for each dictionary itself, its size, keys and values.
LT_EXPORT int lt_same(const Python* python, const int64_t* words, int64_t instances, int64_t classes, int64_t dicts) {
  if (!are_built_alike(*python, words, instances, classes)) return 0;
  for (int64_t k = 0; k < dicts; ++k) {
    void *dict = reinterpret_cast<void*>(words[0]), *key, *value;
    const int64_t count = words[1];
    intptr_t position = 0;
    int64_t at = 0;
    for (words += 2; python->next(dict, &position, &key, &value); ++at, words += 2)
      if (at == count || reinterpret_cast<int64_t>(key) != words[0] || reinterpret_cast<int64_t>(value) != words[1])
        return 0;
    if (at != count) return 0;
  }
  return 1;
}

// The same, but for each dictionary itself and the eight bytes at `version` in it, a number that no earlier state of
// any dictionary had.
LT_EXPORT int lt_same_versions(const Python* python, const int64_t* words, int64_t instances, int64_t classes, int64_t dicts,
                               int64_t version) {
  if (!are_built_alike(*python, words, instances, classes)) return 0;
  for (int64_t k = 0; k < dicts; ++k, words += 2)
    if (std::memcmp(reinterpret_cast<const char*>(words[0]) + version, words + 1, sizeof(int64_t))) return 0;
  return 1;
}
