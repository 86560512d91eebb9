// What the user asked for, as plain data: cli fills it in, commands run it.
#ifndef ONNX_TAG_COMMANDS_OPTIONS_H_
#define ONNX_TAG_COMMANDS_OPTIONS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onnx_tag/mapping.h"
#include "sizes/shapes.h"

namespace onnx_tag {

enum class ExitCode : int {
  kOk = 0,
  kFindings = 1,
  kUsage = 2,
  kInput = 3,
  kOutput = 4,
  kSomeFailed = 5,
};

// What to do with external weights when the output goes to another folder.
enum class DataChoice { kUnsaid, kKeep, kLink, kCopy };

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

// How the outcome of a run is told.
enum class ReportFormat { kText, kJunit, kGithub };

struct TagOptions {
  std::vector<std::string> models;
  InputOptions inputs;
  MappingOptions mapping;
  KeyChoice keys;
  WriteOptions write;
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
  bool json = false;
  bool json_nodes = false;
  bool quiet = false;
};

struct StripOptions {
  std::string model;
  WriteOptions write;
  bool quiet = false;
};

// Where tags come from, for the commands that read them.
struct TagSourceOptions {
  std::string sidecar;
  bool remap = false;
  MappingOptions mapping;
};

struct ShowOptions {
  std::string model;
  TagSourceOptions source;
  std::vector<sizes::GivenShape> shapes;
  std::optional<std::uint32_t> depth;  // levels below the top row; none: all
  std::string module;                  // the subtree to show; a pattern
  bool nodes = false;
  bool unfold = false;
  bool json = false;
};

struct QueryOptions {
  std::string model;
  std::string query;
  TagSourceOptions source;
  bool tsv = false;
  bool json = false;
};

// What `select` writes for; see select_tools.h.
enum class SelectTool {
  kNames,
  kOrtQuant,
  kLayerAnn,
  kOlive,
  kPolygraphy,
  kExtract,
  kModelopt,
  kNncf,
  kNeuralCompressor,
  kFp16,
};
constexpr std::array<std::string_view, 10> kSelectToolNames = {
    "names",    "ort-quant",  "layer-ann",
    "olive",    "polygraphy", "extract",
    "modelopt", "nncf",       "neural-compressor",
    "fp16"};

enum class SelectFormat { kText, kJson, kPython };
constexpr std::array<std::string_view, 3> kSelectFormatNames = {"text", "json",
                                                                "python"};

struct SelectOptions {
  std::string model;
  std::string query;
  TagSourceOptions source;
  SelectTool tool = SelectTool::kNames;
  SelectFormat format = SelectFormat::kText;
  bool exclude = false;  // quantizers: all but the selection
  bool skip_unaddressable = false;
  std::string device = "cpu";         // layer-ann
  std::string precision = "float32";  // polygraphy
};

enum class ExportFormat { kGraphml, kDot, kTsv, kNetron, kSidecar };
constexpr std::array<std::string_view, 5> kExportFormatNames = {
    "graphml", "dot", "tsv", "netron", "sidecar"};

struct ExportOptions {
  std::string model;
  TagSourceOptions source;
  ExportFormat format = ExportFormat::kTsv;
  std::string output;  // empty or "-": standard output
  bool force = false;
};

struct TransferOptions {
  std::string from;         // a tagged model, its sidecar, or a model to map
  TagSourceOptions source;  // how to read its tags
  TagOptions tag;           // the one model to tag, and where it goes
};

struct DiffOptions {
  std::string a;
  std::string b;
  TagSourceOptions source;
  std::vector<sizes::GivenShape> shapes;
  bool markdown = false;
  bool json = false;
};

struct CheckOptions {
  std::string model;
  bool verify = false;  // parse the whole file with protobuf, and compare
  TagSourceOptions source;
  TagOptions gates;  // its gates alone
  ReportFormat format = ReportFormat::kText;
  bool json = false;
};

enum class ProfileKey { kModule, kClass, kLayer, kRole, kNode };
constexpr std::array<std::string_view, 5> kProfileKeyNames = {
    "module", "class", "layer", "role", "node"};
enum class ProfileFormat { kTable, kJson, kFolded, kSpeedscope };
constexpr std::array<std::string_view, 4> kProfileFormatNames = {
    "table", "json", "folded", "speedscope"};

// Which numbers of which file.
struct ProfileSource {
  std::string file;              // "": none
  std::string measure = "time";  // a number of the events, a column
  std::string layers;            // TensorRT's layer information
};

struct ProfileOptions {
  std::string model;
  ProfileSource profile;
  std::string against;  // a second profile, beside the first
  std::uint64_t skip_runs = 0;
  TagSourceOptions source;
  ProfileKey by = ProfileKey::kModule;
  ProfileFormat format = ProfileFormat::kTable;
  std::uint64_t top = 40;  // rows of the table; 0: all
};

struct ExplainOptions {
  std::string model;
  std::string node;
  MappingOptions mapping;
  bool json = false;
};

struct StrategiesOptions {
  std::string model;  // empty: only list them
  MappingOptions mapping;
  bool json = false;
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_OPTIONS_H_
