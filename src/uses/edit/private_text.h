// Text in a model that should not be published: absolute paths, names of
// users, tracebacks, addresses, and on request all doc strings and the names of
// producers. Every text of the file is read, also in fields that ONNX does not
// have; numbers are not.
//
//   PrivateTexts found(model, {.all = false});
//   for (const PrivateText& text : found.texts()) ...
//   ScrubWriter writer(model, found);  // without those that can be removed
//   writer.Write(sink);
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "file/wire/rewrite.h"
#include "onnx_tag/model.h"

namespace onnx_tag::edit {

enum class PrivateKind : std::uint8_t {
  kTraceback,
  kPath,
  kUser,
  kDocString,  // with `all`
  kProducer,   // with `all`
  kExternalData,
  kEmail,
  kAddress,  // of a machine
};
constexpr std::array<std::string_view, 8> kPrivateKindNames = {
    "traceback", "path",          "user name",      "doc string",
    "producer",  "external data", "e-mail address", "address"};

// Texts of one kind in fields of one name.
struct PrivateGroup {
  PrivateKind kind = PrivateKind::kPath;
  std::string message;  // "node", "graph", "value", "tensor", "model", ...
  std::string field;    // a metadata key, or "doc_string", "name", ...
  bool removable = true;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::string example;      // what is private in the first text
  std::string first_place;  // "node 17 '/encoder/MatMul'"
};

class PrivateTexts {
 public:
  struct Options {
    bool all = false;  // doc strings and producers, whatever they say
  };

  // `model` must outlive it. `release` as for ReadModel.
  PrivateTexts(const Model& model, Options options,
               const Release& release = {});

  // By kind, message and field.
  const std::vector<PrivateGroup>& groups() const { return groups_; }
  // The owners of home folders.
  const std::set<std::string>& users() const { return users_; }

  std::uint64_t removable() const { return removable_; }
  std::uint64_t removable_bytes() const { return removable_bytes_; }
  // Private, but a part of the model's meaning: names, strings it computes
  // with, files of weights outside the model's folder.
  std::uint64_t kept() const { return kept_; }

  // For ScrubWriter: what to remove, and the messages around it.
  struct Removal {
    wire::MessageId message;
    Bytes whole;
  };
  const std::vector<wire::Message>& tree() const { return tree_; }
  const std::vector<Removal>& removals() const { return removals_; }

 private:
  class Visitor;

  std::vector<PrivateGroup> groups_;
  std::set<std::string> users_;
  std::uint64_t removable_ = 0;
  std::uint64_t removable_bytes_ = 0;
  std::uint64_t kept_ = 0;
  std::vector<wire::Message> tree_;
  std::vector<Removal> removals_;
};

// The file without the texts that can be removed; all other bytes stay.
class ScrubWriter {
 public:
  // Both must outlive it.
  ScrubWriter(const Model& model, const PrivateTexts& texts);

  std::uint64_t new_size() const { return rewrite_.new_size(); }
  void Write(wire::Rewrite::Sink& sink) const;

 private:
  wire::Rewrite rewrite_;
};

// What makes a text private: paths of files, frames of tracebacks, addresses of
// people and machines, names of users. Each search is linear in the text.

// Calls `use` with each absolute path in `text`, as far as it needs no
// quotation marks. Scopes such as `/encoder/layer.0` are not paths of files.
void ForEachPath(std::string_view text,
                 const std::function<void(const std::string& path)>& use);

// The first of them; "" if there is none.
std::string FindPath(std::string_view text);

// The owner of the home folder that `path` is in, in small letters; "" if it is
// in none.
std::string UserOf(std::string_view path);

// The first word of `text` that is one of `users`, in whatever letters: "Ann"
// is "ann". Accounts of machines, and names as short as words, say nothing
// about a person.
std::string_view FindUser(std::string_view text,
                          const std::set<std::string>& users);

// The first frame of a traceback of Python or torch in `text`, or "".
std::string_view FindFrame(std::string_view text);

// The first e-mail address, or "".
std::string_view FindEmail(std::string_view text);

// The first address of a machine that is not public: a bucket, a file server, a
// page where training is tracked, a host of a private network; or "".
std::string_view FindAddress(std::string_view text);

}  // namespace onnx_tag::edit
