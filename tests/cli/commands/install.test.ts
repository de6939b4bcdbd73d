import assert from 'node:assert/strict';
import { afterAll, beforeAll, test } from 'vitest';
import { openCatalogHub } from '../../catalog/scene.ts';
import { type FlatNeeds, run } from '../run.ts';

const postgres = 'io.github.someone/postgres-mcp';
let scene: Awaited<ReturnType<typeof openCatalogHub>>;
let isOn = true;
beforeAll(async () => {
  scene = await openCatalogHub({ isOn: () => isOn });
});
afterAll(async () => await scene?.[Symbol.asyncDispose]());

const cli = async (args: readonly string[], needs: FlatNeeds = {}) =>
  await run(args, { findHub: async () => scene.hub.place, ...needs });

test('search prints a table, and a note if the registry is unreachable', async () => {
  const { out, err } = await cli(['search', 'postgres']);
  assert.match(out, /^NAME +VERSION +KIND +PUBLISHER +DESCRIPTION\n/);
  assert.match(
    out,
    /^io\.github\.someone\/postgres-mcp +2\.0\.0 +npm, oci, remote +someone \(GitHub\) +Reads and writes PostgreSQL\. \(42 stars\)$/m,
  );
  assert.match(err, /"agenthub install NAME"/);
  assert.equal(
    (await cli(['search', 'nothing-of-that-kind'])).out,
    'The registry has no such server.',
  );
  assert.match(
    (await cli(['search', 'tickets'])).out,
    /\[deprecated\] Tickets of a postgres<U\+202E> shop/,
  );
  scene.registry.fault = 'fails';
  const offline = await cli(['search', 'postgres']);
  scene.registry.fault = undefined;
  assert.equal(offline.out, out);
  assert.match(offline.err, /^warning: this is \d+s old: .* was not reached: it answers 500$/m);
});

test('--dry-run shows each option, its values, and why an option is refused', async () => {
  const { out } = await cli(['install', postgres, '--dry-run']);
  const lines = out.split('\n');
  for (const line of [
    'io.github.someone/postgres-mcp 2.0.0  PostgreSQL',
    '  option 0: npm echo@1.0.0',
    '    DATABASE_PASSWORD (required, secret): Of the user',
    '    mode (ro|rw, default ro)',
    '    refused: the hub does not hand on the option "--privileged" of its runtime',
  ])
    assert.ok(lines.includes(line), `${line}\n${out}`);
  assert.match((await cli(['install', postgres, '--dry-run', '--json'])).out, /"options"/);
  assert.match(
    (await cli(['install', 'com.example/tickets', '--dry-run'])).err,
    /it is deprecated\. Use tickets-2\./,
  );
});

test('asks for required values, and hides secret ones', async () => {
  const questions: [string, string | undefined][] = [];
  const ask: NonNullable<FlatNeeds['ask']> = async (question, _signal, kind) => {
    questions.push([question.split(' ')[0] ?? '', kind]);
    return question.startsWith('DATABASE_PASSWORD') ? 'hunter2!' : 'y';
  };
  const { code, err } = await cli(['install', postgres, '--name', 'shop'], { ask });
  // The config of this test has no source of secrets.
  assert.deepEqual([code, scene.installing.launched], [2, []]);
  assert.match(err, /secret SHOP_DATABASE_PASSWORD is not set/);
  assert.deepEqual(questions.slice(0, 2), [
    ['DATABASE_PASSWORD', 'hidden'],
    ['database', undefined],
  ]);
  assert.equal(scene.secrets.get('SHOP_DATABASE_PASSWORD'), 'hunter2!');
});

test.each([
  [['--set', 'x'], 2, /a name is missing/],
  [
    ['--set', 'other=1', '--set', 'DATABASE_PASSWORD=a', '--set', 'database=b'],
    2,
    /"other" is not asked for/,
  ],
  [['--option', '1'], 2, /cannot be installed: .*--privileged/],
  [['--option', '9'], 2, /--option/],
  [[], 2, /needs values that the request does not give: env\.DATABASE_PASSWORD/],
])('%j', async (args, code, message) => {
  const done = await cli(['install', postgres, ...args]);
  assert.equal(done.code, code, done.err);
  assert.match(done.err, message);
});

test('a catalog that is off is reported as off', async () => {
  isOn = false;
  const { code, err } = await cli(['search', 'postgres']);
  isOn = true;
  assert.equal(code, 2);
  assert.match(err, /the catalog is off/);
});

test('an invalid option is reported by its flag, not by a path in the config file', async () => {
  const values = ['--set', 'database=app', '--set', 'DATABASE_PASSWORD=x'];
  const { code, err } = await cli(['install', postgres, ...values, '--mount', 'foo']);
  assert.equal(code, 2);
  assert.match(err, /^--mount: "foo" is not allowed: write "source:target"/m);
});
