// Asks Perfetto's own engine, compiled to WebAssembly, about a trace. Runs it as its user interface does: in the place of a
// worker, with messages of its remote procedure calls. Prints the rows of each query as a line of JSON; numbers as text,
// since a number of JavaScript cannot hold 64 bits.
//
//     node trace_processor.mjs FOLDER_OF_THE_ENGINE TRACE QUERY...

import { readFileSync } from "node:fs";
import { join } from "node:path";
import vm from "node:vm";

const [engineFolder, tracePath, ...queries] = process.argv.slice(2);

// Numbers of trace_processor.proto
const METHOD = { appendTraceData: 1, finalizeTraceData: 2, query: 3 };
const FIELD = {
  message: 1,
  sequence: 1,
  request: 2,
  fatalError: 5,
  appendTraceData: 101,
  queryArgs: 103,
  appendResult: 201,
  queryResult: 203,
};
const CELL = { null: 1, varint: 2, float64: 3, string: 4 };

// How much of a trace is handed over at once: below the 32 MiB that the engine takes.
const PART_BYTES = 16 << 20;

// --- protobuf, as much as is needed ---

function varint(value) {
  const bytes = [];
  for (value = BigInt(value); value >= 128n; value >>= 7n) bytes.push(Number(value & 127n) | 128);
  bytes.push(Number(value));
  return Buffer.from(bytes);
}

const numberField = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);
const bytesField = (field, bytes) => Buffer.concat([varint(field * 8 + 2), varint(bytes.length), bytes]);

function* varints(bytes) {
  let value = 0n, shift = 0n;
  for (const byte of bytes) {
    value |= BigInt(byte & 127) << shift;
    shift += 7n;
    if (byte < 128) {
      yield BigInt.asIntN(64, value);
      [value, shift] = [0n, 0n];
    }
  }
}

// Fields as [number, value]: a BigInt or bytes.
function* fields(bytes) {
  let at = 0;
  const number = () => {
    const start = at;
    while (bytes[at++] >= 128);
    return varints(bytes.subarray(start, at)).next().value;
  };
  while (at < bytes.length) {
    const tag = Number(number());
    const kind = tag & 7;
    if (kind === 0) {
      yield [tag >> 3, number()];
    } else {
      const length = kind === 2 ? Number(number()) : kind === 1 ? 8 : 4;
      yield [tag >> 3, bytes.subarray(at, at + length)];
      at += length;
    }
  }
}

const text = (bytes) => Buffer.from(bytes).toString("utf8");

// --- the engine ---

function startEngine() {
  const { port1, port2 } = new MessageChannel();
  // The engine finds its own file by its name, and looks for a worker around it.
  globalThis.self = globalThis;
  globalThis.WorkerGlobalScope = class {};
  globalThis.location = { href: "http://engine/engine_bundle.js", pathname: "/engine_bundle.js" };
  globalThis.XMLHttpRequest = class {
    open(_method, url) {
      this.url = url;
    }
    send() {
      this.response = new Uint8Array(readFileSync(join(engineFolder, this.url.split("/").pop())));
    }
  };
  for (const level of ["log", "warn"]) console[level] = () => {}; // its own chatter
  const nodeProcess = globalThis.process;
  delete globalThis.process; // else it would take this for Node, for which it is not built
  vm.runInThisContext(readFileSync(join(engineFolder, "engine_bundle.js"), "utf8"));
  globalThis.process = nodeProcess;
  globalThis.onmessage({ data: port1 });
  return port2;
}

const port = startEngine();
const waiting = [];
let buffered = Buffer.alloc(0);

port.on("message", (data) => {
  buffered = Buffer.concat([buffered, Buffer.from(data)]);
  for (const [number, bytes] of fields(buffered)) {
    if (number !== FIELD.message) throw new Error(`field ${number} where an answer is expected`);
    take(bytes);
  }
  buffered = Buffer.alloc(0);
});

function take(message) {
  const answer = { rows: [], names: [], isLast: true };
  for (const [number, value] of fields(message)) {
    if (number === FIELD.fatalError) throw new Error(text(value));
    if (number === FIELD.appendResult) for (const [n, v] of fields(value)) if (n === 2) throw new Error(text(v));
    if (number === FIELD.queryResult) readResult(value, answer);
  }
  const waiter = waiting[0];
  waiter.names.push(...answer.names);
  waiter.cells.push(...answer.rows);
  if (answer.isLast) waiting.shift().resolve(waiter);
}

function readResult(bytes, answer) {
  answer.isLast = false;
  for (const [number, value] of fields(bytes)) {
    if (number === 1) answer.names.push(text(value));
    if (number === 2 && value.length > 0) throw new Error(text(value));
    if (number === 3) readBatch(value, answer);
  }
}

function readBatch(bytes, answer) {
  const batch = new Map(fields(bytes));
  const cells = batch.get(1) ?? [];
  const numbers = [...varints(batch.get(2) ?? [])];
  const doubles = batch.get(3) ?? Buffer.alloc(0);
  const strings = text(batch.get(5) ?? []).split("\0");
  let [nextNumber, nextDouble, nextString] = [0, 0, 0];
  for (const cell of cells) {
    if (cell === CELL.varint) answer.rows.push(numbers[nextNumber++].toString());
    else if (cell === CELL.float64) answer.rows.push(String(Buffer.from(doubles).readDoubleLE(8 * nextDouble++)));
    else if (cell === CELL.string) answer.rows.push(strings[nextString++]);
    else if (cell === CELL.null) answer.rows.push(null);
    else throw new Error(`a cell of kind ${cell}`);
  }
  answer.isLast = Boolean(batch.get(6));
}

let sequence = 0;
function ask(method, args = Buffer.alloc(0)) {
  const message = Buffer.concat([numberField(FIELD.sequence, ++sequence), numberField(FIELD.request, method), args]);
  return new Promise((resolve) => {
    waiting.push({ resolve, names: [], cells: [] });
    port.postMessage(new Uint8Array(bytesField(FIELD.message, message)));
  });
}

// --- the work ---

process.on("uncaughtException", (error) => {
  process.stderr.write(`${error.stack ?? error}\n`);
  process.exit(1);
});

// The engine begins when its file is compiled; a message before that is lost.
await new Promise((resolve) => setTimeout(resolve, 0));
const trace = readFileSync(tracePath);
for (let at = 0; at < trace.length; at += PART_BYTES) {
  await ask(METHOD.appendTraceData, bytesField(FIELD.appendTraceData, trace.subarray(at, at + PART_BYTES)));
}
await ask(METHOD.finalizeTraceData);
for (const query of queries) {
  const { names, cells } = await ask(METHOD.query, bytesField(FIELD.queryArgs, bytesField(1, Buffer.from(query))));
  const rows = [];
  for (let at = 0; at < cells.length; at += names.length) rows.push(cells.slice(at, at + names.length));
  process.stdout.write(JSON.stringify(rows) + "\n");
}
port.close();
