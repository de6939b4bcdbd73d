import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { defaultRules } from '#config';
import { systemClock } from '#core';
import { never } from '#helpers/never';
import { openScene } from '../enhancer-scene.ts';

const url = process.env['OLLAMA_URL'];

/** Prompts, each with the words that its improved version must contain unchanged. */
const details: readonly (readonly [string, ...string[]])[] = [
  ['explain the function parseHeader in src/net/head.ts', 'parseHeader', 'src/net/head.ts'],
  ['summarize https://example.com/a?b=17 in 250 words', 'https://example.com/a?b=17', '250'],
  ['write a letter to Anna Kowalska about invoice 48213', 'Kowalska', '48213'],
  ['why does "ECONNRESET at read" happen with node 24.3.1', 'ECONNRESET at read', '24.3.1'],
  ['run `npm ci --omit=dev` in /srv/app and report errors', 'npm ci --omit=dev', '/srv/app'],
  ['plan a trip to Lisbon from 2027-03-14 for 1850 EUR', 'Lisbon', '2027-03-14', '1850'],
  ['compare port 8443 with port 9090 for the admin page', '8443', '9090'],
  ['fix:\n```js\nconst a = [1, 2;\n```', 'const a = [1, 2;'],
  ['list 15 names for a cat', '15'],
  ['translate "guten Abend" for my grandmother', 'guten Abend'],
];

describe.skipIf(url === undefined)('a real Ollama, at OLLAMA_URL', () => {
  test('improves prompts with all their details, or gives the reason', async () => {
    await using probe = await openScene({ url });
    const models = await probe.models.list(never);
    const infos = await Promise.all(models.map(({ name }) => probe.models.find(name, never)));
    const model = infos.find(info => info?.capabilities?.includes('completion'))?.name;
    assert.ok(model !== undefined, 'it needs a model that completes');
    await using scene = await openScene({
      url,
      clock: systemClock,
      rule: {
        model,
        totalMs: 50_000,
        firstTokenMs: 20_000,
        loadMs: 20_000,
        options: { ...defaultRules.default.options, num_predict: 100 },
      },
    });
    for (const [prompt, ...wanted] of details) {
      const { prompt: result, enhanced, reason } = await scene.enhance(prompt);
      if (!enhanced) assert.ok(reason !== undefined && result === prompt, prompt);
      for (const detail of wanted) assert.ok(result.includes(detail), `${detail} in ${result}`);
    }
  }, 600_000);

  test('names the command that pulls a missing model', async () => {
    await using scene = await openScene({ url, rule: { model: 'not-there:1b' } });
    const { enhanced, reason = '' } = await scene.enhance('write a poem about the sea');
    assert.equal(enhanced, false);
    assert.match(reason, /^not-there:1b: .*"ollama pull not-there:1b"/);
  });
});
