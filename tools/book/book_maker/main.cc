// make_book RECIPES OUT: turns the book's text into the tables the program
// carries; run by the build.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "book_maker/book_source.h"
#include "onnx_tag/error.h"

namespace onnx_tag::recipes {
namespace {

void Make(const char* recipes, const char* out) {
  std::ifstream in(recipes, std::ios::binary);
  if (!in) Fail(ErrorKind::kInput, "{}: cannot be read", recipes);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  std::string table;
  try {
    table = PackBook(ReadBook(text));
  } catch (const Error& error) {
    throw error.In(recipes);
  }
  std::ofstream file(out, std::ios::binary);
  file.write(table.data(), static_cast<std::streamsize>(table.size()));
  if (!file.flush()) Fail(ErrorKind::kOutput, "{}: cannot be written", out);
}

}  // namespace
}  // namespace onnx_tag::recipes

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: make_book RECIPES OUT\n", stderr);
    return 2;
  }
  try {
    onnx_tag::recipes::Make(argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_book: %s\n", error.what());
    return 1;
  }
  return 0;
}
