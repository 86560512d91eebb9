#include "commands/write/pending_outputs.h"

#include <filesystem>

#include "base/text.h"
#include "commands/write/sinks.h"
#include "io/paths.h"
#include "onnx_tag/error.h"
#include "onnx_tag/model.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag {
namespace {

namespace fs = std::filesystem;

bool IsOurModel(const MappedFile& file) {
  try {
    return HasTags(
        ReadModel(file.bytes(), [&](std::uint64_t begin, std::uint64_t end) {
          file.Release(begin, end);
        }));
  } catch (const Error&) {
    return false;
  }
}

bool IsOurSidecar(const MappedFile& file) {
  return file.bytes().starts_with("{\n  \"format\": \"onnx-tag/");
}

// The file a name stands for. A link stays a link, and what it leads to is
// replaced, as `cp` and the shell do it.
std::string TargetOf(const std::string& path) {
  std::error_code error;
  if (!fs::is_symlink(fs::symlink_status(path, error))) return path;
  const fs::path target = fs::canonical(path, error);
  return error ? path : target.string();
}

void MakeFolder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    Fail(ErrorKind::kOutput, "{}: could not make the folder: {}",
         Printable(folder), error.message());
  }
}

}  // namespace

void PendingOutputs::AddModel(const std::string& path, std::uint64_t size,
                              Produce produce) {
  outputs_.push_back({.kind = Kind::kModel,
                      .path = path,
                      .size = size,
                      .produce = std::move(produce),
                      .data = {},
                      .target = TargetOf(path),
                      .file = {}});
}

void PendingOutputs::AddSidecar(const std::string& path, Produce produce) {
  outputs_.push_back({.kind = Kind::kSidecar,
                      .path = path,
                      .size = std::nullopt,
                      .produce = std::move(produce),
                      .data = {},
                      .target = TargetOf(path),
                      .file = {}});
}

void PendingOutputs::AddData(const std::string& from, const std::string& to,
                             bool link) {
  outputs_.push_back({.kind = link ? Kind::kLink : Kind::kCopy,
                      .path = to,
                      .size = std::nullopt,
                      .produce = {},
                      .data = from,
                      .target = to,
                      .file = {}});
}

bool PendingOutputs::EqualsExisting(const Output& output) const {
  if (!output.data.empty() && SameFile(output.data, output.target)) return true;
  const MappedFile existing = MappedFile::Open(output.target);
  if (!output.data.empty()) {
    const MappedFile data = MappedFile::Open(output.data);
    if (data.size() != existing.size()) return false;
    CompareSink sink(data, existing);
    sink.Copy(0, data.size());
    return sink.equal();
  }
  if (output.size && *output.size != existing.size()) return false;
  CompareSink sink(input_, existing);
  output.produce(sink);
  return sink.equal();
}

PendingOutputs::Fate PendingOutputs::Judge(Output& output) const {
  if (output.path == "-") {
    if (output.kind == Kind::kModel && terminal_.out_is_terminal() &&
        !options_.force) {
      Fail(ErrorKind::kOutput,
           "a model is not written to a terminal\n  name a file with -o, or "
           "redirect standard output");
    }
    return Fate::kStreamed;
  }
  std::error_code error;
  const fs::file_status status = fs::symlink_status(output.target, error);
  if (!fs::exists(status)) return Fate::kCreated;
  if (fs::is_directory(status)) {
    Fail(ErrorKind::kOutput,
         "{}: is a folder\n  name a file in it, or give --out-dir",
         Printable(output.path));
  }
  if (!fs::is_regular_file(status) && !fs::is_symlink(status)) {
    // Renamed over /dev/null, a file would break the whole system.
    Fail(ErrorKind::kOutput,
         "{}: is a device or a pipe, which is never replaced\n  write to "
         "standard output with -o -",
         Printable(output.path));
  }
  bool ours = options_.in_place && output.kind == Kind::kModel;
  try {
    if (EqualsExisting(output)) return Fate::kUnchanged;
    const MappedFile existing = MappedFile::Open(output.target);
    ours = ours || (output.kind == Kind::kModel && IsOurModel(existing)) ||
           (output.kind == Kind::kSidecar && IsOurSidecar(existing));
  } catch (const Error&) {
    // It cannot be read, so it cannot be ours.
  }
  if (ours || options_.force) return Fate::kReplaced;
  Fail(ErrorKind::kOutput,
       "{}: exists and {}\n  replace it with --force, or give another name "
       "with {}",
       Printable(output.path),
       output.data.empty() ? "was not written by onnx-tag"
                           : "differs from the input's weights",
       output.kind == Kind::kSidecar ? "--sidecar" : "-o");
}

void PendingOutputs::Judge() {
  for (Output& output : outputs_) output.fate = Judge(output);
}

void PendingOutputs::WriteFile(Output& output) {
  const bool copies = output.kind == Kind::kCopy;
  // A folder that -o misspells is not made.
  if (copies || !options_.folder.empty()) {
    MakeFolder(ParentFolder(output.target));
  }
  std::optional<MappedFile> data;
  if (copies) data = MappedFile::Open(output.data);
  const MappedFile& source = copies ? *data : input_;
  OutputOptions options;
  if (source.fd() >= 0) options.mode = source.mode();
  options.fsync = options_.fsync || options_.in_place;
  options.replace = output.fate == Fate::kReplaced;
  OutputFile file = OutputFile::Create(output.target, options);
  const std::uint64_t size = copies ? source.size() : output.size.value_or(0);
  if (size > 0) file.Reserve(size);
  FileSink sink(source, file, size, terminal_);
  if (copies) {
    sink.Copy(0, source.size());
    source.CheckUnchanged();
    // One by one: a model may have more weight files than a process may open.
    Name(output, file);
  } else {
    output.produce(sink);
    output.file.emplace(std::move(file));
  }
}

void PendingOutputs::Link(const Output& output) const {
  MakeFolder(ParentFolder(output.target));
  if (output.fate == Fate::kReplaced) {
    std::error_code ignored;
    fs::remove(output.target, ignored);
  }
  const fs::path source = fs::canonical(output.data);
  std::error_code error;
  fs::create_hard_link(source, output.target, error);
  if (!error) return;
  fs::create_symlink(source, output.target, error);
  // Another model of the batch has the same weights.
  if (error && SameFile(output.data, output.target)) return;
  if (error) {
    Fail(ErrorKind::kOutput, "{}: could not link to {}: {}",
         Printable(output.path), Printable(output.data), error.message());
  }
}

void PendingOutputs::Write() {
  // Weights get their names here, the rest in Commit(): a model never stands
  // there without them.
  for (Output& output : outputs_) {
    if (output.fate != Fate::kCreated && output.fate != Fate::kReplaced) {
      continue;
    }
    if (output.kind == Kind::kLink) {
      Link(output);
    } else {
      WriteFile(output);
    }
  }
  terminal_.EndProgress();
}

void PendingOutputs::Commit() {
  for (Output& output : outputs_) {
    if (output.fate != Fate::kStreamed) continue;
    StandardOutputSink sink(input_, terminal_);
    output.produce(sink);
    terminal_.Flush();
  }
  input_.CheckUnchanged();
  for (Output& output : outputs_) {
    if (output.file) Name(output, *output.file);
  }
}

// Another run may have written the same while we did: it is judged like what
// stood there before.
void PendingOutputs::Name(Output& output, OutputFile& file) {
  if (file.TryCommit()) return;
  output.fate = Judge(output);
  if (output.fate == Fate::kUnchanged) return;
  file.AllowReplacing();
  file.Commit();
}

PendingOutputs::Fate PendingOutputs::FateOf(const std::string& path) const {
  for (const Output& output : outputs_) {
    if (output.path == path) return output.fate;
  }
  return Fate::kUnknown;
}

bool PendingOutputs::streams() const {
  for (const Output& output : outputs_) {
    if (output.path == "-") return true;
  }
  return false;
}

}  // namespace onnx_tag
