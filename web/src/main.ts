// A report: reads the data that the program wrote into the page and shows it.

import { ComparePage } from "./compare_page";
import type { ReportData } from "./format";
import { ModelPage } from "./model_page";
import { ZooPage } from "./zoo_page";

const root = document.getElementById("app")!;
const report = JSON.parse(document.getElementById("data")!.textContent!) as ReportData;
switch (report.kind) {
  case "model":
    new ModelPage(root, report, report.models[0]!, null);
    document.title = report.models[0]!.file + " – onnx-tag";
    break;
  case "compare":
    new ComparePage(root, report);
    document.title = report.models.map((model) => model.file).join(" and ") + " – onnx-tag";
    break;
  case "zoo":
    new ZooPage(root, report);
    document.title = report.zoo.length + " models – onnx-tag";
    break;
}
performance.mark("drawn");
