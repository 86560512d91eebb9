// Tested by tests/app/commands/pending_outputs_test.cc and
// tests/app/commands/inputs_as_outputs_test.cc.
#include "app/commands/output/pending_outputs.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "app/commands/output/data_names.h"
#include "file/io/file_status.h"
#include "file/io/folder.h"
#include "file/io/paths.h"
#include "file/model/model_file.h"
#include "onnx_tag/error.h"
#include "onnx_tag/model.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag {
namespace {

using Kind = PendingOutputs::Kind;

constexpr int kStandardOutput = 1;

// Large spans go in steps: memory behind a step is given back, and the
// progress line moves.
constexpr std::uint64_t kStep = 16 << 20;

template <typename Use>
void InSteps(std::uint64_t offset, std::uint64_t size, Use&& use) {
  while (size > 0) {
    const std::uint64_t step = std::min(size, kStep);
    use(offset, step);
    offset += step;
    size -= step;
  }
}

// Writes a new file.
class FileSink : public wire::Rewrite::Sink {
 public:
  // `total`: bytes to come, 0 if unknown; for the progress line.
  FileSink(const MappedFile& source, OutputFile& file, std::uint64_t total,
           Terminal& terminal)
      : source_(source), file_(file), total_(total), terminal_(terminal) {}

  void Copy(std::uint64_t offset, std::uint64_t size) override {
    InSteps(offset, size, [&](std::uint64_t at, std::uint64_t step) {
      file_.CopyFrom(source_, at, step);
      ShowProgress();
    });
  }
  void Write(Bytes bytes) override {
    file_.Write(bytes);
    ShowProgress();
  }

 private:
  void ShowProgress() {
    if (file_.size() < shown_ + kStep || !terminal_.shows_progress()) return;
    shown_ = file_.size();
    constexpr std::uint64_t kMegabyte = 1'000'000;
    terminal_.Progress(Message(
        "writing {}: {}{} MB", Short{file_.path(), 60}, shown_ / kMegabyte,
        total_ == 0 ? "" : fmt::format(" of {}", total_ / kMegabyte)));
  }

  const MappedFile& source_;
  OutputFile& file_;
  std::uint64_t total_;
  Terminal& terminal_;
  std::uint64_t shown_ = 0;
};

// Hands on what is copied from `source` as if it was written.
class PieceSink : public wire::Rewrite::Sink {
 public:
  explicit PieceSink(const MappedFile& source) : source_(source) {}

  void Copy(std::uint64_t offset, std::uint64_t size) override {
    InSteps(offset, size, [&](std::uint64_t at, std::uint64_t step) {
      Write(source_.bytes().substr(at, step));
      source_.Release(at, at + step);
    });
  }

 private:
  const MappedFile& source_;
};

class StandardOutputSink : public PieceSink {
 public:
  StandardOutputSink(const MappedFile& source, Terminal& terminal)
      : PieceSink(source), terminal_(terminal) {}

  void Write(Bytes bytes) override { terminal_.Out(bytes); }

 private:
  Terminal& terminal_;
};

// Compares with a file that exists; nothing is written anywhere.
class CompareSink : public PieceSink {
  struct Differs {};

 public:
  CompareSink(const MappedFile& source, const MappedFile& existing)
      : PieceSink(source), existing_(existing) {}

  void Write(Bytes bytes) override {
    if (at_ > existing_.size() ||
        existing_.bytes().substr(at_, bytes.size()) != bytes) {
      throw Differs();
    }
    if (at_ / kStep != (at_ + bytes.size()) / kStep) {
      existing_.Release(0, at_ + bytes.size());
    }
    at_ += bytes.size();
  }

  // Whether `produce` gives the same bytes. The first that differs ends it.
  bool Equals(const Produce& produce) {
    try {
      produce(*this);
    } catch (const Differs&) {
      return false;
    }
    return at_ == existing_.size();
  }

 private:
  const MappedFile& existing_;
  std::uint64_t at_ = 0;
};

// Whole files of weights.
bool IsData(Kind kind) { return kind == Kind::kShare || kind == Kind::kCopy; }

bool IsModel(Kind kind) {
  return kind == Kind::kTaggedModel || kind == Kind::kModel;
}

// The file a name stands for. A link stays a link, and what it leads to is
// replaced, as `cp` and the shell do it.
std::string TargetOf(const std::string& path) {
  if (!IsSymlink(path)) return path;
  return RealPath(path).value_or(path);
}

// The option that gives an output another name.
std::string_view NameOption(Kind kind) {
  return kind == Kind::kSidecar ? "--sidecar" : "-o";
}

}  // namespace

void PendingOutputs::Add(Kind kind, const std::string& path,
                         std::optional<std::uint64_t> size, Produce produce) {
  by_path_.try_emplace(path, outputs_.size());
  outputs_.push_back({.kind = kind,
                      .path = path,
                      .size = size,
                      .produce = std::move(produce),
                      .data = {},
                      .head = {},
                      .target = TargetOf(path),
                      .file = {}});
}

void PendingOutputs::AddDocument(const std::string& path, std::string_view head,
                                 Produce produce) {
  Add(Kind::kDocument, path, std::nullopt, std::move(produce));
  outputs_.back().head = head;
}

void PendingOutputs::AddData(const std::string& from, const std::string& to,
                             bool share) {
  Add(share ? Kind::kShare : Kind::kCopy, to, std::nullopt, {});
  outputs_.back().data = from;
  outputs_.back().target = to;
}

bool PendingOutputs::EqualsExisting(const Output& output) const {
  const MappedFile existing = MappedFile::Open(output.target);
  if (IsData(output.kind)) {
    const MappedFile data = MappedFile::Open(output.data);
    return data.size() == existing.size() &&
           CompareSink(data, existing).Equals([&](wire::Rewrite::Sink& sink) {
             sink.Copy(0, data.size());
           });
  }
  if (output.size && *output.size != existing.size()) return false;
  return CompareSink(source_, existing).Equals(output.produce);
}

bool PendingOutputs::IsInPlace(const Output& output) const {
  return options_.in_place && IsModel(output.kind) &&
         SameFile(output.target, source_.path());
}

bool PendingOutputs::IsOurs(const Output& output,
                            const MappedFile& existing) const {
  if (output.kind == Kind::kTaggedModel) return HasTags(ReadModel(existing));
  const std::string_view head = output.kind == Kind::kSidecar
                                    ? "{\n  \"format\": \"onnx-tag/"
                                    : std::string_view(output.head);
  return !head.empty() && existing.bytes().starts_with(head);
}

void PendingOutputs::RefuseInput(const Output& output) const {
  const std::string_view what = output.path == "-"
                                    ? inputs_.FindDescriptor(kStandardOutput)
                                    : inputs_.Find(output.target);
  if (what.empty()) return;
  if (output.path == "-") {
    Fail(ErrorKind::kOutput,
         "standard output is an input of this command ({})\n  redirect it to "
         "another file",
         what);
  }
  const bool is_source = IsModel(output.kind) && source_.fd() >= 0 &&
                         SameFile(output.target, source_.path());
  Fail(ErrorKind::kOutput,
       "{}: is an input of this command ({})\n  {}give the output another name "
       "with {}",
       output.path, what, is_source ? "replace it with --in-place, or " : "",
       NameOption(output.kind));
}

PendingOutputs::Fate PendingOutputs::JudgeStreamed(const Output& output) const {
  RefuseInput(output);
  if (IsModel(output.kind) && terminal_.out_is_terminal() && !options_.force) {
    Fail(ErrorKind::kOutput,
         "cannot write a model to a terminal\n  name a file with -o, or "
         "redirect standard output");
  }
  return Fate::kStreamed;
}

PendingOutputs::Fate PendingOutputs::Judge(const Output& output) const {
  if (output.path == "-") return JudgeStreamed(output);
  const auto status = io::StatusOfLink(output.target);
  if (!status) return Fate::kCreated;
  if (status->kind == io::FileKind::kFolder) {
    Fail(ErrorKind::kOutput,
         "{}: is a folder\n  name a file in it, or give --out-dir",
         output.path);
  }
  if (!status->regular() && status->kind != io::FileKind::kLink) {
    // Renamed over /dev/null, a file would break the whole system.
    Fail(ErrorKind::kOutput,
         "{}: is a device or a pipe; it is never replaced\n  write to "
         "standard output with -o -",
         output.path);
  }
  if (IsData(output.kind) && SameFile(output.data, output.target)) {
    return Fate::kUnchanged;
  }
  const bool in_place = IsInPlace(output);
  if (in_place && IsSymlink(output.path) && !options_.follow) {
    Fail(ErrorKind::kOutput,
         "{}: is a symbolic link; --in-place would replace its target\n  allow "
         "this with --follow, or give the path of the target",
         output.path);
  }
  if (!in_place) RefuseInput(output);
  bool may_replace = in_place || options_.force;
  try {
    if (EqualsExisting(output)) return Fate::kUnchanged;
    may_replace =
        may_replace || IsOurs(output, MappedFile::Open(output.target));
  } catch (const Error&) {
    // It cannot be read, so it cannot be ours.
  }
  if (may_replace) return Fate::kReplaced;
  Fail(ErrorKind::kOutput,
       "{}: exists and {}\n  replace it with --force, or give another name "
       "with {}",
       output.path,
       IsData(output.kind) ? "differs from the input's weights"
       : output.kind == Kind::kModel
           ? "does not look like an output of onnx-tag"
           : "was not written by onnx-tag",
       NameOption(output.kind));
}

// Two outputs may be one file under two names, neither of which exists yet.
void PendingOutputs::RefuseSharedTargets() const {
  FileKeys keys;
  std::unordered_map<std::string, const Output*> targets;
  for (const Output& output : outputs_) {
    if (output.path == "-") continue;
    const auto [at, added] = targets.emplace(keys.Of(output.target), &output);
    const Output& other = *at->second;
    if (added || (IsData(output.kind) && IsData(other.kind) &&
                  SameFile(output.data, other.data))) {
      continue;
    }
    Fail(ErrorKind::kOutput,
         "{}: two outputs would have this name\n  give one of them another "
         "name with {}",
         output.path, NameOption(output.kind));
  }
}

void PendingOutputs::Judge() {
  RefuseSharedTargets();
  for (Output& output : outputs_) output.fate = Judge(output);
  // A model that stays the same is written again with several files of weights:
  // see TakeAwayModels().
  if (std::count_if(outputs_.begin(), outputs_.end(), ReplacesData) < 2) return;
  for (Output& output : outputs_) {
    if (IsModel(output.kind) && output.fate == Fate::kUnchanged) {
      output.fate = Fate::kReplaced;
    }
  }
}

bool PendingOutputs::ReplacesData(const Output& output) {
  return IsData(output.kind) && output.fate == Fate::kReplaced;
}

// Copies of weights keep the names that the model has for them. So where they
// replace what a present model reads, that model goes first: a kill leaves no
// model, and never one with the weights of another.
void PendingOutputs::TakeAwayModels() {
  FileKeys keys;
  std::unordered_set<std::string> replaced;
  for (const Output& output : outputs_) {
    if (ReplacesData(output)) replaced.insert(keys.Of(output.target));
  }
  if (replaced.empty()) return;
  for (const Output& output : outputs_) {
    if (!IsModel(output.kind) || output.fate != Fate::kReplaced) continue;
    const std::string folder = ParentFolder(output.path);
    for (const std::string& name : LocationsOf(output.target)) {
      if (!replaced.contains(keys.Of(JoinPath(folder, name)))) continue;
      RemoveFile(output.target);
      break;
    }
  }
}

void PendingOutputs::RemoveLeftovers() const {
  std::map<std::string, std::set<std::string>> read;  // by folder
  for (const std::string& path : leftovers_) {
    const std::string folder = ParentFolder(path);
    const auto [at, is_new] = read.try_emplace(folder);
    for (const FolderEntry& entry :
         is_new ? ReadFolder(folder) : std::vector<FolderEntry>()) {
      if (entry.kind == EntryKind::kFile && entry.name.ends_with(".onnx")) {
        at->second.merge(LocationsOf(JoinPath(folder, entry.name)));
      }
    }
    if (!at->second.contains(FileName(path)) && inputs_.Find(path).empty()) {
      RemoveFile(path);
    }
  }
}

void PendingOutputs::WriteFile(Output& output) {
  const bool copies = IsData(output.kind);
  // A folder that -o misspells is not made.
  if (copies || !options_.folder.empty()) {
    MakeFolders(ParentFolder(output.target));
  }
  std::optional<MappedFile> data;
  if (copies) data = MappedFile::Open(output.data);
  const MappedFile& source = copies ? *data : source_;
  OutputOptions options;
  if (source.fd() >= 0) options.mode = source.mode();
  options.fsync = options_.fsync || options_.in_place;
  options.replace = output.fate == Fate::kReplaced;
  options.in_place = IsInPlace(output);
  OutputFile file = OutputFile::Create(output.target, inputs_, options);
  if (output.kind == Kind::kShare && !file.ShareFrom(source)) {
    Fail(ErrorKind::kOutput,
         "{}: --data link: this file system cannot share the {} bytes of {} "
         "between two files\n  copy them with --data copy, or leave the "
         "references as they are with --data keep",
         output.path, source.size(), output.data);
  }
  const std::uint64_t size = copies ? source.size() : output.size.value_or(0);
  if (size > file.size()) file.Reserve(size);
  FileSink sink(source, file, size, terminal_);
  if (copies) {
    if (file.size() == 0) sink.Copy(0, source.size());
    source.CheckUnchanged();
  } else {
    output.produce(sink);
  }
  // One by one: a model may have more weight files than a process may open.
  if (copies && output.fate == Fate::kCreated) {
    Name(output, file);
  } else {
    output.file.emplace(std::move(file));
  }
}

void PendingOutputs::Write() {
  // New copies of weights get their names here, the rest in Commit(): a model
  // never stands there without them.
  for (Output& output : outputs_) {
    if (output.fate != Fate::kCreated && output.fate != Fate::kReplaced) {
      continue;
    }
    WriteFile(output);
  }
  terminal_.EndProgress();
}

void PendingOutputs::Commit() {
  for (Output& output : outputs_) {
    if (output.fate != Fate::kStreamed) continue;
    StandardOutputSink sink(source_, terminal_);
    output.produce(sink);
    terminal_.Flush();
  }
  source_.CheckUnchanged();
  TakeAwayModels();
  for (const bool data : {true, false}) {
    for (Output& output : outputs_) {
      const bool is_data = IsData(output.kind) || output.kind == Kind::kPacked;
      if (output.file && is_data == data) Name(output, *output.file);
    }
  }
  RemoveLeftovers();
}

void PendingOutputs::Finish() {
  Judge();
  if (options_.dry_run) return;
  Write();
  Commit();
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
  const auto at = by_path_.find(path);
  return at == by_path_.end() ? Fate::kUnknown : outputs_[at->second].fate;
}

bool HasBytes(const std::string& path, std::uint64_t size,
              const Produce& produce) {
  if (!IsRegularFile(path)) return false;
  try {
    const MappedFile existing = MappedFile::Open(path);
    return existing.size() == size &&
           CompareSink(existing, existing).Equals(produce);
  } catch (const Error&) {
    return false;
  }
}

Produce Packed(std::vector<DataPiece> pieces) {
  return [pieces = std::move(pieces)](wire::Rewrite::Sink& sink) {
    std::uint64_t at = 0;
    for (const DataPiece& piece : pieces) {
      const MappedFile file = MappedFile::Open(std::string(piece.path));
      sink.Write(std::string(piece.at - at, '\0'));
      InSteps(piece.offset, piece.size,
              [&](std::uint64_t offset, std::uint64_t step) {
                sink.Write(file.bytes().substr(offset, step));
                file.Release(offset, offset + step);
              });
      file.CheckUnchanged();
      at = piece.at + piece.size;
    }
  };
}

std::uint64_t SizeOf(const std::vector<DataPiece>& pieces) {
  return pieces.empty() ? 0 : pieces.back().at + pieces.back().size;
}

std::string_view Deed(PendingOutputs::Fate fate, bool dry_run) {
  if (fate == PendingOutputs::Fate::kUnchanged) return "unchanged";
  if (fate == PendingOutputs::Fate::kReplaced) {
    return dry_run ? "would replace" : "replaced";
  }
  return dry_run ? "would write" : "wrote";
}

}  // namespace onnx_tag
