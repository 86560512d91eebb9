// What torch.save() writes: a zip whose data.pkl is a pickle, a program for a
// small machine. This machine knows the instructions that state dicts use, and
// calls nothing: the few functions that they name are read as data.
#include <algorithm>
#include <map>
#include <memory>

#include "file/model/element_types.h"
#include "file/model/tensor_data.h"
#include "onnx_tag/error.h"
#include "uses/weights/checkpoint.h"

namespace onnx_tag::weights {
namespace {

// Little-endian, of `width` bytes.
std::uint64_t NumberAt(Bytes bytes, std::uint64_t at, std::size_t width) {
  if (at > bytes.size() || bytes.size() - at < width) {
    Fail(ErrorKind::kUsage, "is cut off");
  }
  std::uint64_t number = 0;
  for (std::size_t i = width; i-- > 0;) {
    number = number << 8 | static_cast<unsigned char>(bytes[at + i]);
  }
  return number;
}

Bytes PieceAt(Bytes bytes, std::uint64_t at, std::uint64_t size) {
  if (at > bytes.size() || bytes.size() - at < size) {
    Fail(ErrorKind::kUsage, "is cut off");
  }
  return bytes.substr(at, size);
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

struct Item;
using ItemRef = std::shared_ptr<Item>;
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
  std::string text = {};            // of kText; "module name" of kName
  std::vector<ItemRef> items = {};  // of a dict: key, value, key, value
  std::int32_t type = 0;            // of storages and tensors
  Bytes bytes = {};
  std::vector<std::int64_t> dims = {};
};
using Kind = Item::Kind;

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

  ItemRef Run() {
    while (true) {
      const auto op = static_cast<unsigned char>(Take(1)[0]);
      switch (op) {
        case 0x80:
          Take(1);
          break;  // PROTO
        case '.':
          return Pop();  // STOP
        case '(':
          Push({Kind::kMark});
          break;
        case 'N':
          Push({});
          break;
        case 0x88:
        case 0x89:
          Push({Kind::kNumber, op == 0x88});
          break;
        case 'K':
          Push({Kind::kNumber, Whole(1)});
          break;
        case 'M':
          Push({Kind::kNumber, Whole(2)});
          break;
        case 'J':
          Push({Kind::kNumber, static_cast<std::int32_t>(Whole(4))});
          break;
        case 0x8a: {  // LONG1
          const auto size = static_cast<std::size_t>(Whole(1));
          if (size > 8)
            Fail(ErrorKind::kUsage, "has a number of {} bytes", size);
          Push({Kind::kNumber, Whole(size)});
          break;
        }
        case 'G':
          Take(8);
          Push({Kind::kNumber});
          break;  // a float: of no use
        case 'X': {
          const std::int64_t size = Whole(4);
          Push({Kind::kText, 0,
                std::string(Take(static_cast<std::uint64_t>(size)))});
          break;
        }
        case 'c': {  // GLOBAL
          const std::string module(Line());
          Push({Kind::kName, 0, module + " " + std::string(Line())});
          break;
        }
        case '}':
          Push({Kind::kDict});
          break;
        case ']':
        case ')':
          Push({Kind::kList});
          break;
        case 't':
          PushList(PopMarked());
          break;
        case 0x85:
        case 0x86:
        case 0x87: {  // TUPLE1 to TUPLE3
          std::vector<ItemRef> items(op - 0x84u);
          for (std::size_t i = items.size(); i-- > 0;) items[i] = Pop();
          PushList(std::move(items));
          break;
        }
        case 'e':
        case 'u': {  // APPENDS, SETITEMS
          const std::vector<ItemRef> items = PopMarked();
          std::vector<ItemRef>& to = Top()->items;
          to.insert(to.end(), items.begin(), items.end());
          break;
        }
        case 'a': {
          const ItemRef item = Pop();
          Top()->items.push_back(item);
          break;
        }
        case 's': {
          const ItemRef value = Pop();
          const ItemRef key = Pop();
          Top()->items.push_back(key);
          Top()->items.push_back(value);
          break;
        }
        case 'b':
          Pop();
          break;  // BUILD: _metadata
        case 'q':
          memo_[Whole(1)] = Top();
          break;
        case 'r':
          memo_[Whole(4)] = Top();
          break;
        case 'h':
          Recall(Whole(1));
          break;
        case 'j':
          Recall(Whole(4));
          break;
        case 'Q':
          Push(StorageOf(*Pop()));
          break;  // BINPERSID
        case 'R': {
          const ItemRef arguments = Pop();
          Call(*Pop(), *arguments);
          break;
        }
        default:
          Fail(ErrorKind::kUsage,
               "its pickle has an instruction that state dicts do not use: {}",
               int{op});
      }
    }
  }

 private:
  Bytes Take(std::uint64_t size) {
    const Bytes taken = PieceAt(code_, 0, size);
    code_.remove_prefix(size);
    return taken;
  }
  std::int64_t Whole(std::size_t width) {
    return static_cast<std::int64_t>(NumberAt(Take(width), 0, width));
  }
  Bytes Line() {
    const std::size_t end = code_.find('\n');
    if (end == Bytes::npos) Fail(ErrorKind::kUsage, "is cut off");
    return Take(end + 1).substr(0, end);
  }
  void Push(Item item) {
    stack_.push_back(std::make_shared<Item>(std::move(item)));
  }
  void PushList(std::vector<ItemRef> items) {
    Push({Kind::kList});
    Top()->items = std::move(items);
  }
  ItemRef Top() {
    if (stack_.empty()) Fail(ErrorKind::kUsage, "its pickle is damaged");
    return stack_.back();
  }
  ItemRef Pop() {
    ItemRef top = Top();
    stack_.pop_back();
    return top;
  }
  std::vector<ItemRef> PopMarked() {
    std::vector<ItemRef> items;
    while (Top()->kind != Kind::kMark) items.push_back(Pop());
    Pop();
    std::reverse(items.begin(), items.end());
    return items;
  }
  void Recall(std::int64_t index) {
    const auto at = memo_.find(index);
    if (at == memo_.end()) Fail(ErrorKind::kUsage, "its pickle is damaged");
    stack_.push_back(at->second);
  }
  static const Item& ItemAt(const Item& list, std::size_t i, Kind kind) {
    if (i >= list.items.size() || list.items[i]->kind != kind) {
      Fail(ErrorKind::kUsage, "its pickle is damaged");
    }
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

  void Call(const Item& name, const Item& arguments) {
    if (name.text == "collections OrderedDict") return Push({Kind::kDict});
    if (name.text == "torch._utils _rebuild_parameter") {
      return Push(ItemAt(arguments, 0, Kind::kTensor));
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
    for (const ItemRef& dim : ItemAt(arguments, 2, Kind::kList).items) {
      tensor.dims.push_back(dim->number);
    }
    std::int64_t stride = 1;
    const std::vector<ItemRef>& strides =
        ItemAt(arguments, 3, Kind::kList).items;
    for (std::size_t i = tensor.dims.size(); i-- > 0;) {
      if (strides.size() != tensor.dims.size())
        Fail(ErrorKind::kUsage, "its pickle is damaged");
      // Such a tensor has no numbers that stand one after another.
      if (tensor.dims[i] != 1 && strides[i]->number != stride)
        tensor.number = 1;
      stride *= std::max<std::int64_t>(tensor.dims[i], 1);
    }
    const std::uint64_t width = BitsPerElement(tensor.type) / 8;
    const auto offset =
        static_cast<std::uint64_t>(ItemAt(arguments, 1, Kind::kNumber).number);
    if (offset > storage.bytes.size()) Fail(ErrorKind::kUsage, "is cut off");
    tensor.bytes = tensor.number == 1
                       ? Bytes()
                       : PieceAt(storage.bytes, offset * width,
                                 CountElements(tensor.dims) * width);
    Push(std::move(tensor));
  }

  const std::map<std::string_view, Bytes>& files_;
  Bytes code_;
  std::vector<ItemRef> stack_;
  std::map<std::int64_t, ItemRef> memo_;
};

}  // namespace

std::vector<CheckpointTensor> ReadTorchTensors(Bytes file) {
  const std::map<std::string_view, Bytes> files = ReadZip(file);
  const auto order = files.find("byteorder");
  if (order != files.end() && order->second != "little") {
    Fail(ErrorKind::kUsage, "has numbers that are not little-endian");
  }
  ItemRef top = Machine(files).Run();
  // A checkpoint of a trainer holds the state dict beside other things.
  for (std::size_t i = 0; i + 1 < top->items.size(); i += 2) {
    if (top->items[i]->text == "state_dict" &&
        top->items[i + 1]->kind == Kind::kDict) {
      top = top->items[i + 1];
      break;
    }
  }
  std::vector<CheckpointTensor> tensors;
  for (std::size_t i = 0; i + 1 < top->items.size(); i += 2) {
    const Item& value = *top->items[i + 1];
    if (value.kind != Kind::kTensor || top->items[i]->kind != Kind::kText)
      continue;
    CheckpointTensor tensor{top->items[i]->text, value.type, value.dims};
    if (value.number == 1) {
      Fail(ErrorKind::kUsage,
           "{}: its numbers are not contiguous\n  save it with .contiguous()",
           tensor.name);
    }
    tensor.count = CountElements(tensor.dims);
    tensor.bytes = value.bytes;
    tensors.push_back(std::move(tensor));
  }
  if (tensors.empty()) Fail(ErrorKind::kUsage, "holds no state dict");
  return tensors;
}

}  // namespace onnx_tag::weights
