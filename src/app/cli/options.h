// Rows of options that several commands share. Each function adds rows that set
// members of its last argument.
#ifndef ONNX_TAG_APP_CLI_OPTIONS_H_
#define ONNX_TAG_APP_CLI_OPTIONS_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/app.h"
#include "app/cli/parser.h"
#include "app/commands/commands.h"
#include "file/io/terminal.h"

namespace onnx_tag::cli {

// How a command prints, and to what.
struct Printing {
  TerminalOptions terminal;
  bool json = false;
  bool tsv = false;
  bool tsv_safe = false;

  // Refuses --tsv with --json.
  Format format() const;
};

void AddColor(Parser& parser, Printing& printing);
void AddQuiet(Parser& parser, Printing& printing);
// --progress and --quiet.
void AddProgress(Parser& parser, Printing& printing);
void AddJson(Parser& parser, Printing& printing,
             std::string help = "print JSON");
// --tsv and --tsv-safe.
void AddTsv(Parser& parser, Printing& printing, std::string help);
// --json in the group of --color.
void AddTerminalJson(Parser& parser, Printing& printing,
                     std::string help = "print JSON");

void AddModel(Parser& parser, std::string help, std::string& model);
void AddExpression(Parser& parser, bool required, std::string& query);

void AddMapping(Parser& parser, MappingOptions& options);

// Where a command reads tags.
void AddSource(Parser& parser, TagSourceOptions& options);
// For commands whose result rests on the tags.
void AddStrict(Parser& parser, TagSourceOptions& options);

// Sizes of dimensions and of inputs.
void AddShapes(Parser& parser, std::vector<sizes::GivenShape>& shapes);

// Where a model goes that replaces or accompanies its input.
void AddWrite(Parser& parser, const std::string& default_name,
              const std::string& follow, WriteOptions& options);
// For a model of its own: no --in-place.
void AddNew(Parser& parser, const std::string& default_name,
            WriteOptions& options);
// For several of them: only a folder.
void AddNewFolder(Parser& parser, WriteOptions& options);
// Refuses two places at once.
void CheckWrite(const WriteOptions& options, bool recursive = false);

// "npi, autocast or quark", in lines of at most `width` columns (0: one line).
std::string EitherOf(std::span<const std::string_view> words,
                     std::size_t width = 0);

// The sidecar, the metadata keys and the gates of `tag` and `transfer`.
void AddTagOutput(Parser& parser, TagOptions& options);
void AddGates(Parser& parser, TagOptions& options);

// Several models.
void AddBatch(Parser& parser, TagOptions& options);

// Which numbers of a profile are taken.
void AddProfileSource(Parser& parser, ProfileSource& profile);

// How a model is cut by what its parts cost.
void AddPlan(Parser& parser, const std::string& measures,
             std::optional<std::uint64_t>& budget, PlanBy& by);

}  // namespace onnx_tag::cli

#endif  // ONNX_TAG_APP_CLI_OPTIONS_H_
