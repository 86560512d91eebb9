#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/commands/commands.h"
#include "app/commands/filt/annotate_text.h"
#include "app/commands/profile/kernels.h"
#include "app/commands/read/modules.h"
#include "app/commands/read/nodes.h"
#include "app/commands/read/tagged_model.h"
#include "app/render/render.h"
#include "clues/exporters/traceback.h"
#include "core/tagging/words.h"
#include "file/io/inputs.h"
#include "file/io/paths.h"
#include "file/io/system_calls.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

constexpr int kStandardInput = 0;

// What to say of the names of a model. There is one note for each set of nodes
// that a name can mean, however many names a text makes out of it.
class NoteBook {
 public:
  // `terminal`: a person reads them, so colours and links are welcome.
  NoteBook(const TaggedModel& model, bool terminal)
      : model_(model), places_(model), terminal_(terminal) {
    const Model& nodes = model.model();
    for (const NodeId node : nodes.Nodes()) {
      filter_.AddOperator(nodes.OpType(node));
      filter_.Add(nodes[node].name);
      // A nameless node is "MatMul_12" for ONNX Runtime.
      if (nodes[node].name.empty()) filter_.AddStart(nodes.OpType(node));
      for (const std::string_view output : nodes.OutputNames(node)) {
        filter_.Add(output);
      }
    }
    for (const Initializer& initializer : nodes.initializers()) {
      filter_.Add(nodes.ValueName(initializer.value));
    }
  }

  const NameFilter& filter() const { return filter_; }

  // Null if `name` is not one of the model, or its nodes have no tag.
  const NameNote* Find(std::string_view name) {
    std::vector<NodeId> nodes = places_.NodesOf(name, "");
    const auto& tags = model_.tagging().tags;
    std::erase_if(nodes, [&](NodeId node) { return !tags[node].tagged(); });
    if (nodes.empty()) return nullptr;
    const auto [at, added] = notes_.try_emplace(nodes);
    if (added) {
      at->second.text = TextOf(nodes);
      at->second.nodes = std::move(nodes);
    }
    return &at->second;
  }

  // The module of all of them, or the one around them.
  ModuleId ModuleOf(const std::vector<NodeId>& nodes) const {
    const Tagging& tagging = model_.tagging();
    ModuleId module = tagging.tags[nodes.front()].module;
    for (const NodeId node : nodes) {
      module =
          tagging.modules.CommonAncestor(module, tagging.tags[node].module);
    }
    return module;
  }

  bool AreOfOneModule(const std::vector<NodeId>& nodes) const {
    const auto& tags = model_.tagging().tags;
    return std::all_of(nodes.begin(), nodes.end(), [&](NodeId node) {
      return tags[node].module == tags[nodes.front()].module;
    });
  }

  bool HaveOneLine(const std::vector<NodeId>& nodes) const {
    const SourceLines& lines = model_.tagging().lines;
    return std::all_of(nodes.begin(), nodes.end(), [&](NodeId node) {
      return lines.IdOf(node) == lines.IdOf(nodes.front());
    });
  }

 private:
  // " [encoder.layer.0.attention.self.query Linear modeling_bert.py:238]"
  std::string TextOf(const std::vector<NodeId>& nodes) const {
    constexpr std::size_t kLongest = 300;
    const Tagging& tagging = model_.tagging();
    const ModuleId module = ModuleOf(nodes);
    std::string text = "[";
    if (!AreOfOneModule(nodes)) {
      text += Count(nodes.size(), "node") + " in ";
    }
    text += Message("{}", Short{tagging.modules.Shown(module), kLongest});
    if (const std::string_view name = ClassOf(tagging, module); !name.empty()) {
      text += Message(" {}", Short{name, kLongest});
    }
    // Nodes of one module may have several lines.
    const std::optional<SourceLine> line = tagging.lines.Of(nodes.front());
    if (line && HaveOneLine(nodes)) {
      const std::string place =
          Message("{}", Short{ShortPlace(*line), kLongest});
      text += " " + Linked(place, TargetOf(nodes.front(), *line));
    }
    const Tag& tag = tagging.tags[nodes.front()];
    if (tag.source == Source::kStructure) {
      text += " found";
    } else if (tag.confidence == Confidence::kLow) {
      text += " guessed";
    }
    text += "]";
    return terminal_ ? " \x1b[36m" + text + "\x1b[0m" : " " + text;
  }

  // "file:///home/you/net.py#41", which editors and terminals open at the line.
  // Empty if the file is not here: a link must lead somewhere.
  std::string TargetOf(NodeId node, const SourceLine& line) const {
    if (!terminal_) return {};
    std::string name(line.file);  // below the folder of the user
    const std::string_view whole = WholeFileName(model_.model(), node, line);
    if (!whole.empty()) name = whole;
    // Asking for a file on another machine would tell that machine.
    if (name.starts_with("//") || name.starts_with("\\\\")) return {};
    if (name.find('\0') != name.npos || !IsRegularFile(name)) return {};
    const std::optional<std::string> real = RealPath(name);
    if (!real) return {};
    // The colon of a drive stays: "file:///C:/net.py#41".
    const std::size_t drive = real->starts_with('/') ? 0 : 2;
    return (drive == 0 ? "file://" : "file:///" + real->substr(0, drive)) +
           UriText(real->substr(drive)) + "#" + std::to_string(line.line);
  }

  // OSC 8: https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda
  static std::string Linked(const std::string& text,
                            const std::string& target) {
    if (target.empty()) return text;
    return "\x1b]8;;" + target + "\x1b\\" + text + "\x1b]8;;\x1b\\";
  }

  const TaggedModel& model_;
  const KernelPlaces places_;
  const bool terminal_;
  NameFilter filter_;
  std::map<std::vector<NodeId>, NameNote> notes_;
};

// A line of docs/reference/schemas/filt.schema.json.
Datum Record(const TextAnnotator::Found& found, const TaggedModel& model,
             const NoteBook& notes) {
  const std::vector<NodeId>& nodes = found.note->nodes;
  const Tagging& tagging = model.tagging();
  const ModuleId module = notes.ModuleOf(nodes);
  const Tag& tag = tagging.tags[nodes.front()];
  constexpr std::size_t kMostListed = 20;
  Datum::List list;
  for (std::size_t i = 0; i < std::min(nodes.size(), kMostListed); ++i) {
    list.push_back(NodeValue(model.model(), nodes[i]));
  }
  const std::optional<SourceLine> line = tagging.lines.Of(nodes.front());
  return Datum::Object(
      {{"line", found.line},
       {"column", found.column},
       {"name", found.name},
       {"module", tagging.modules.Path(module)},
       {"class", Datum::OrNull(ClassOf(tagging, module))},
       {"confidence", EnumToWord(kConfidenceNames, tag.confidence)},
       {"source", EnumToWord(kSourceNames, tag.source)},
       {"exact", notes.AreOfOneModule(nodes)},
       {"source_line",
        line && notes.HaveOneLine(nodes) ? LineValue(*line) : Datum()},
       {"nodes", std::move(list)}});
}

}  // namespace

Result RunFilt(const FiltOptions& options, Terminal& terminal) {
  if (options.model == "-") {
    Fail(ErrorKind::kUsage,
         "standard input is the text to explain\n  give the model as a file");
  }
  const TaggedModel model = TaggedModel::Load(options, terminal);
  NoteBook notes(model, terminal.color_out());
  TextAnnotator::Options how;
  how.only = options.only;
  if (options.json) {
    how.each = [&](const TextAnnotator::Found& found) {
      terminal.Out(JsonText(Record(found, model, notes)) + "\n");
    };
  }
  TextAnnotator annotator(
      notes.filter(), [&](std::string_view name) { return notes.Find(name); },
      std::move(how), [&](std::string_view text) { terminal.Out(text); });
  // `<log >>log` would read what it writes, without end.
  io::RefuseAsStandardOutput(io::StatusOf(kStandardInput), "<stdin>");
  if (io::IsTerminal(kStandardInput)) {
    terminal.Note("reads a text from standard input");
  }
  std::vector<char> buffer(std::size_t{1} << 18);
  for (;;) {
    const std::ptrdiff_t count =
        io::ReadSome(kStandardInput, buffer.data(), buffer.size());
    if (count < 0) Fail(ErrorKind::kInput, "<stdin>: could not read");
    if (count == 0) break;
    annotator.Add({buffer.data(), static_cast<std::size_t>(count)});
    // Whoever watches a program sees each line at once.
    terminal.Flush();
  }
  annotator.Finish();
  terminal.Flush();
  terminal.Note("{} in {}", Count(annotator.names(), "name"),
                Count(annotator.lines(), "line"));
  return {};
}

}  // namespace onnx_tag
