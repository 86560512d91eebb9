// Makes the pictures of docs/guide/report.md: opens reports in a real browser and takes what is on the screen.
//
//   node web/pictures.mjs BINARY [FOLDER [PAGE]]      FOLDER: where to write instead of docs/pictures
//
// `pngquant --quality 80-98 --speed 1 --strip --ext .png --force docs/pictures/*.png` then takes two thirds of the bytes.
// PAGE is the folder that web/build_page.sh made; without it, page.png stays. The models are those of the tests, so that anybody
// can make the pictures again.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

import { launch, serve } from "./test/launch.mjs";
import { layered, model } from "./test/onnx.mjs";

const [binary, out = join(import.meta.dirname, "../docs/pictures"), made] = process.argv.slice(2);
const bert = join(import.meta.dirname, "../tests/models/bert_tiny/model.onnx");
const folder = mkdtempSync(join(tmpdir(), "pictures-"));
const run = (...words) => {
  try {
    // In the folder, so that no picture shows its random name.
    execFileSync(resolve(binary), words, { stdio: "ignore", cwd: folder });
  } catch (error) {
    if (error.status !== 5) throw error; // a zoo with a file that cannot be read
  }
};
const write = (name, content) => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};

const { browser, open } = await launch(join(folder, "profile"));
const shoot = async (name, page, hash, { width = 1440, height = 900, dark = false } = {}) => {
  const shown = await open(pathToFileURL(page).href, hash, { width, dark });
  await shown.setViewportSize({ width, height });
  await shown.waitForTimeout(600); // the icicle moves
  await shown.screenshot({ path: join(out, name) });
  await shown.close();
};

try {
  const page = join(folder, "bert.html");
  run("report", bert, "-o", page);
  await shoot("report.png", page, "module=encoder.layer.0&by=flops");
  await shoot("report-sizes.png", page, "tab=sizes&by=flops&sizes=sequence%3D1024&module=encoder.layer.0");
  await shoot("report-dark.png", page, "module=encoder.layer.1&tab=flow&by=parameters", { dark: true });

  const changed = layered(12);
  for (let i = 0; i < 12; i++) {
    const { outputs } = changed.nodes.find((one) => one.name.startsWith(`/encoder/layer.${i}/`));
    const op = i === 7 ? "QuantizeLinear" : "Identity";
    changed.nodes.push({ op, name: `/encoder/layer.${i}/${op}`, inputs: outputs, outputs: ["extra" + i] });
  }
  const two = join(folder, "two.html");
  run("report", write("model.onnx", model(layered(12))), write("model.changed.onnx", model(changed)), "-o", two);
  await shoot("report-compare.png", two, "");

  const zoo = join(folder, "zoo");
  mkdirSync(zoo);
  execFileSync("cp", [bert, join(zoo, "bert_tiny.onnx")]);
  for (const layers of [2, 6, 12]) writeFileSync(join(zoo, `encoder_${layers}.onnx`), model(layered(layers)));
  writeFileSync(join(zoo, "broken.onnx"), "not a model");
  run("report", "zoo", "--out-dir", "pages");
  await shoot("report-zoo.png", join(folder, "pages/index.html"), "", { height: 420 });

  if (made) {
    const { server, address } = await serve(made);
    const shown = await open(address, "", { mark: "welcome" });
    await shown.locator("#example").click();
    await shown.waitForFunction(() => performance.getEntriesByName("drawn").length > 0);
    await shown.locator("#find").fill("? type=attention and layer=0");
    await shown.locator(".found .total").waitFor();
    await shown.waitForTimeout(600);
    await shown.screenshot({ path: join(out, "page.png") });
    server.close();
  }
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
