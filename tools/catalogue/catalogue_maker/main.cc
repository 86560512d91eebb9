// make_table CATALOGUE SIZES OUT: turns the catalogue's text into the table
// the program carries; run by the build.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "catalogue_maker/source.h"
#include "onnx_tag/error.h"

namespace onnx_tag::catalogue {
namespace {

std::string ReadAll(const char* path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) Fail(ErrorKind::kInput, "{}: cannot be read", path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Each error with the file it is in.
template <typename Action>
auto In(const char* path, Action action) {
  try {
    return action();
  } catch (const Error& error) {
    throw error.In(path);
  }
}

void Make(const char* catalogue, const char* sizes, const char* out) {
  const std::string text = ReadAll(catalogue);
  Source source = In(catalogue, [&] { return ReadSource(text); });
  const std::string size_text = ReadAll(sizes);
  In(sizes, [&] { ReadSizes(size_text, source); });
  const std::string table = PackTable(source);
  std::ofstream file(out, std::ios::binary);
  file.write(table.data(), static_cast<std::streamsize>(table.size()));
  if (!file.flush()) Fail(ErrorKind::kOutput, "{}: cannot be written", out);
}

}  // namespace
}  // namespace onnx_tag::catalogue

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: make_table CATALOGUE SIZES OUT\n", stderr);
    return 2;
  }
  try {
    onnx_tag::catalogue::Make(argv[1], argv[2], argv[3]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_table: %s\n", error.what());
    return 1;
  }
  return 0;
}
