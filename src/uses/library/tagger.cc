// Tested by tests/consumer/run_consumer.sh, against the installed library.
#include "onnx_tag/tagger.h"

#include <optional>

#include "core/tagging/sidecar.h"
#include "core/tagging/tag_writer.h"
#include "file/io/inputs.h"
#include "file/io/output_file.h"
#include "file/io/paths.h"
#include "file/model/model_file.h"
#include "onnx_tag/error.h"
#include "onnx_tag/mapping.h"
#include "onnx_tag/query.h"
#include "uses/library/facts.h"

namespace onnx_tag {
namespace {

class FileSink : public wire::Rewrite::Sink {
 public:
  FileSink(const MappedFile& source, OutputFile& file)
      : source_(source), file_(file) {}
  void Copy(std::uint64_t offset, std::uint64_t size) override {
    file_.CopyFrom(source_, offset, size);
  }
  void Write(Bytes bytes) override { file_.Write(bytes); }

 private:
  const MappedFile& source_;
  OutputFile& file_;
};

}  // namespace

struct Tagger::State {
  explicit State(const std::string& path) : file(ModelFile::Open(path)) {
    inputs.Add(file.file(), "the model");
  }

  const Tagging& Tags() {
    if (!tagging) {
      tagging = file.Map(
          [](const Model& model) { return MapNodes(model, MappingOptions()); });
    }
    return *tagging;
  }

  // `write` gets a sink; what it writes becomes the file `path`.
  template <typename Write>
  void Output(const std::string& path, const Write& write) const {
    OutputFile out =
        OutputFile::Create(path, inputs, {.mode = file.file().mode()});
    FileSink sink(file.file(), out);
    write(sink);
    file.file().CheckUnchanged();
    out.Commit();
  }

  void Rewrite(const std::string& path, TagWriter writer) const {
    if (writer.new_size() > kMaxModelBytes) {
      Fail(ErrorKind::kOutput,
           "{}: the file would have {} bytes; the limit of protobuf is {}\n  "
           "write a sidecar instead",
           path, writer.new_size(), kMaxModelBytes);
    }
    Output(path, [&](FileSink& sink) { writer.Write(sink); });
  }

  ModelFile file;
  Inputs inputs;
  std::optional<Tagging> tagging;
};

Tagger::Tagger(const std::string& model_file)
    : state_(std::make_unique<State>(model_file)) {}
Tagger::~Tagger() = default;
Tagger::Tagger(Tagger&&) noexcept = default;
Tagger& Tagger::operator=(Tagger&&) noexcept = default;

void Tagger::Map(const TaggerOptions& options) {
  MappingOptions mapping;
  mapping.strategy = options.strategy;
  mapping.recording_file = options.recording_file;
  mapping.hierarchy_file = options.hierarchy_file;
  const MappingFacts facts = ReadFacts(mapping);
  AddFactFiles(mapping, state_->inputs);
  Tagging tagging = state_->file.Map(
      [&](const Model& model) { return MapNodes(model, mapping, facts); });
  // Not "": `tag --skip-current` must not take the sidecar for one without
  // facts.
  const MappingFacts::Digests& digests = facts.digests;
  const std::string files = digests.recording + digests.hierarchy;
  if (!files.empty()) tagging.options = DigestOf(files);
  state_->tagging = std::move(tagging);
}

std::size_t Tagger::node_count() const {
  return state_->file.model().node_count();
}

std::size_t Tagger::tagged_count() { return CountTags(state_->Tags()).tagged; }

std::vector<TaggedNode> Tagger::Find(const std::string& query) {
  const Model& model = state_->file.model();
  const Tagging& tagging = state_->Tags();
  std::vector<TaggedNode> found;
  for (const NodeId id : FindNodes(model, tagging, query)) {
    const Tag& tag = tagging.tags[id];
    TaggedNode node;
    node.address = model.Address(id);
    node.name = model[id].name;
    node.op = model.OpType(id);
    node.module = "-";
    if (tag.tagged()) {
      node.module = tagging.modules.Path(tag.module);
      node.class_name = tagging.modules.Class(tag.module);
      node.confidence =
          kConfidenceNames[static_cast<std::size_t>(tag.confidence)];
      node.source = kSourceNames[static_cast<std::size_t>(tag.source)];
    }
    found.push_back(std::move(node));
  }
  return found;
}

void Tagger::WriteModel(const std::string& path) {
  state_->Rewrite(path,
                  TagWriter(state_->file.model(), state_->Tags(), KeyChoice()));
}

void Tagger::WriteSidecar(const std::string& path) {
  const Model& model = state_->file.model();
  const Tagging& tagging = state_->Tags();
  state_->Output(path, [&](FileSink& sink) {
    onnx_tag::WriteSidecar(
        model, tagging,
        AboutModel(FileName(state_->file.path()), model, tagging),
        [&](Bytes bytes) { sink.Write(bytes); });
  });
}

void Tagger::WriteStripped(const std::string& path) {
  state_->Rewrite(path, TagWriter(state_->file.model()));
}

}  // namespace onnx_tag
