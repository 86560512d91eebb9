// Field numbers of the ONNX specification (IR version 13).
#ifndef ONNX_TAG_MODEL_ONNX_FIELDS_H_
#define ONNX_TAG_MODEL_ONNX_FIELDS_H_

#include <cstdint>

namespace onnx_tag::onnx {

struct ModelProto {
  enum : std::uint32_t {
    kIrVersion = 1,
    kProducerName = 2,
    kProducerVersion = 3,
    kGraph = 7,
    kOpsetImport = 8,
    kMetadataProps = 14,
    kTrainingInfo = 20,
    kFunctions = 25,
  };
};

struct OperatorSetIdProto {
  enum : std::uint32_t { kDomain = 1, kVersion = 2 };
};

struct StringStringEntryProto {
  enum : std::uint32_t { kKey = 1, kValue = 2 };
};

struct GraphProto {
  enum : std::uint32_t {
    kNode = 1,
    kName = 2,
    kInitializer = 5,
    kInput = 11,
    kOutput = 12,
    kValueInfo = 13,
    kSparseInitializer = 15,
    kMetadataProps = 16,
  };
};

struct NodeProto {
  enum : std::uint32_t {
    kInput = 1,
    kOutput = 2,
    kName = 3,
    kOpType = 4,
    kAttribute = 5,
    kDocString = 6,
    kDomain = 7,
    kOverload = 8,
    kMetadataProps = 9,
  };
};

struct AttributeProto {
  enum : std::uint32_t {
    kName = 1,
    kF = 2,
    kI = 3,
    kS = 4,
    kT = 5,
    kG = 6,
    kFloats = 7,
    kInts = 8,
    kStrings = 9,
    kGraphs = 11,
    kType = 20,
    kRefAttrName = 21,
  };
};

struct TensorProto {
  enum : std::uint32_t {
    kDims = 1,
    kDataType = 2,
    kInt32Data = 5,
    kInt64Data = 7,
    kName = 8,
    kRawData = 9,
    kExternalData = 13,
    kDataLocation = 14,
  };
};

struct SparseTensorProto {
  enum : std::uint32_t { kValues = 1, kDims = 3 };
};

struct ValueInfoProto {
  enum : std::uint32_t { kName = 1, kType = 2, kMetadataProps = 4 };
};

struct TypeProto {
  enum : std::uint32_t { kTensorType = 1 };
};

struct TypeProtoTensor {
  enum : std::uint32_t { kElemType = 1, kShape = 2 };
};

struct TensorShapeProto {
  enum : std::uint32_t { kDim = 1 };
};

struct TensorShapeDimension {
  enum : std::uint32_t { kDimValue = 1 };
};

struct FunctionProto {
  enum : std::uint32_t {
    kName = 1,
    kInput = 4,
    kOutput = 5,
    kNode = 7,
    kDomain = 10,
    kValueInfo = 12,
    kOverload = 13,
    kMetadataProps = 14,
  };
};

struct TrainingInfoProto {
  enum : std::uint32_t { kInitialization = 1, kAlgorithm = 2 };
};

}  // namespace onnx_tag::onnx

#endif  // ONNX_TAG_MODEL_ONNX_FIELDS_H_
