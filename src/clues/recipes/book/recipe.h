// One export with known answers, as stored in the recipe book: the operations
// of an architecture, with the module of each.
//
// A recipe has no weights, sizes or node names. Its tokens are those of
// tokens.h: operations on data; a norm, an activation or a linear layer is one
// token. Constants and shape arithmetic are stored as a shared DAG of side
// nodes that the tokens read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace onnx_tag::recipes {

// The null index.
inline constexpr std::uint32_t kNone = 0xffffffff;

// Parents come before their children; module 0 is the root, its atom is "".
struct RecordedModule {
  std::uint32_t parent = kNone;
  std::uint32_t atom = 0;        // in texts
  std::uint32_t class_name = 0;  // in texts; "" if it is unknown

  bool operator==(const RecordedModule&) const = default;
};

// A constant or a piece of shape arithmetic.
struct SideNode {
  std::uint32_t op = 0;          // in texts
  std::uint32_t module = kNone;  // kNone: not known
  // By input slot: a side node that precedes this one, or kNone if the input is
  // omitted, a tensor of the file or computed from data.
  std::vector<std::uint32_t> inputs;

  bool operator==(const SideNode&) const = default;
};

// A side node that a node of a token reads.
struct SideReference {
  std::uint32_t node = 0;  // in the token's ops
  std::uint32_t slot = 0;  // of its inputs
  std::uint32_t side = 0;  // in side_nodes

  bool operator==(const SideReference&) const = default;
};

struct RecordedToken {
  std::uint32_t label = 0;       // in texts
  std::uint32_t extra = 0;       // in texts; see tokens.h
  std::uint32_t module = kNone;  // kNone: not known
  std::uint32_t anchor = kNone;  // the module of the parameter it uses, if the
                                 // export kept the parameter's name
  std::uint32_t main = 0;        // in ops: the node that stands for the token
  std::vector<std::uint32_t> inputs;  // tokens that come before this one
  std::vector<std::uint32_t> ops;     // in texts: its nodes, in the order in
                                      // which the macro lists them
  std::vector<SideReference> sides;

  bool operator==(const RecordedToken&) const = default;
};

struct Recipe {
  std::string family;    // "bert"; tests/bench removes whole families
  std::string exporter;  // "torchscript 17", "dynamo": for people
  std::string version;   // of the library the model is from: for people
  // Plain torch.nn code that belongs to no library: authors choose the names.
  bool plain_code = false;
  // It has the module names of PaddlePaddle's own projects: a port to PyTorch.
  bool paddle_names = false;

  std::vector<std::string> texts;  // 0 is ""
  std::vector<RecordedModule> modules;
  std::vector<SideNode> side_nodes;
  std::vector<RecordedToken> tokens;   // in the order of execution
  std::vector<std::uint32_t> outputs;  // tokens that make the graph's outputs

  bool operator==(const Recipe&) const = default;
};

// What a label says in an alignment: src/data/labels.txt.
enum class Weight : std::uint8_t { kLight, kMiddle, kHeavy };

struct LabelFacts {
  Weight weight = Weight::kMiddle;
  bool solid = false;
  bool leaf = false;
  // A bit for each class of labels that may replace each other.
  std::uint32_t soft = 0;
};
const LabelFacts& FactsOf(std::string_view label);
// The label of an operator or a composite; "" if it has none of its own.
std::string_view LabelOf(std::string_view name);

// Many recipes, with summaries to choose one without reading it.

// Sorted sets of hashes; see Summary.
struct SummaryView {
  std::span<const std::uint32_t> grams;  // of three labels in a row
  std::span<const std::uint32_t> names;  // of modules, by their last two atoms
};

class Book {
 public:
  virtual ~Book() = default;
  virtual std::size_t size() const = 0;
  virtual SummaryView Summary(std::size_t index) const = 0;
  virtual Recipe Read(std::size_t index) const = 0;
  virtual bool HasPaddleNames(std::size_t index) const = 0;
};

// The recipes of a book with the names of PaddlePaddle.
class PaddleSection : public Book {
 public:
  // `book` must outlive this.
  explicit PaddleSection(const Book& book) : book_(book) {
    for (std::size_t i = 0; i < book.size(); ++i) {
      if (book.HasPaddleNames(i)) indices_.push_back(i);
    }
  }

  std::size_t size() const override { return indices_.size(); }
  SummaryView Summary(std::size_t index) const override {
    return book_.Summary(indices_[index]);
  }
  Recipe Read(std::size_t index) const override {
    return book_.Read(indices_[index]);
  }
  bool HasPaddleNames(std::size_t) const override { return true; }

 private:
  const Book& book_;
  std::vector<std::size_t> indices_;
};

// The summary of a program: its label trigrams and the names of its modules.
struct Summary {
  std::vector<std::uint32_t> grams;
  std::vector<std::uint32_t> names;

  SummaryView view() const { return {grams, names}; }
};

// Uses every module that has operations or a parameter.
Summary Summarize(const Recipe& recipe);

// The same for labels in order and paths of modules.
Summary Summarize(std::span<const std::string_view> labels,
                  std::span<const std::string_view> paths);

// The path of a recorded module, "" for the root.
std::string PathOf(const Recipe& recipe, std::uint32_t module);

}  // namespace onnx_tag::recipes
