import assert from 'node:assert/strict';
import { fastify } from 'fastify';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { silent, systemClock } from '#core';
import { explained, textOf } from '#dashboard';
import type { Explanation } from '#enhance';
import { type TestHub, startHub } from '#helpers/hub';
import { caller } from '#helpers/principal';
import { createMetrics, redactText } from '#telemetry';
import { dashboardRoutes } from '../../hub/http/routes/dashboard.ts';
import { createLogin } from '../../hub/http/login.ts';
import { compareGuarded } from '../../hub/enhance/guards.ts';
import { type Scene, openScene } from '../enhance/enhancer-scene.ts';
import { leadsTo, owner, visitor } from './scene.ts';

let hub: TestHub;
let scene: Scene;
let page: ReturnType<typeof visitor>;
const app = fastify();

/** Serves the pages of the dashboard over a real enhancer. */
beforeAll(async () => {
  hub = await startHub([]);
  scene = await openScene();
  const prompts = async () => ({ enhancer: scene.enhancer, models: scene.models });
  dashboardRoutes(
    app,
    { token: undefined, administration: 'on' },
    {
      login: createLogin(
        { ownerKey: 'o'.repeat(43), token: undefined },
        { clock: systemClock, log: silent },
      ),
      admission: {
        principalOf: () => caller,
        refusalOf: () => undefined,
        mayAdminister: () => true,
      },
      servers: hub.servers,
      router: hub.router,
      hub: {
        version: '0.0.0-test',
        backend: 'process',
        health: async () => ({
          answer: { status: 'ok', uptime_seconds: 1, sessions: 0, parts: {} },
        }),
        usages: { read: async () => new Map() },
        access: {
          needsToken: () => false,
          clients: () => [],
          secrets: async () => [],
          revoke: async () => {},
        },
      },
      telemetry: {
        activity: hub.activity,
        metrics: createMetrics({ clock: systemClock, servers: () => [] }),
        redact: redactText,
      },
      jobs: hub.jobs,
      prompts: { open: prompts, health: { loaded: () => prompts() } },
      system: { clock: systemClock, log: silent, newId: () => 'id' },
    },
  );
  page = visitor({ url: await app.listen({ host: '127.0.0.1', port: 0 }) });
  for (const prompt of ['fix my code', 'fix my code', 'write a poem']) await scene.enhance(prompt);
});
afterAll(async () => {
  await app.close();
  await scene?.[Symbol.asyncDispose]();
  await hub?.[Symbol.asyncDispose]();
});

const factOf = (text: string, name: string) =>
  new RegExp(`<dt>${name}</dt><dd>([^<]*)</dd>`).exec(text)?.[1];

test('the caches are shown with hits, misses and entries', async () => {
  for (const path of ['/dashboard/caches', '/dashboard/caches-partial']) {
    const { status, text } = await page.get(path);
    assert.equal(status, 200);
    assert.deepEqual(
      ['Hits', 'Misses', 'Asked', 'Written by the model'].map(name => factOf(text, name)),
      ['1', '2', '3', '2'],
    );
    assert.match(factOf(text, 'Entries') ?? '', /^2 of /);
  }
});

test('the overview has their hit rates', async () => {
  assert.match((await page.get('/dashboard/stats-partial')).text, /Equal prompts<[\s\S]*33 % of 3/);
});

test('a prompt is explained: whether it is cached, under which rule and for which model', async () => {
  const ask = (prompt: string) =>
    page.post('/dashboard/caches', { prompt }, { 'hx-request': 'true' });
  assert.match((await ask('fix my code')).text, /badge good">kept for /);
  const { text } = await ask('something <b> else');
  assert.match(text, /badge idle">not cached/);
  assert.equal(factOf(text, 'Rule'), 'default');
  assert.match((await ask(' ')).text, /notice bad" role="alert">prompt: is empty/);
  const whole = await page.post('/dashboard/caches', {
    prompt: 'something <b> else',
    client: 'codex',
  });
  assert.match(whole.text, /required>something &lt;b&gt; else<\/textarea>/);
  assert.match(whole.text, /name="client" value="codex"/);
  assert.match(whole.text, /<h1>Caches<\/h1>/);
});

test('a cache that does not know whether it has a prompt is not shown as a miss', () => {
  const found = {
    client: 'codex',
    rule: 'default',
    model: 'llama3.2:3b',
    digest: undefined,
    refused: undefined,
    semantic: undefined,
  };
  const error = 'Redis did not answer';
  const text = textOf(
    explained({
      prompt: 'p',
      client: '',
      found: { ...found, exact: { key: 'k', ageMs: undefined, error } },
    }),
  );
  assert.match(text, /badge warn">not known<[\s\S]*Redis did not answer/);
  assert.doesNotMatch(text, /not cached/);
});

test.each([
  [{ value: 0.7, from: 'rule' }, 'guarded, threshold 0.70, set by the rule'],
  [{ value: 0.734, from: 'calibration' }, 'guarded, threshold 0.73, calibrated'],
  [{ value: undefined, from: 'calibration' }, 'guarded, threshold not calibrated yet'],
] as const)('the threshold %j is shown as %j', (threshold, expected) => {
  const semantic = { mode: 'guarded', threshold, entries: [] } as const;
  const found = {
    client: 'codex',
    rule: 'default',
    model: 'llama3.2:3b',
    digest: undefined,
    refused: undefined,
    exact: { key: 'k', ageMs: undefined },
    semantic,
  };
  const text = textOf(explained({ prompt: 'p', client: '', found }));
  assert.equal(factOf(text, 'Similar prompts'), expected);
});

describe('the similar prompts of a prompt', () => {
  const shown = (semantic: Partial<NonNullable<Explanation['semantic']>>) =>
    textOf(
      explained({
        prompt: 'p',
        client: '',
        found: {
          client: 'codex',
          rule: 'default',
          model: 'llama3.2:3b',
          digest: 'd',
          refused: undefined,
          exact: { key: 'k', ageMs: undefined },
          semantic: {
            mode: 'guarded',
            threshold: { value: 0.7, from: 'rule' },
            entries: [],
            ...semantic,
          },
        },
      }),
    );

  test('are shown with the words that were compared', () => {
    const { why } = compareGuarded('parse the file', 'do not parse the file');
    assert.match(why, /“not”/);
    const entry = { prompt: 'do not parse', similarity: 0.9, ageMs: 1, label: undefined };
    const text = shown({ entries: [{ ...entry, verdict: 'different', why }] });
    assert.ok(text.includes(`different <span class="note">${why}</span>`), text);
  });

  test('are shown as unknown after an error, with the error', () => {
    assert.match(shown({}), /No cached prompt is similar/);
    const text = shown({ error: 'Ollama has no model nomic-embed-text. It is being pulled' });
    assert.match(text, /notice bad">Ollama has no model nomic-embed-text/);
    assert.doesNotMatch(text, /No cached prompt is similar/);
  });
});

test('clearing removes all results, and says how many', async () => {
  const way = leadsTo(await page.post('/dashboard/actions/clear-cache'));
  const { text } = await page.get(way);
  assert.match(text, /notice good">Cleared 2 results from the caches\./);
  assert.match(factOf(text, 'Entries') ?? '', /^0 of /);
});

test('a hub that improves no prompts says so in place of its caches', async () => {
  assert.match(
    (await owner(hub).get('/dashboard/caches')).text,
    /This hub does not improve prompts\./,
  );
  assert.equal((await owner(hub).post('/dashboard/actions/clear-cache')).status, 409);
});
