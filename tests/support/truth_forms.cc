// truth_forms OUT_DIR: tests/truth with a file for every form, for programs
// that cannot make them.
#include <fmt/core.h>

#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "support/truth.h"

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  using namespace onnx_tag::test;
  if (argc != 2) {
    fmt::print(stderr, "usage: truth_forms OUT_DIR\n");
    return 2;
  }
  try {
    for (const TruthFile& file : FindTruth(ONNX_TAG_TRUTH)) {
      const fs::path folder = fs::path(argv[1]) / file.model;
      fs::create_directories(folder);
      const auto always = fs::copy_options::overwrite_existing;
      if (!file.hierarchy.empty()) {
        fs::copy_file(file.hierarchy, folder / file.hierarchy.filename(),
                      always);
      }
      fs::copy_file(file.truth, folder / (file.variant + ".truth.tsv"), always);
      const std::string bytes = file.Bytes();
      std::ofstream out(folder / (file.variant + ".onnx"), std::ios::binary);
      if (!out.write(bytes.data(),
                     static_cast<std::streamsize>(bytes.size()))) {
        throw std::runtime_error("cannot write below " + folder.string());
      }
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "truth_forms: {}\n", error.what());
    return 1;
  }
  return 0;
}
