// Does llama.cpp open our GGUF files, cut texts into the same tokens and give the same vectors? Run by hand:
//
//   mkdir /tmp/llama && cd /tmp/llama && npm install --ignore-scripts node-llama-cpp@3.22.1    (has llama.cpp prebuilt)
//   cp .../tests/golden/make/llama_cpp.mjs . && node llama_cpp.mjs VECTORS.jsonl FILE.gguf ...
//
// VECTORS.jsonl has a line {"text": ..., "embedding": [...], "ids": [...]} for each text, as `cloze encode` and `cloze tokenize` answer; ids
// are those with the tokens around a text.
import fs from "fs";
import { getLlama } from "node-llama-cpp";

const [vectors, ...files] = process.argv.slice(2);
const expected = fs.readFileSync(vectors, "utf8").trim().split("\n").map((line) => JSON.parse(line));
const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
const llama = await getLlama({ build: "never", gpu: false, logLevel: "error" });
for (const modelPath of files) {
  const model = await llama.loadModel({ modelPath });
  const context = await model.createEmbeddingContext({ contextSize: 512 });
  let worst = 1, others = 0;
  for (const { text, embedding, ids } of expected) {
    const own = [...model.tokenize(text)];
    if (ids && own.join() !== ids.slice(1, -1).join()) {
      others += 1;
      console.log("other tokens:", JSON.stringify(text), own.join(), "for", ids.slice(1, -1).join());
    }
    // As llama.cpp does; node-llama-cpp leaves the first token out of a SentencePiece vocabulary.
    const { bos, eos, shouldPrependBosToken, shouldAppendEosToken } = model.tokens;
    const whole = [...(shouldPrependBosToken ? [bos] : []), ...own, ...(shouldAppendEosToken ? [eos] : [])];
    const v = (await context.getEmbeddingFor(whole)).vector;
    worst = Math.min(worst, dot(v, embedding) / Math.sqrt(dot(v, v) * dot(embedding, embedding)));
  }
  console.log(modelPath, "worst cosine", worst.toFixed(7), "of", expected.length, "texts,", others, "with other tokens");
  await context.dispose();
  await model.dispose();
}
process.exit(0);
