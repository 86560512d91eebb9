// Reads the profiles that are known. The contents of a file say which it is.
#ifndef ONNX_TAG_PROFILE_READ_PROFILE_H_
#define ONNX_TAG_PROFILE_READ_PROFILE_H_

#include <string_view>

#include "base/bytes.h"
#include "profile/profile.h"

namespace onnx_tag::profile {

// All throw Error(kInput) if the file is something else, and Error(kUsage) if
// it does not have `measure`. `measure` "time" is also the default column of a
// table.
//
// `layers` is the file of `trtexec --exportLayerInfo`; empty: there is none.
Profile ReadProfile(Bytes file, std::string_view measure = Measure::kTime,
                    Bytes layers = {});

// `measure` is "time", or a number among the arguments of a kernel's event:
// "output_size", "mem_in_use_peak".
Profile ReadOrtProfile(Bytes json, std::string_view measure = Measure::kTime);

// The file of `trtexec --exportProfile`. The time of a layer that was made of
// several nodes is divided equally among them.
Profile ReadTensorRtProfile(Bytes json, Bytes layers);

// Lines of names and numbers between tabs. The first column is the name of a
// node or of a value, `measure` the head of the column to take.
Profile ReadTableProfile(Bytes tsv, std::string_view measure);

}  // namespace onnx_tag::profile

#endif  // ONNX_TAG_PROFILE_READ_PROFILE_H_
