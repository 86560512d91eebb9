// The commands, and what the user asked of each, as plain data: cli fills it
// in. A command takes its options and returns a Result; render prints it. It
// tells notes and progress to the Terminal, throws Error where it cannot go on,
// and neither prints results nor exits.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/render/reports.h"
#include "app/render/result.h"
#include "file/io/terminal.h"
#include "onnx_tag/mapping.h"
#include "uses/sizes/shapes.h"

namespace onnx_tag {

// What to do with external weights when the output goes to another folder.
enum class DataChoice { kKeep, kLink, kCopy, kUnsaid };

// Where a written model goes, and what it may replace.
struct WriteOptions {
  std::string path;    // -o; empty: beside the input
  std::string folder;  // --out-dir
  bool in_place = false;
  bool follow = false;  // --in-place through a symbolic link
  bool force = false;
  bool fsync = false;
  bool dry_run = false;
  DataChoice data = DataChoice::kUnsaid;
};

// Which models of folders and lists are meant.
struct InputOptions {
  bool recursive = false;
  std::vector<std::string> include;  // in folders; empty: *.onnx
  std::vector<std::string> exclude;
  std::string files_from;  // "-": standard input; empty: none
};

struct TagOptions {
  std::vector<std::string> models;
  InputOptions inputs;
  MappingOptions mapping;
  KeyChoice keys;
  WriteOptions write;
  bool rename_nodes = false;
  std::string names;    // where old and new names go; empty: nowhere
  std::string sidecar;  // empty: beside the output
  bool no_sidecar = false;
  bool sidecar_only = false;
  double min_coverage = 0;  // per cent
  std::vector<std::string> require_modules;
  std::optional<std::uint64_t> max_untagged;
  bool count_structure = false;  // gates count found blocks, too
  std::size_t jobs = 0;          // 0: as many as there are cores
  bool fail_fast = false;
  bool skip_current = false;
  ReportFormat format = ReportFormat::kText;
  bool json_nodes = false;  // lines for nodes, while the models are tagged
};
Result RunTag(const TagOptions& options, Terminal& terminal);

struct StripOptions {
  std::string model;
  bool texts = false;  // private ones, in place of tags
  bool check = false;  // write nothing; exit code 1 if something would go
  WriteOptions write;
};
Result RunStrip(const StripOptions& options, Terminal& terminal);

// Where tags come from, for the commands that read them.
struct TagSourceOptions {
  std::string sidecar;
  bool remap = false;
  bool strict = false;  // refuse a result that rests on low confidence
  // Of `mapping`, only facts ask for a new mapping where there are tags.
  bool facts_only = false;
  MappingOptions mapping;
};

// The tagged model that most commands are about.
struct TaggedModelOptions {
  std::string model;
  TagSourceOptions source;
};

// What rows stand for, in every command: read/rollup.h.
std::vector<std::string_view> RowKeyNames();
// What `show` adds up.
std::vector<std::string_view> ShowMeasureNames();

struct ShowOptions : TaggedModelOptions {
  std::vector<sizes::GivenShape> shapes;
  std::optional<std::uint32_t> depth;  // levels below the top row; none: all
  std::string module;                  // the subtree to show; a pattern
  bool nodes = false;
  bool unfold = false;
  std::string by = "module";
  std::string measure;  // "": a little of each
};
Result RunShow(const ShowOptions& options, Terminal& terminal);

struct QueryOptions : TaggedModelOptions {
  std::string query;
  std::vector<std::string> by;  // count the nodes by these keys
  bool count = false;           // by nothing: one number
};
Result RunQuery(const QueryOptions& options, Terminal& terminal);

// A tool that `select` writes for: src/data/select_tools.txt.
struct SelectTool {
  std::string_view name;
  std::map<std::string_view, std::string> rows = {};

  // Of the row `key`; "" if there is none.
  std::string_view Text(std::string_view key) const;
  // Whether the words in the row `key` have this one.
  bool Has(std::string_view key, std::string_view word) const;
};
std::span<const SelectTool> SelectTools();
std::vector<std::string_view> SelectToolNames();
// REQUIRES: it is one of these names.
const SelectTool& FindSelectTool(std::string_view name);

// What parts of a model are compared by.
enum class PlanBy { kWeights, kFlops, kMemory, kTime };
constexpr std::array<std::string_view, 4> kPlanByNames = {"weights", "flops",
                                                          "memory", "time"};

struct SelectOptions : TaggedModelOptions {
  std::string query;
  std::string tool = "names";
  std::string format = "text";
  bool exclude = false;  // quantizers: all but the selection
  bool skip_unaddressable = false;
  std::string device = "cpu";  // layer-ann
  // layer-ann: only the first modules that fit into so many bytes.
  std::optional<std::uint64_t> budget = {};
  PlanBy by = PlanBy::kWeights;
  std::vector<sizes::GivenShape> shapes = {};
  std::string precision = "float32";  // polygraphy, npi, qnn-overrides
  std::string bits = "8";             // matmulnbits
  std::uint64_t group_size = 0;       // matmulnbits; 0: as the tool has it
  std::string type = "uint16";        // ort-overrides
  bool weights = false;               // also the tensors that the nodes read
};
Result RunSelect(const SelectOptions& options, Terminal& terminal);

enum class ExportFormat { kGraphml, kTsv, kNetron, kSidecar };
constexpr std::array<std::string_view, 4> kExportFormatNames = {
    "graphml", "tsv", "netron", "sidecar"};

struct ExportOptions : TaggedModelOptions {
  ExportFormat format = ExportFormat::kTsv;
  bool safe = false;   // a spreadsheet runs no cell
  std::string output;  // empty or "-": standard output
  bool force = false;
};
Result RunExport(const ExportOptions& options, Terminal& terminal);

struct TransferOptions {
  std::string from;         // a tagged model, its sidecar, or a model to map
  std::string to;           // as the user names it
  TagSourceOptions source;  // how to read its tags
  TagOptions tag;           // the one model to tag, and where it goes
  std::string map;          // where the lineage of nodes goes; empty: nowhere
};
Result RunTransfer(const TransferOptions& options, Terminal& terminal);

struct DiffOptions {
  std::string a;
  std::string b;
  bool weights = false;  // compare the values of weights, too
  TagSourceOptions source;
  std::vector<sizes::GivenShape> shapes;
};
Result RunDiff(const DiffOptions& options, Terminal& terminal);

struct CheckOptions : TaggedModelOptions {
  TagOptions gates;  // its gates alone
  ReportFormat format = ReportFormat::kText;
};
Result RunCheck(const CheckOptions& options, Terminal& terminal);

// Formats of other programs, for the modules around each kernel.
enum class StackFormat { kNone, kFolded, kSpeedscope };

// Which numbers of which file.
struct ProfileSource {
  std::string file;              // "": none
  std::string measure = "time";  // a number of the events, a column
  std::string layers;            // TensorRT's layer information
  std::string key;               // a column of a table
  std::uint64_t skip_runs = 0;   // the first ones
};

struct ProfileOptions : TaggedModelOptions {
  ProfileSource profile;
  std::string against;  // a second profile, beside the first
  std::string by = "module";
  StackFormat stacks = StackFormat::kNone;
  std::uint64_t top = 40;  // rows of the table; 0: all
};
Result RunProfile(const ProfileOptions& options, Terminal& terminal);

struct FiltOptions : TaggedModelOptions {
  bool only = false;  // lines with a name alone
  bool json = false;  // a record for each name, instead of the text
};
Result RunFilt(const FiltOptions& options, Terminal& terminal);

struct ExplainOptions : TaggedModelOptions {
  std::string node;
  bool frames = false;  // all frames of the traceback
  bool all = false;     // also what inference says of the node
};
Result RunExplain(const ExplainOptions& options, Terminal& terminal);

struct StrategiesOptions {
  std::string model;  // empty: only list them
  MappingOptions mapping;
};
Result RunStrategies(const StrategiesOptions& options, Terminal& terminal);

// The module outputs, or inputs, that `tap` adds to the graph's outputs.
struct TapOptions : TaggedModelOptions {
  std::vector<std::string> modules;  // patterns
  bool inputs = false;
  WriteOptions write;
};
Result RunTap(const TapOptions& options, Terminal& terminal);

struct ExtractOptions : TaggedModelOptions {
  std::string module;
  bool with_neighbours = false;  // also nodes of other modules in between
  WriteOptions write;
};
Result RunExtract(const ExtractOptions& options, Terminal& terminal);

struct SplitOptions : TaggedModelOptions {
  std::vector<std::string> at;  // modules that begin a part
  // Or where the parts are best: so many, or as many as fit.
  std::size_t parts = 0;
  std::optional<std::uint64_t> budget;
  PlanBy by = PlanBy::kWeights;
  std::vector<sizes::GivenShape> shapes;
  ProfileSource profile;
  WriteOptions write;
};
Result RunSplit(const SplitOptions& options, Terminal& terminal);

struct WeightsOptions : TaggedModelOptions {};
Result RunWeights(const WeightsOptions& options, Terminal& terminal);

struct ReportOptions {
  std::vector<std::string> inputs;  // a model, two, or a folder
  TagSourceOptions source;
  std::vector<sizes::GivenShape> shapes;  // of inputs
  ProfileSource profile;
  std::string output;  // "": beside the model
  std::string folder;  // --out-dir, for a folder
  bool force = false;
};
Result RunReport(const ReportOptions& options, Terminal& terminal);

// "0.4.0"
std::string_view ToolVersion();

}  // namespace onnx_tag
