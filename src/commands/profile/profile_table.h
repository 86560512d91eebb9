// The lines of a rolled-up profile for people: a table, or the module tree as
// `show` prints it.
#ifndef ONNX_TAG_COMMANDS_PROFILE_PROFILE_TABLE_H_
#define ONNX_TAG_COMMANDS_PROFILE_PROFILE_TABLE_H_

#include "commands/options.h"
#include "commands/profile/profile_output.h"
#include "commands/read/tag_source.h"
#include "io/terminal.h"

namespace onnx_tag {

void PrintProfileTable(const TaggedModel& model, const ProfileReport& report,
                       const ProfileOptions& options, Terminal& terminal);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_PROFILE_PROFILE_TABLE_H_
