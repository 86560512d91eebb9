#include "commands/report/write_page.h"

#include <filesystem>
#include <system_error>

#include "base/text.h"
#include "commands/report/report_page.h"
#include "io/mapped_file.h"
#include "io/output_file.h"
#include "io/paths.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

namespace fs = std::filesystem;

// False: it is there already, byte for byte.
bool MayWrite(const std::string& path, std::string_view page, bool force) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return true;
  if (!fs::is_regular_file(status)) {
    Fail(ErrorKind::kOutput, "{}: is not a regular file\n  name a file with -o",
         Printable(path));
  }
  bool ours = false;
  try {
    const MappedFile existing = MappedFile::Open(path);
    if (existing.bytes() == page) return false;
    ours = existing.bytes().starts_with(ReportHead());
  } catch (const Error&) {
    // It cannot be read, so it cannot be ours.
  }
  if (ours || force) return true;
  Fail(ErrorKind::kOutput,
       "{}: exists and was not written by onnx-tag\n  replace it with --force, "
       "or give another name with -o",
       Printable(path));
}

}  // namespace

std::string_view WritePage(const std::string& path, std::string_view page,
                           bool force, bool make_folder, Terminal& terminal) {
  if (path == "-") {
    terminal.Out(page);
    return "wrote";
  }
  if (!MayWrite(path, page, force)) return "unchanged";
  if (make_folder) {
    std::error_code error;
    fs::create_directories(ParentFolder(path), error);
    if (error) {
      Fail(ErrorKind::kOutput, "{}: could not make the folder: {}",
           Printable(ParentFolder(path)), error.message());
    }
  }
  OutputFile file = OutputFile::Create(path, {});
  file.Write(page);
  file.Commit();
  return "wrote";
}

}  // namespace onnx_tag
