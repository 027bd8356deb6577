// Does llama.cpp open our GGUF files, cut texts into the same tokens and give the same vectors? Run by hand:
//
//   mkdir /tmp/llama && cd /tmp/llama && npm install --ignore-scripts node-llama-cpp@3.22.1    (has llama.cpp prebuilt)
//   cp .../tests/golden/make/llama_cpp.mjs . && node llama_cpp.mjs VECTORS.jsonl FILE.gguf ...
//
// VECTORS.jsonl has a line {"text": ..., "embedding": [...]} for each text, as Cloze answers.
import fs from "fs";
import { getLlama } from "node-llama-cpp";

const [vectors, ...files] = process.argv.slice(2);
const expected = fs.readFileSync(vectors, "utf8").trim().split("\n").map((line) => JSON.parse(line));
const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
const llama = await getLlama({ build: "never", gpu: false, logLevel: "error" });
for (const modelPath of files) {
  const model = await llama.loadModel({ modelPath });
  const context = await model.createEmbeddingContext({ contextSize: 512 });
  let worst = 1;
  for (const { text, embedding } of expected) {
    const v = (await context.getEmbeddingFor(text)).vector;
    worst = Math.min(worst, dot(v, embedding) / Math.sqrt(dot(v, v) * dot(embedding, embedding)));
  }
  console.log(modelPath, "worst cosine", worst.toFixed(7), "of", expected.length);
  await context.dispose();
  await model.dispose();
}
process.exit(0);
