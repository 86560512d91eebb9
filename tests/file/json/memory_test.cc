// What reading a document takes beside its text: at most three times the text,
// so that a file costs at most four times its size, whatever it holds.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "file/json/reader.h"
#include "support/sanitized.h"

namespace {

std::size_t held = 0;
std::size_t most_held = 0;
// Before each block, its size.
constexpr std::size_t kHead = 16;

}  // namespace

// All that this program allocates is counted.
void* operator new(std::size_t size) {
  auto* const block = static_cast<std::size_t*>(std::malloc(size + kHead));
  if (block == nullptr) throw std::bad_alloc();
  *block = size;
  held += size + kHead;
  most_held = std::max(most_held, held);
  return reinterpret_cast<char*>(block) + kHead;
}
void operator delete(void* memory) noexcept {
  if (memory == nullptr) return;
  char* const block = static_cast<char*>(memory) - kHead;
  held -= *reinterpret_cast<std::size_t*>(block) + kHead;
  std::free(block);
}
void operator delete(void* memory, std::size_t) noexcept {
  operator delete(memory);
}

namespace onnx_tag::json {
namespace {

std::string Repeated(std::string_view begin, std::string_view part,
                     std::string_view end) {
  std::string text(begin);
  while (text.size() < 500'000) text += part;
  return text.append(end);
}

std::string ManyKeys() {
  std::string text = "{";
  for (int i = 0; text.size() < 500'000; ++i) {
    text += fmt::format("\"{}\":1,", i);
  }
  return text + "\"last\":1}";
}

struct Document {
  std::string_view what;
  std::string text;
};

TEST(JsonMemory, IsBoundedByTheText) {
  if (test::kSanitized) GTEST_SKIP() << "the sanitizer has its own allocator";
  const std::vector<Document> documents = {
      {"numbers", Repeated("[", "1,", "1]")},
      {"empty lists", Repeated("[", "[],", "1]")},
      {"empty objects", Repeated("[", "{},", "1]")},
      {"empty strings", Repeated("[", "\"\",", "1]")},
      {"small objects", Repeated("[", "{\"a\":1,\"b\":{\"a\":1}},", "1]")},
      {"one string", Repeated("[\"", "\\n", "\"]")},
      {"deep lists", Repeated("", "[", "")},
      {"deep objects", Repeated("", "{\"a\":", "")},
      {"many keys", ManyKeys()},
  };
  for (const auto& [what, text] : documents) {
    const std::size_t before = held;
    most_held = held;
    try {
      Reader reader(text);
      reader.Skip();
    } catch (const Error&) {
      // What is refused must not take more, either.
    }
    constexpr std::size_t kAnyDocument = 64 << 10;
    EXPECT_LE(most_held - before, 3 * text.size() + kAnyDocument) << what;
  }
}

}  // namespace
}  // namespace onnx_tag::json
