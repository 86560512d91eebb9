// `filt`: explains the names of a model in any text, as c++filt explains those
// of a linker. Only insertions change the text. Memory is that of one line,
// 1 MiB at most.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "app/commands/commands.h"
#include "app/commands/profile/kernels.h"
#include "app/commands/read/nodes.h"
#include "app/commands/read/tagged_model.h"
#include "app/render/render.h"
#include "clues/exporters/traceback.h"
#include "core/hierarchy/name_parts.h"
#include "core/tagging/words.h"
#include "file/io/inputs.h"
#include "file/io/system_calls.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

constexpr int kStandardInput = 0;
// A longer line is treated in parts.
constexpr std::size_t kLongestLine = std::size_t{1} << 20;
// A longer name is not searched for: nobody reads it in a log.
constexpr std::size_t kLongestName = 4096;

bool IsLoose(char c) { return c == '.' || c == ':' || c == '-'; }
bool IsLetter(char c) {
  return hierarchy::IsLower(c) || hierarchy::IsUpper(c) ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool IsOfWord(char c) {
  return hierarchy::IsWordChar(c) || IsLoose(c) || c == '/' || IsLetter(c);
}

// "\x1b[1;31m": where a terminal's escape sequence ends that begins at `at`.
std::size_t EscapeEnd(std::string_view text, std::size_t at) {
  ++at;
  if (at >= text.size() || text[at] != '[') return at;
  ++at;
  while (at < text.size() && text[at] >= 0x20 && text[at] < 0x40) ++at;
  return std::min(at + 1, text.size());
}

// What is said of a set of nodes that a name can mean.
struct NameNote {
  std::vector<NodeId> nodes;
  ModuleId module = kNo<ModuleId>;  // of all of them, or the one around them
  bool one_module = true;
  std::optional<SourceLine> line;  // if all have it
  std::string text;                // inserted behind the name
};

class Annotator {
 public:
  Annotator(const TaggedModel& model, const FiltOptions& options,
            Terminal& terminal)
      : model_(model), options_(options), terminal_(terminal), places_(model) {
    for (const NodeId node : model.model().Nodes()) {
      operators_.insert(model.model().OpType(node));
    }
  }

  // All whole lines go on; `last`: the rest, too.
  void Add(std::string_view text, bool last) {
    rest_.append(text);
    std::string_view left = rest_;
    for (std::size_t end = 0; (end = left.find('\n')) != left.npos;) {
      Line(left.substr(0, end + 1));
      left.remove_prefix(end + 1);
    }
    if (last || left.size() >= kLongestLine) {
      std::size_t end = left.size();
      while (!last && end > 0 && IsOfWord(left[end - 1])) --end;
      const bool one_word = end == 0;
      if (one_word) end = left.size();
      if (end > 0) Line(left.substr(0, end));
      within_word_ = one_word && !last;
      left.remove_prefix(end);
    }
    rest_.erase(0, rest_.size() - left.size());
  }

  void Report() const {
    terminal_.Note("{} in {}", Count(names_, "name"), Count(lines_, "line"));
  }

 private:
  void Line(std::string_view line) {
    line_text_ = line;
    written_.clear();
    copied_ = 0;
    std::size_t at = 0;
    if (std::exchange(within_word_, false)) {
      while (at < line.size() && IsOfWord(line[at])) ++at;
    }
    while (at < line.size()) {
      if (line[at] == '\x1b') {
        at = EscapeEnd(line, at);
      } else if (line[at] == '\\' && at + 1 < line.size() &&
                 IsOneOf(line.substr(at + 1, 1), {"n", "t", "r"})) {
        at += 2;  // a line break as Python and JSON write it
      } else if (!IsOfWord(line[at])) {
        ++at;
      } else {
        const std::size_t begin = at;
        while (at < line.size() && IsOfWord(line[at])) ++at;
        Run(begin, at);
      }
    }
    if (copied_ > 0 && !std::exchange(noted_, true)) ++lines_;
    if (!options_.json && (copied_ > 0 || !options_.only)) {
      terminal_.Out(written_.append(line.substr(copied_)));
    }
    column_ += line.size();
    if (!line.ends_with('\n')) return;
    ++line_;
    column_ = 0;
    noted_ = false;
  }

  // Words of letters, and numbers, are names only where the text says so:
  // `input`, `add` and `12` are values, too.
  void Run(std::size_t begin, std::size_t end) {
    const std::string_view word = line_text_.substr(begin, end - begin);
    if (std::all_of(word.begin(), word.end(), IsLetter) ||
        hierarchy::IsNumeric(word)) {
      if (IsQuotedName(begin, end)) Word(begin, end);
      return;
    }
    if (std::none_of(word.begin(), word.end(), IsLetter)) return;
    // TensorRT writes "{ForeignNode[first...last]}".
    for (std::size_t dots = 0;
         (dots = line_text_.substr(0, end).find("...", begin)) != word.npos;) {
      Piece(begin, dots);
      begin = std::min(line_text_.find_first_not_of('.', dots), end);
    }
    Piece(begin, end);
  }

  // Whether quotation marks are around a word of letters or digits, and it is
  // no key of JSON. An operator's type needs "Name:" before it, too.
  bool IsQuotedName(std::size_t begin, std::size_t end) const {
    const std::string_view line = line_text_;
    if (begin == 0 || end == line.size() || line[end] != line[begin - 1] ||
        !IsOneOf(line.substr(end, 1), {"'", "\"", "`"})) {
      return false;
    }
    const std::size_t next = line.find_first_not_of(' ', end + 1);
    if (line[end] == '"' && next != line.npos && line[next] == ':') {
      return false;
    }
    if (!operators_.contains(line.substr(begin, end - begin))) return true;
    std::string_view before = line.substr(0, begin - 1);
    before = before.substr(0, before.find_last_not_of(" :=\"'") + 1);
    return before.ends_with("ame");
  }

  // "/x/MatMul.", "node:/x/MatMul", "/x/MatMul:0", but not "onnx::MatMul_3".
  void Piece(std::size_t begin, std::size_t end) {
    if (begin >= end || Word(begin, end)) return;
    const std::size_t whole = end - begin;
    while (begin < end && IsLoose(line_text_[begin])) ++begin;
    while (begin < end && IsLoose(line_text_[end - 1])) --end;
    if (begin == end || (end - begin != whole && Word(begin, end))) return;
    std::size_t part = begin;
    for (std::size_t i = begin; i <= end; ++i) {
      const bool splits =
          i == end || (line_text_[i] == ':' && line_text_[i - 1] != ':' &&
                       line_text_[i + 1] != ':');
      if (!splits) continue;
      const std::string_view text = line_text_.substr(part, i - part);
      const bool plain = hierarchy::IsNumeric(text) ||
                         std::all_of(text.begin(), text.end(), IsLetter);
      if (!plain && (part != begin || i != end)) Word(part, i);
      part = i + 1;
    }
  }

  bool Word(std::size_t begin, std::size_t end) {
    const std::string_view word = line_text_.substr(begin, end - begin);
    const NameNote* const note =
        word.size() > kLongestName ? nullptr : Find(word);
    if (note == nullptr) return false;
    ++names_;
    if (options_.json) {
      terminal_.Out(JsonText(Record(word, column_ + begin + 1, *note)) + "\n");
    }
    written_.append(line_text_.substr(copied_, end - copied_))
        .append(note->text);
    copied_ = end;
    return true;
  }

  // Null if `name` is not one of the model, or its nodes have no tag. Logs
  // repeat their words.
  const NameNote* Find(std::string_view name) {
    constexpr std::size_t kMostKnown = std::size_t{1} << 16;
    if (known_.size() >= kMostKnown) known_.clear();
    const auto [at, added] = known_.try_emplace(std::string(name), nullptr);
    if (!added) return at->second;
    std::vector<NodeId> nodes = places_.NodesOf(name, "");
    const auto& tags = model_.tagging().tags;
    std::erase_if(nodes, [&](NodeId node) { return !tags[node].tagged(); });
    if (nodes.empty()) return nullptr;
    NameNote& note = notes_[nodes];
    if (note.nodes.empty()) note = NoteOn(std::move(nodes));
    return at->second = &note;
  }

  NameNote NoteOn(std::vector<NodeId> nodes) const {
    const Tagging& tagging = model_.tagging();
    const Tag& first = tagging.tags[nodes.front()];
    NameNote note;
    note.module = first.module;
    note.line = tagging.lines.Of(nodes.front());
    const LineId line = tagging.lines.IdOf(nodes.front());
    for (const NodeId node : nodes) {
      const ModuleId module = tagging.tags[node].module;
      note.one_module &= module == first.module;
      note.module = tagging.modules.CommonAncestor(note.module, module);
      if (tagging.lines.IdOf(node) != line) note.line.reset();
    }
    // " [encoder.layer.0.attention.self.query Linear modeling_bert.py:238]"
    constexpr std::size_t kLongest = 300;
    std::vector<std::string> words;
    if (!note.one_module) words = {Count(nodes.size(), "node"), "in"};
    const auto add = [&](std::string_view word) {
      if (!word.empty()) words.push_back(Message("{}", Short{word, kLongest}));
    };
    add(tagging.modules.Shown(note.module));
    add(ClassOf(tagging, note.module));
    if (note.line) add(ShortPlace(*note.line));
    add(first.source == Source::kStructure     ? "found"
        : first.confidence == Confidence::kLow ? "guessed"
                                               : "");
    note.text = "[" + Join(words, " ") + "]";
    note.text = terminal_.color_out() ? " \x1b[36m" + note.text + "\x1b[0m"
                                      : " " + note.text;
    note.nodes = std::move(nodes);
    return note;
  }

  // A line of docs/reference/schemas/filt.schema.json.
  Datum Record(std::string_view name, std::uint64_t column,
               const NameNote& note) const {
    const Tagging& tagging = model_.tagging();
    const Tag& tag = tagging.tags[note.nodes.front()];
    constexpr std::size_t kMostListed = 20;
    Datum::List list;
    for (std::size_t i = 0; i < std::min(note.nodes.size(), kMostListed); ++i) {
      list.push_back(NodeValue(model_.model(), note.nodes[i]));
    }
    return Datum::Object(
        {{"line", line_},
         {"column", column},
         {"name", name},
         {"module", tagging.modules.Path(note.module)},
         {"class", Datum::OrNull(ClassOf(tagging, note.module))},
         {"confidence", EnumToWord(kConfidenceNames, tag.confidence)},
         {"source", EnumToWord(kSourceNames, tag.source)},
         {"exact", note.one_module},
         {"source_line", note.line ? LineValue(*note.line) : Datum()},
         {"nodes", std::move(list)}});
  }

  const TaggedModel& model_;
  const FiltOptions& options_;
  Terminal& terminal_;
  const KernelPlaces places_;
  std::unordered_set<std::string_view> operators_;
  std::unordered_map<std::string, const NameNote*> known_;
  std::map<std::vector<NodeId>, NameNote> notes_;
  std::string rest_;            // the line that has not ended
  std::string_view line_text_;  // the line at hand, and what becomes of it
  std::string written_;
  std::size_t copied_ = 0;    // bytes of the line that are in `written_`
  std::uint64_t line_ = 1;    // from 1
  std::uint64_t column_ = 0;  // bytes of the line that were handed over
  bool noted_ = false;        // the line counts in `lines_`
  bool within_word_ = false;  // it goes on with a word that was cut
  std::uint64_t names_ = 0;
  std::uint64_t lines_ = 0;
};

}  // namespace

Result RunFilt(const FiltOptions& options, Terminal& terminal) {
  if (options.model == "-") {
    Fail(ErrorKind::kUsage,
         "standard input is the text to explain\n  give the model as a file");
  }
  const TaggedModel model = TaggedModel::Load(options, terminal);
  Annotator annotator(model, options, terminal);
  // `<log >>log` would read what it writes, without end.
  io::RefuseAsStandardOutput(io::StatusOf(kStandardInput), "<stdin>");
  if (io::IsTerminal(kStandardInput)) {
    terminal.Note("reads a text from standard input");
  }
  std::vector<char> buffer(std::size_t{1} << 18);
  for (std::ptrdiff_t count = 1; count != 0;) {
    count = io::ReadSome(kStandardInput, buffer.data(), buffer.size());
    if (count < 0) Fail(ErrorKind::kInput, "<stdin>: could not read");
    annotator.Add({buffer.data(), static_cast<std::size_t>(count)}, count == 0);
    // Whoever watches a program sees each line at once.
    terminal.Flush();
  }
  annotator.Report();
  return {};
}

}  // namespace onnx_tag
