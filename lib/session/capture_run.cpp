#include "lib/session/capture_run.h"

#include "lib/isolate/programs.h"
#include "lib/isolate/supervisor.h"
#include "lib/model/apply_values.h"
#include "lib/model/capture.h"
#include "lib/spec/schema_table.h"
#include "opreplay/error.h"

namespace opreplay {

ValueCapture capture_with_values(const std::filesystem::path& file, std::int64_t max_bytes,
                                 double timeout_s) {
  const Pt2Model model = read_pt2(file);
  ValueCapture result;
  result.captured = capture_graph(model, shipped_schemas());

  SupervisorOptions options;
  options.launcher = program_file("opreplay-launcher");
  options.worker = program_file("libopreplay_worker.so");
  Supervisor supervisor(load_profile("cpu"), options);
  GraphRunRequest request;
  request.graph = model.graph;
  request.file = std::filesystem::absolute(file).string();
  request.max_bytes = max_bytes;
  const Exchange answer = supervisor.exchange(MessageKind::run_graph, encode(request), timeout_s);
  if (answer.ending != Ending::answered)
    throw Error(ExitCode::invalid_input, file.string() + ": running the graph failed: " +
                                             describe(answer) + "; capture without --run works");
  result.run = decode_graph_run(answer.payload);
  apply_values(result.captured, result.run);
  return result;
}

}  // namespace opreplay
