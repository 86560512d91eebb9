#include "uses/weights/refit_writer.h"

#include <algorithm>

#include "base/lists.h"
#include "file/model/attributes.h"
#include "file/model/field_kinds.h"
#include "file/model/message_walk.h"
#include "file/model/onnx_fields.h"
#include "file/wire/encoding.h"
#include "onnx_tag/error.h"

namespace onnx_tag::weights {
namespace {

using onnx::MessageType;
using onnx::TensorProto;

constexpr std::uint64_t kCopiedAtOnce = std::uint64_t{4} << 20;

// Fields that hold the numbers of a tensor.
constexpr std::uint32_t kNumbers[] = {
    TensorProto::kFloatData,  TensorProto::kInt32Data,  TensorProto::kInt64Data,
    TensorProto::kDoubleData, TensorProto::kUint64Data, TensorProto::kRawData};

}  // namespace

// Passes a file on with its patches.
class RefitWriter::Patcher : public wire::Rewrite::Sink {
 public:
  // `data`: a file of weights, which is not the sink's own source; null: it is
  // the model.
  Patcher(const RefitWriter& writer, const std::vector<Patch>& patches,
          const MappedFile* data, wire::Rewrite::Sink& to)
      : writer_(writer), patches_(patches), data_(data), to_(to) {}

  void Copy(std::uint64_t offset, std::uint64_t size) override {
    const std::uint64_t end = offset + size;
    auto patch = std::lower_bound(
        patches_.begin(), patches_.end(), offset,
        [](const Patch& p, std::uint64_t at) { return p.begin < at; });
    for (; patch != patches_.end() && patch->begin < end; ++patch) {
      Keep(offset, patch->begin);
      writer_.Emit(*patch->row, [&](Bytes bytes) {
        to_.Write(bytes);
        return true;
      });
      offset = patch->begin + patch->size;
    }
    Keep(offset, end);
  }
  void Write(Bytes bytes) override { to_.Write(bytes); }

 private:
  void Keep(std::uint64_t begin, std::uint64_t end) {
    if (data_ == nullptr && begin < end) to_.Copy(begin, end - begin);
    for (; data_ != nullptr && begin < end; begin += kCopiedAtOnce) {
      const std::uint64_t until = std::min(begin + kCopiedAtOnce, end);
      to_.Write(data_->bytes().substr(begin, until - begin));
      data_->Release(begin, until);
    }
  }

  const RefitWriter& writer_;
  const std::vector<Patch>& patches_;
  const MappedFile* const data_;
  wire::Rewrite::Sink& to_;
};

// By the place of the TensorProto (and 0), or of the NodeProto and the input.
using Changed =
    std::multimap<std::pair<const char*, std::uint32_t>, const RefitRow*>;

// Records the messages that change their length.
struct TreeBuilder {
  RefitWriter& writer;
  const Changed& changed;
  std::vector<wire::MessageId> path = {0};
  std::map<const char*, std::pair<wire::MessageId, Bytes>> erased = {};
  std::map<wire::MessageId, std::string> added = {};

  bool Visit(const wire::Field& field, const onnx::FieldInfo& info) {
    if (info.child == MessageType::kNone || field.bytes.empty()) return false;
    const char* const begin = field.bytes.data();
    auto at = changed.lower_bound({begin, 0});
    if (at == changed.end() || at->first.first >= begin + field.bytes.size()) {
      return false;
    }
    const Bytes file = writer.file_.model().bytes();
    writer.tree_.push_back(wire::MessageIn(file, field, path.back()));
    path.push_back(static_cast<wire::MessageId>(writer.tree_.size() - 1));
    if (info.child == MessageType::kNodeProto && at->first.first == begin) {
      Redirect(field.bytes);
    }
    if (info.child != MessageType::kTensorProto) return true;
    for (; at != changed.end() && at->first.first == begin; ++at) {
      if (at->second->name.empty()) {
        Change(field.bytes, *at->second);
      } else {
        AddTensor(*at->second, added[path[path.size() - 2]]);
      }
    }
    path.pop_back();
    return false;
  }
  void Leave() { path.pop_back(); }

  void Erase(wire::MessageId message, Bytes field) {
    erased.emplace(field.data(), std::pair(message, field));
  }

  // Inputs keep their order only if all of them are written again.
  void Redirect(Bytes node) {
    std::uint32_t slot = 0;
    model::ForEach(node, onnx::NodeProto::kInput, [&](const wire::Field& one) {
      const auto at = changed.find({node.data(), slot++});
      Erase(path.back(), one.whole);
      wire::AppendLengthDelimited(
          added[path.back()], onnx::NodeProto::kInput,
          at == changed.end() ? one.bytes : Bytes(at->second->name));
    });
  }

  void AddTensor(const RefitRow& row, std::string& graph) const {
    const Stored& stored = writer.store_.tensors()[row.stored];
    std::string tensor;
    for (const std::int64_t dim : stored.dims) {
      wire::AppendVarintField(tensor, TensorProto::kDims,
                              static_cast<std::uint64_t>(dim));
    }
    wire::AppendVarintField(tensor, TensorProto::kDataType,
                            static_cast<std::uint64_t>(stored.type));
    wire::AppendLengthDelimited(tensor, TensorProto::kName, row.name);
    wire::AppendLengthDelimited(tensor, TensorProto::kRawData,
                                writer.MadeOf(row));
    wire::AppendLengthDelimited(graph, onnx::GraphProto::kInitializer, tensor);
  }

  void Change(Bytes tensor, const RefitRow& row) {
    const Stored& stored = writer.store_.tensors()[row.stored];
    const wire::MessageId self = path.back();
    wire::FieldReader reader(tensor);
    for (wire::Field field; reader.Next(field);) {
      if (stored.location.empty()) {
        if (IsAmong(field.number, kNumbers)) Erase(self, field.whole);
        continue;
      }
      if (!model::Is(field, TensorProto::kExternalData)) continue;
      const std::string_view key = model::ReadEntry(field).key;
      if (key == "checksum") Erase(self, field.whole);
      if (key != "location") continue;
      writer.tree_.push_back(
          wire::MessageIn(writer.file_.model().bytes(), field, self));
      const auto entry = static_cast<wire::MessageId>(writer.tree_.size() - 1);
      constexpr onnx::BytesField kValue{2};
      model::ForEach(field.bytes, kValue, [&](const wire::Field& value) {
        Erase(entry, value.whole);
      });
      wire::AppendLengthDelimited(added[entry], kValue,
                                  writer.locations_.at(stored.location));
    }
    if (!stored.location.empty()) return;
    wire::AppendLengthDelimited(added[self], TensorProto::kRawData,
                                writer.MadeOf(row));
  }
};

RefitWriter::RefitWriter(const ModelFile& file, const Store& store,
                         const RefitPlan& plan,
                         const std::map<std::string, std::string>& locations)
    : file_(file), store_(store), plan_(plan), locations_(locations) {
  Changed changed;
  patches_[""];
  for (const auto& [location, data] : store_.files()) patches_[location];
  for (const RefitRow& row : plan_.rows) {
    const Stored& stored = store_.tensors()[row.stored];
    if (!row.name.empty()) {
      changed.emplace(std::pair(stored.tensor.data(), 0u), &row);
      for (const TensorReader& reader : row.readers) {
        changed.emplace(std::pair(reader.node.data(), reader.slot), &row);
      }
      continue;
    }
    // Numbers in another encoding keep it as long as they stay.
    const bool written = row.fate == Fate::kWritten &&
                         (stored.in_place || MadeOf(row) != stored.bytes);
    if (stored.location.empty()
            ? written && !stored.in_place
            : locations_.contains(stored.location) &&
                  locations_.at(stored.location) != stored.location) {
      changed.emplace(std::pair(stored.tensor.data(), 0u), &row);
    }
    if (!written || !stored.in_place) continue;
    const Bytes whole =
        stored.location.empty()
            ? file_.model().bytes()
            : store_.files().find(stored.location)->second->bytes();
    patches_[stored.location].push_back(
        {static_cast<std::uint64_t>(stored.bytes.data() - whole.data()),
         stored.bytes.size(), &row});
  }
  for (auto& [location, patches] : patches_) {
    SortBy(patches, &Patch::begin);
    for (std::size_t i = patches.size(); i-- > 1;) {
      const Patch& before = patches[i - 1];
      if (before.begin + before.size <= patches[i].begin) continue;
      // Tensors with one place in the file of weights.
      if (before.begin != patches[i].begin || before.size != patches[i].size ||
          MadeOf(*before.row) != MadeOf(*patches[i].row)) {
        Fail(ErrorKind::kOutput, "{} and {} share bytes of {}, but not in NEW",
             store_.tensors()[before.row->stored].name,
             store_.tensors()[patches[i].row->stored].name, location);
      }
      patches.erase(patches.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  const Bytes bytes = file_.model().bytes();
  tree_.push_back({.begin = 0, .size = bytes.size(), .parent = 0});
  TreeBuilder builder{*this, changed};
  model::Walk(bytes, MessageType::kModelProto, builder);
  rewrite_.emplace(bytes, tree_);
  for (const auto& [place, edit] : builder.erased) {
    rewrite_->Erase(edit.first, edit.second);
  }
  for (auto& [message, fields] : builder.added) {
    rewrite_->Append(message, fields.size(), appended_.size());
    appended_.push_back(std::move(fields));
  }
  rewrite_->Layout();
}

void RefitWriter::Emit(const RefitRow& row, const Made::Use& use) const {
  Made(*row.recipe, plan_.now)
      .Emit(row.part, store_.tensors()[row.stored].type, use);
}

std::string RefitWriter::MadeOf(const RefitRow& row) const {
  return Made(*row.recipe, plan_.now)
      .Text(row.part, store_.tensors()[row.stored].type);
}

void RefitWriter::Write(wire::Rewrite::Sink& sink) const {
  Patcher patcher(*this, patches_.at(""), nullptr, sink);
  rewrite_->Write(patcher, [this](std::uint64_t token, std::string& out) {
    out += appended_[token];
  });
}

void RefitWriter::WriteData(const std::string& location,
                            wire::Rewrite::Sink& sink) const {
  const MappedFile& file = *store_.files().find(location)->second;
  Patcher(*this, patches_.at(location), &file, sink).Copy(0, file.size());
  file.CheckUnchanged();
}

}  // namespace onnx_tag::weights
