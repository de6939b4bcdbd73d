import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { findingsOf, ollamaIn, partsOfHub } from '../../hub/cli/ollama-report.ts';
import { createScriptedHub, responseOf } from './scripted-hub.ts';

const missing = { model: 'm:1', use: 'judge', message: 'The judge is missing', isPulled: false };
const well = { state: 'up', detail: 'Ollama 0.24.0', missing: [] };

describe('the Ollama of a running hub', () => {
  const ask = async (body: string, status = 200) =>
    ollamaIn(
      await partsOfHub(
        createScriptedHub({ send: async () => responseOf({ status, body: [body] }) }).hub,
      ),
    );

  test('is the one in /health, also if /health responds with 503', async () => {
    const { isPulled, ...shown } = missing;
    const ollama = {
      state: 'degraded',
      detail: 'Ollama 0.24.0. The judge is missing',
      missing_models: [{ ...shown, is_pulled: isPulled }, { ...shown, is_pulled: true }, 'no'],
    };
    assert.deepEqual(await ask(JSON.stringify({ parts: { ollama } }), 503), {
      state: 'degraded',
      detail: 'Ollama 0.24.0. The judge is missing',
      missing: [missing, { ...missing, isPulled: true }],
    });
  });

  test('is unknown if /health does not have it', async () => {
    const unknown = { state: 'unknown', detail: '', missing: [] };
    for (const body of ['{}', 'proxy', '{"parts": {}}']) assert.deepEqual(await ask(body), unknown);
  });
});

test.each([
  [well, { summary: 'Ollama 0.24.0', problems: [], notes: [] }],
  [
    { ...well, state: 'unknown', detail: '' },
    { summary: 'unknown', problems: [], notes: [] },
  ],
  [
    { ...well, state: 'down', detail: 'it is away' },
    { summary: 'see below', problems: ['it is away'], notes: [] },
  ],
  [
    { ...well, state: 'degraded', detail: 'it failed too often' },
    { summary: 'see below', problems: ['it failed too often'], notes: [] },
  ],
  [
    { ...well, state: 'degraded', missing: [missing] },
    { summary: 'see below', problems: [missing.message], notes: [] },
  ],
  [
    { ...well, state: 'degraded', missing: [{ ...missing, isPulled: true }] },
    { summary: 'see below', problems: [], notes: [missing.message] },
  ],
  [
    { ...well, missing: [{ ...missing, use: 'fallback' }] },
    { summary: 'see below', problems: [], notes: [missing.message] },
  ],
])('the report %j is shown as %j', (report, expected) => {
  assert.deepEqual(findingsOf(report), expected);
});
