import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, test } from 'vitest';
import { silent } from '#core';
import { createEmbeddedVectors, createQdrantVectors } from '#vectors';
import { qdrantDescription, startQdrant } from '../doubles/qdrant.ts';
import { vectorsContract } from './contract.ts';

const made = new AsyncDisposableStack();
afterAll(() => made.disposeAsync());

let places = 0;
const folder = await mkdtemp(join(tmpdir(), 'agenthub-vectors-'));
made.defer(() => rm(folder, { recursive: true, force: true }));

vectorsContract({
  name: 'in a file',
  async open(clock) {
    const file = join(folder, `${++places}`, 'vectors.db');
    const again = async () => {
      const vectors = createEmbeddedVectors(file, { clock, log: silent });
      await vectors.start(new AbortController().signal);
      return vectors;
    };
    return { vectors: await again(), again };
  },
});

const double = made.use(await startQdrant());

vectorsContract({ name: 'in the double of Qdrant', open: qdrantAt(double.url) });

test.skipIf(qdrantDescription === undefined)(
  'all requests to the double, and its responses, match the description of Qdrant 1.19',
  () => {
    assert.deepEqual(double.problems, []);
    assert.ok(double.calls.length > 500);
  },
);

const given = process.env['QDRANT_URL'];
if (given === undefined) test.skip('vectors in Qdrant: QDRANT_URL is not set', () => {});
else vectorsContract({ name: `in Qdrant at ${new URL(given).host}`, open: qdrantAt(given) });

/** Opens a deployment that no other test or hub uses. Its collections are dropped after the tests. */
function qdrantAt(url: string): Parameters<typeof vectorsContract>[0]['open'] {
  const apiKey = process.env['QDRANT_API_KEY'];
  return async clock => {
    const deployment = `tested-${process.pid}-${Date.now()}-${++places}`;
    made.defer(() => dropAll(url, `${deployment}-`));
    const again = async () => {
      const options = { url, deployment, ...(apiKey === undefined ? {} : { apiKey }) };
      const vectors = createQdrantVectors(options, { clock, log: silent });
      await vectors.start(new AbortController().signal);
      return vectors;
    };
    return { vectors: await again(), again };
  };
}

async function dropAll(url: string, prefix: string): Promise<void> {
  const headers = { 'api-key': process.env['QDRANT_API_KEY'] ?? '' };
  const listed = await (await fetch(`${url}/collections`, { headers })).text();
  for (const [, name = ''] of listed.matchAll(/"name":"([^"]*)"/g))
    if (name.startsWith(prefix))
      await fetch(`${url}/collections/${encodeURIComponent(name)}`, { method: 'DELETE', headers });
}
