// What torch.save() writes: a zip whose data.pkl is a pickle, a program for a
// small machine. This machine knows the instructions that state dicts use, and
// calls nothing: the few functions that they name are read as data.
#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "file/model/element_types.h"
#include "file/model/tensor_data.h"
#include "onnx_tag/error.h"
#include "uses/weights/checkpoint.h"

namespace onnx_tag::weights {
namespace {

Bytes PieceAt(Bytes bytes, std::uint64_t at, std::uint64_t size) {
  if (at > bytes.size() || bytes.size() - at < size) {
    Fail(ErrorKind::kUsage, "is cut off");
  }
  return bytes.substr(at, size);
}

std::uint64_t NumberAt(Bytes bytes, std::uint64_t at, std::size_t width) {
  return LittleEndian(PieceAt(bytes, at, width));
}

// The files of a zip, by the name after the first folder.
std::map<std::string_view, Bytes> ReadZip(Bytes file) {
  constexpr std::uint64_t kWide = 0xffffffff;
  const std::size_t end = file.rfind("PK\5\6");
  if (end == Bytes::npos) Fail(ErrorKind::kUsage, "is no whole zip file");
  std::uint64_t count = NumberAt(file, end + 10, 2);
  std::uint64_t at = NumberAt(file, end + 16, 4);
  if ((count == 0xffff || at == kWide) && end >= 20) {
    const std::uint64_t wide = NumberAt(file, end - 20 + 8, 8);
    count = NumberAt(file, wide + 32, 8);
    at = NumberAt(file, wide + 48, 8);
  }
  std::map<std::string_view, Bytes> files;
  for (; count > 0; --count) {
    if (PieceAt(file, at, 4) != "PK\1\2")
      Fail(ErrorKind::kUsage, "is no zip file");
    std::uint64_t size = NumberAt(file, at + 24, 4);
    std::uint64_t place = NumberAt(file, at + 42, 4);
    const std::uint64_t name_size = NumberAt(file, at + 28, 2);
    const std::uint64_t extra_size = NumberAt(file, at + 30, 2);
    const std::string_view name = PieceAt(file, at + 46, name_size);
    const Bytes extra = PieceAt(file, at + 46 + name_size, extra_size);
    for (std::uint64_t i = 0; i + 4 <= extra.size();) {
      const std::uint64_t id = NumberAt(extra, i, 2);
      std::uint64_t field = i + 4;
      i = field + NumberAt(extra, i + 2, 2);
      if (id != 1) continue;
      if (size == kWide) size = NumberAt(extra, field, 8), field += 16;
      if (place == kWide) place = NumberAt(extra, field, 8);
    }
    if (NumberAt(file, at + 10, 2) != 0) {
      Fail(ErrorKind::kUsage, "{} is compressed, which torch does not do",
           name);
    }
    const std::uint64_t data = place + 30 + NumberAt(file, place + 26, 2) +
                               NumberAt(file, place + 28, 2);
    files[name.substr(name.find('/') + 1)] = PieceAt(file, data, size);
    at += 46 + name_size + extra_size + NumberAt(file, at + 32, 2);
  }
  return files;
}

struct Item {
  enum class Kind {
    kNone,
    kNumber,
    kText,
    kName,
    kList,
    kDict,
    kStorage,
    kTensor,
    kMark
  };
  Kind kind = Kind::kNone;
  std::int64_t number = 0;
  std::string text = {};          // of kText; "module name" of kName
  std::vector<Item*> items = {};  // of a dict: key, value, key, value
  std::int32_t type = 0;          // of storages and tensors
  Bytes bytes = {};
  std::vector<std::int64_t> dims = {};
};
using Kind = Item::Kind;
using Items = std::vector<Item*>;

constexpr struct {
  std::string_view name;
  std::int32_t type;
} kStorages[] = {
    {"torch FloatStorage", kFloat},       {"torch HalfStorage", kFloat16},
    {"torch BFloat16Storage", kBfloat16}, {"torch DoubleStorage", kDouble},
    {"torch LongStorage", kInt64},        {"torch IntStorage", kInt32},
    {"torch ShortStorage", kInt16},       {"torch CharStorage", kInt8},
    {"torch ByteStorage", kUint8},        {"torch BoolStorage", kBool}};

class Machine {
 public:
  explicit Machine(const std::map<std::string_view, Bytes>& files)
      : files_(files) {
    const auto at = files.find("data.pkl");
    if (at == files.end())
      Fail(ErrorKind::kUsage, "has no data.pkl: torch.save() did not write it");
    code_ = at->second;
  }

  // Valid as long as the machine.
  const Item& Run() {
    using M = Machine;
    struct Instruction {
      unsigned char op;
      void (*run)(M&);
    };
    static constexpr Instruction kInstructions[] = {
        {0x80, [](M& m) { m.Take(1); }},  // PROTO
        {'(', [](M& m) { m.Push({Kind::kMark}); }},
        {'N', [](M& m) { m.Push({}); }},
        {0x88, [](M& m) { m.PushNumber(1); }},
        {0x89, [](M& m) { m.PushNumber(0); }},
        {'K', [](M& m) { m.PushNumber(m.Whole(1)); }},
        {'M', [](M& m) { m.PushNumber(m.Whole(2)); }},
        {'J', [](M& m) { m.PushNumber(std::int32_t(m.Whole(4))); }},
        {0x8a, [](M& m) { m.PushNumber(m.Whole(m.Size(1))); }},
        {'G', [](M& m) { m.Take(8), m.PushNumber(0); }},  // of no use
        {'X', [](M& m) { m.PushText(Kind::kText, m.Take(m.Size(4))); }},
        {'c', [](M& m) { m.PushText(Kind::kName, m.Lines()); }},
        {'}', [](M& m) { m.Push({Kind::kDict}); }},
        {']', [](M& m) { m.Push({Kind::kList}); }},
        {')', [](M& m) { m.Push({Kind::kList}); }},
        {'t', [](M& m) { m.PushList(m.PopMarked()); }},
        {0x85, [](M& m) { m.PushList(m.PopMany(1)); }},
        {0x86, [](M& m) { m.PushList(m.PopMany(2)); }},
        {0x87, [](M& m) { m.PushList(m.PopMany(3)); }},
        {'e', [](M& m) { m.Extend(m.PopMarked()); }},
        {'u', [](M& m) { m.Extend(m.PopMarked()); }},
        {'a', [](M& m) { m.Extend(m.PopMany(1)); }},
        {'s', [](M& m) { m.Extend(m.PopMany(2)); }},
        {'b', [](M& m) { m.Pop(); }},  // BUILD: _metadata
        {'q', [](M& m) { m.memo_[m.Size(1)] = m.Top(); }},
        {'r', [](M& m) { m.memo_[m.Size(4)] = m.Top(); }},
        {'h', [](M& m) { m.Recall(m.Size(1)); }},
        {'j', [](M& m) { m.Recall(m.Size(4)); }},
        {'Q', [](M& m) { m.Push(m.StorageOf(*m.Pop())); }},  // BINPERSID
        {'R', [](M& m) { m.Push(m.Call(m.PopMany(2))); }}};
    while (true) {
      const auto op = static_cast<unsigned char>(Take(1)[0]);
      if (op == '.') return *Pop();  // STOP
      const auto row =
          std::find_if(std::begin(kInstructions), std::end(kInstructions),
                       [&](const Instruction& one) { return one.op == op; });
      if (row == std::end(kInstructions)) {
        Fail(ErrorKind::kUsage,
             "its pickle has an instruction that state dicts do not use: {}",
             int{op});
      }
      row->run(*this);
    }
  }

 private:
  [[noreturn]] static void FailDamaged() {
    Fail(ErrorKind::kUsage, "its pickle is damaged");
  }
  Bytes Take(std::uint64_t size) {
    const Bytes taken = PieceAt(code_, 0, size);
    code_.remove_prefix(size);
    return taken;
  }
  std::uint64_t Size(std::size_t width) {
    return NumberAt(Take(width), 0, width);
  }
  std::int64_t Whole(std::size_t width) {
    if (width > 8) Fail(ErrorKind::kUsage, "has a number of {} bytes", width);
    return static_cast<std::int64_t>(Size(width));
  }
  // "module name" of two lines
  std::string Lines() {
    const std::size_t end = code_.find('\n', code_.find('\n') + 1);
    if (end == Bytes::npos) Fail(ErrorKind::kUsage, "is cut off");
    std::string text(Take(end + 1).substr(0, end));
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
  }
  void Push(Item item) {
    items_.push_back(std::move(item));
    stack_.push_back(&items_.back());
  }
  void PushNumber(std::int64_t number) { Push({Kind::kNumber, number}); }
  void PushText(Kind kind, Bytes text) { Push({kind, 0, std::string(text)}); }
  void PushList(Items items) {
    Push({Kind::kList});
    Top()->items = std::move(items);
  }
  void Extend(const Items& items) {
    Items& to = Top()->items;
    to.insert(to.end(), items.begin(), items.end());
  }
  Item* Top() {
    if (stack_.empty()) FailDamaged();
    return stack_.back();
  }
  Item* Pop() {
    Item* const top = Top();
    stack_.pop_back();
    return top;
  }
  Items PopMany(std::size_t count) {
    Items items(count);
    while (count > 0) items[--count] = Pop();
    return items;
  }
  Items PopMarked() {
    std::size_t count = 0;
    while (count < stack_.size() &&
           stack_[stack_.size() - 1 - count]->kind != Kind::kMark) {
      ++count;
    }
    Items items = PopMany(count);
    Pop();
    return items;
  }
  void Recall(std::uint64_t index) {
    const auto at = memo_.find(index);
    if (at == memo_.end()) FailDamaged();
    stack_.push_back(at->second);
  }
  static const Item& ItemAt(const Item& list, std::size_t i, Kind kind) {
    if (i >= list.items.size() || list.items[i]->kind != kind) FailDamaged();
    return *list.items[i];
  }

  // ("storage", torch.FloatStorage, "0", "cpu", 1024)
  Item StorageOf(const Item& id) const {
    const std::string& type = ItemAt(id, 1, Kind::kName).text;
    for (const auto& row : kStorages) {
      if (row.name != type) continue;
      const auto at = files_.find("data/" + ItemAt(id, 2, Kind::kText).text);
      if (at == files_.end())
        Fail(ErrorKind::kUsage, "lacks the numbers of a tensor");
      Item storage{Kind::kStorage};
      storage.type = row.type;
      storage.bytes = at->second;
      return storage;
    }
    Fail(ErrorKind::kUsage, "has tensors of an unknown type: {}", type);
  }

  Item Call(const Items& function) const {
    const Item& name = *function[0];
    const Item& arguments = *function[1];
    if (name.text == "collections OrderedDict") return {Kind::kDict};
    if (name.text == "torch._utils _rebuild_parameter") {
      return ItemAt(arguments, 0, Kind::kTensor);
    }
    if (name.kind != Kind::kName ||
        name.text != "torch._utils _rebuild_tensor_v2") {
      Fail(ErrorKind::kUsage,
           "its pickle calls {}, which is not executed\n  save the weights "
           "alone: "
           "torch.save(model.state_dict(), path), or as .safetensors",
           name.text);
    }
    const Item& storage = ItemAt(arguments, 0, Kind::kStorage);
    Item tensor{Kind::kTensor};
    tensor.type = storage.type;
    for (const Item* dim : ItemAt(arguments, 2, Kind::kList).items) {
      tensor.dims.push_back(dim->number);
    }
    const Items& strides = ItemAt(arguments, 3, Kind::kList).items;
    if (strides.size() != tensor.dims.size()) FailDamaged();
    std::uint64_t stride = 1;
    for (std::size_t i = strides.size(); i-- > 0;) {
      // Such a tensor has no numbers that stand one after another.
      if (tensor.dims[i] != 1 &&
          strides[i]->number != static_cast<std::int64_t>(stride)) {
        tensor.number = 1;
      }
      stride *=
          static_cast<std::uint64_t>(std::max<std::int64_t>(tensor.dims[i], 1));
    }
    const std::uint64_t width = BitsPerElement(tensor.type) / 8;
    const std::uint64_t count = CountElements(tensor.dims);
    const auto offset =
        static_cast<std::uint64_t>(ItemAt(arguments, 1, Kind::kNumber).number);
    const std::uint64_t most = storage.bytes.size() / width;
    if (offset > most || count > most - offset) {
      Fail(ErrorKind::kUsage, "is cut off");
    }
    if (tensor.number == 0) {
      tensor.bytes = storage.bytes.substr(offset * width, count * width);
    }
    return tensor;
  }

  const std::map<std::string_view, Bytes>& files_;
  Bytes code_;
  std::deque<Item> items_;  // nested ones would be freed recursively
  Items stack_;
  std::map<std::uint64_t, Item*> memo_;
};

}  // namespace

std::vector<Tensor> ReadTorchTensors(Bytes file) {
  const std::map<std::string_view, Bytes> files = ReadZip(file);
  const auto order = files.find("byteorder");
  if (order != files.end() && order->second != "little") {
    Fail(ErrorKind::kUsage, "has numbers that are not little-endian");
  }
  Machine machine(files);
  const Item* top = &machine.Run();
  // A checkpoint of a trainer holds the state dict beside other things.
  for (std::size_t i = 0; i + 1 < top->items.size(); i += 2) {
    const Item* const value = top->items[i + 1];
    if (top->items[i]->text != "state_dict" || value->kind != Kind::kDict) {
      continue;
    }
    top = value;
    break;
  }
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i + 1 < top->items.size(); i += 2) {
    const Item& name = *top->items[i];
    const Item& value = *top->items[i + 1];
    if (value.kind != Kind::kTensor || name.kind != Kind::kText) continue;
    if (value.number == 1) {
      Fail(ErrorKind::kUsage,
           "{}: its numbers are not contiguous\n  save it with .contiguous()",
           name.text);
    }
    tensors.push_back({name.text, value.type, value.dims,
                       CountElements(value.dims), value.bytes});
  }
  if (tensors.empty()) Fail(ErrorKind::kUsage, "holds no state dict");
  return tensors;
}

}  // namespace onnx_tag::weights
