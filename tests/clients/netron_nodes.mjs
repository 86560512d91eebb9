// What Netron would show for each node: `node netron_nodes.mjs NETRON_PACKAGE MODEL [ATTACHMENT]` prints
// [{name, type, metadata}]; ATTACHMENT is a file that a user opens while the model is open. With one, initializers follow
// the nodes, of type "tensor".
//
// Netron's own model code runs here, without a browser: a host that answers what the code asks of a window.
import * as fs from 'fs';
import * as os from 'os';
import * as path from 'path';
import { pathToFileURL } from 'url';

const [netron, file, attachment] = process.argv.slice(2);

// The package is meant for browsers and does not say that its files are ES modules; a copy can.
const copy = fs.mkdtempSync(path.join(os.tmpdir(), 'netron-'));
process.on('exit', () => fs.rmSync(copy, { recursive: true, force: true }));
fs.writeFileSync(path.join(copy, 'package.json'), JSON.stringify({ type: 'module' }));
for (const entry of fs.readdirSync(netron)) {
    if (/\.(js|json)$/.test(entry)) {
        fs.copyFileSync(path.join(netron, entry), path.join(copy, entry));
    }
}
const module = (name) => import(pathToFileURL(path.join(copy, `${path.basename(name, '.js')}.js`)));
const asset = async (name, encoding = 'utf-8') => fs.readFileSync(path.join(copy, name), encoding);

const { BinaryStream } = await module('base');
const { ModelFactoryService, View } = await module('view');
const stream = (name) => new BinaryStream(new Uint8Array(fs.readFileSync(name)));
const fail = (error) => { throw error; };
const host = { window: null, document: null, environment: () => null, event: () => {}, exception: fail,
    require: module, asset };
const context = (file) => ({
    identifier: path.basename(file), name: path.basename(file), entries: new Map(), stream: stream(file),
    require: module, asset, request: asset, error: fail,
    fetch: async (name) => stream(path.join(path.dirname(file), name)),
});
const model = await new ModelFactoryService(host).open(context(file));
let shown = (node) => node.metadata || [];
if (attachment) {
    const view = Object.create(View.prototype);
    view._model = model;
    if (!await view.attach(context(attachment))) {
        throw new Error('Netron takes it for no attachment');
    }
    shown = (node) => model.attachment.metadata.node(node);
}
const nodes = model.modules[0].nodes.map((node) => ({
    name: node.name, type: node.type.name,
    metadata: Object.fromEntries(shown(node).map((entry) => [entry.name, String(entry.value)])),
}));
const tensors = new Map();
for (const node of attachment ? model.modules[0].nodes : []) {
    for (const value of (node.inputs || []).flatMap((input) => input.value || [])) {
        if (value.initializer) {
            tensors.set(value.name, model.attachment.metadata.tensor(value.initializer));
        }
    }
}
for (const [name, entries] of tensors) {
    nodes.push({ name, type: 'tensor', metadata: Object.fromEntries(entries.map((entry) => [entry.name, String(entry.value)])) });
}
fs.writeSync(1, JSON.stringify(nodes));
