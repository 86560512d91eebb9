// ONNX's own checker must say of a tagged model what it says of the original.
//
//   onnx_checker_test ONNX_TAG WORK_DIR FOLDER...
//
// Tags every *.onnx below the folders with the program ONNX_TAG. The checker is
// that of ONNX 1.12, older than the field our tags are in: it must pass over
// them. A program of its own, because libonnx brings its own protobuf classes.
#include <onnx/checker.h>
#include <onnx/onnx_pb.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

bool Tag(const std::string& tool, const fs::path& model, const fs::path& out) {
  std::vector<std::string> words = {
      tool,     "tag",  "--quiet", "--force",    "--no-sidecar",
      "--data", "keep", "-o",      out.string(), model.string()};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  if (posix_spawn(&child, tool.c_str(), nullptr, nullptr, argv.data(),
                  environ) != 0) {
    return false;
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// "" where the checker accepts the file.
std::string Verdict(const fs::path& path) {
  onnx::ModelProto model;
  std::ifstream in(path, std::ios::binary);
  if (!model.ParseFromIstream(&in)) return "protobuf cannot parse it";
  try {
    onnx::checker::check_model(model);
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

std::vector<fs::path> Models(const fs::path& folder) {
  std::vector<fs::path> models;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".onnx") models.push_back(entry.path());
  }
  std::sort(models.begin(), models.end());
  return models;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr,
                 "usage: onnx_checker_test ONNX_TAG WORK_DIR FOLDER...\n");
    return 2;
  }
  const fs::path tagged = fs::path(argv[2]) / "tagged.onnx";
  fs::create_directories(tagged.parent_path());
  int checked = 0, valid = 0, failed = 0;
  const auto fail = [&](const fs::path& model, const std::string& why) {
    std::printf("FAIL %s: %s\n", model.c_str(), why.c_str());
    ++failed;
  };
  for (int i = 3; i < argc; ++i) {
    for (const fs::path& model : Models(argv[i])) {
      ++checked;
      if (!Tag(argv[1], model, tagged)) {
        fail(model, "not tagged");
        continue;
      }
      if (fs::file_size(tagged) <= fs::file_size(model)) {
        fail(model, "no tag was written: the test would prove nothing");
      }
      const std::string before = Verdict(model);
      const std::string after = Verdict(tagged);
      if (before.empty()) ++valid;
      if (before != after)
        fail(model, "'" + before + "' became '" + after + "'");
    }
  }
  fs::remove(tagged);
  std::printf("%d models, %d of them valid, %d with another verdict\n", checked,
              valid, failed);
  return failed == 0 && valid > 0 ? 0 : 1;
}
