import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { modelNamed, startOllama } from '../doubles/ollama.ts';
import { findDescription } from '../doubles/openapi.ts';
import { modelsContract } from './contract.ts';

const description = findDescription('ollama.yaml');
const problems: string[] = [];
let described = 0;

for (const listsCapabilities of [true, false])
  modelsContract({
    name: `over a double that ${listsCapabilities ? 'lists' : 'only shows'} capabilities`,
    async open() {
      const ollama = await startOllama({
        listsCapabilities,
        // No default models: the names of the models that are added below do not reveal their capabilities.
        models: [],
        observe(exchange) {
          const found = description?.problems(exchange);
          if (found) described++;
          problems.push(...(found ?? []));
        },
      });
      ollama.add(modelNamed('minilm', { capabilities: ['embedding'], contextLength: 256 }));
      ollama.add(modelNamed('embed-chat', { capabilities: ['completion'] }));
      ollama.says(({ format }) => (format ? '{"same": true}' : 'Hello, here is a longer answer.'));
      return ollama;
    },
  });

const url = process.env['OLLAMA_URL'];

describe.skipIf(url === undefined)('a real Ollama, at OLLAMA_URL', () => {
  modelsContract({
    name: 'over it',
    open: async () => ({ url: url ?? '', [Symbol.asyncDispose]: async () => {} }),
  });
});

describe.skipIf(!description)("Ollama's own description, in OPENAPI_DIR", () => {
  test('matches all requests and responses of the tests above', () => {
    assert.ok(described > 20, `only ${described} exchanges were looked at`);
    assert.deepEqual(problems, []);
  });
});
