import assert from 'node:assert/strict';
import { afterAll, beforeAll, beforeEach, test } from 'vitest';
import { type TestHub, startHub } from '#helpers/hub';
import { createUpgradesStub } from '../../installs/upgrades/stub.ts';
import { jsonOf } from '../hub.ts';
import { type FlatNeeds, run } from '../run.ts';

const { upgrades, asked } = createUpgradesStub();
let hub: TestHub;
beforeAll(async () => {
  hub = await startHub([], { upgrades });
});
afterAll(async () => await hub?.[Symbol.asyncDispose]());
beforeEach(() => void (asked.length = 0));

const cli = async (args: readonly string[], needs: FlatNeeds = {}) =>
  await run(args, { findHub: async () => hub.place, ...needs });

test('shows what a version changes, with invisible characters as codes, and asks', async () => {
  const { out, code } = await cli(['upgrade', 'one'], { ask: async () => 'n' });
  assert.equal(code, 0);
  const lines = out.split('\n');
  assert.equal(lines[0], 'one  n@1.0.0 → n@2.0.0');
  for (const line of [
    '  ~ tool add (changed)',
    '      - Adds.',
    '      + Adds<U+202E> two.',
    '      ... 13 more lines',
    '  + tool sub (added)',
    '  - tool mul (removed)',
    '  + permission mount:/x',
    '  - permission network:bridge',
    '  look tool sub has unseen characters',
    'one stays as it is.',
  ])
    assert.ok(lines.includes(line), `${line}\n${out}`);
  assert.deepEqual(asked, ['upgrade one - - true']);
});

test('accepts exactly the version that it has shown', async () => {
  const { out } = await cli(['upgrade', 'one', '--version', '1.5.0', '--yes']);
  assert.match(out, /^upgraded one to n@2\.0\.0\. To undo it: agenthub rollback one$/m);
  assert.deepEqual(asked, ['upgrade one 1.5.0 - true', 'upgrade one 2.0.0 digest false']);
});

test('without a name upgrades the outdated servers', async () => {
  const { out } = await cli(['upgrade', '--dry-run', '--json']);
  assert.deepEqual(asked, ['upgrade one - - true']);
  const answer = jsonOf(out);
  assert.match(JSON.stringify(answer), /^\{"servers":\[\{"name":"one"/);
});

test.each([
  [[], /^No server of this hub is a package of npm or PyPI\.$/],
  [
    [{ name: 'two', state: 'current', package: 'm', current: '2', newest: '2' }],
    /^All packages are up to date\.$/,
  ],
  [
    [{ name: 'four', state: 'unknown', package: 'p', current: '1', newest: null, why: 'away' }],
    /^No package is known to be outdated/,
  ],
] as const)('without an outdated server says so: %j', async (servers, expected) => {
  await using other = await startHub([], {
    upgrades: { ...upgrades, outdated: async () => servers },
  });
  const { out } = await run(['upgrade'], { findHub: async () => other.place });
  assert.match(out, expected);
});

test('--version without a server is refused, as it would apply to the packages of all servers', async () => {
  const { code, err } = await cli(['upgrade', '--version', '1.5.0', '--yes']);
  assert.deepEqual([code, asked], [2, []]);
  assert.equal(err, '--version: name the server: agenthub upgrade NAME --version 1.5.0');
});

test('without a terminal changes nothing unless --yes is given', async () => {
  const { code, err } = await cli(['upgrade', 'one']);
  assert.deepEqual([code, asked], [2, ['upgrade one - - true']]);
  assert.match(err, /Add --yes/);
});

test('an unknown server is an error of the command', async () => {
  const { code, err } = await cli(['upgrade', 'gone', '--yes']);
  assert.equal(code, 1);
  assert.match(err, /no server is called "gone"/);
});

test('rollback prints the version that runs now', async () => {
  assert.equal((await cli(['rollback', 'one'])).out, 'rolled back one: n@2.0.0 → n@1.0.0');
  assert.deepEqual(jsonOf((await cli(['rollback', 'one', '--json'])).out), {
    name: 'one',
    from: 'n@2.0.0',
    to: 'n@1.0.0',
  });
});

test('outdated lists servers that are not current, and with --all all servers', async () => {
  const { out } = await cli(['outdated']);
  assert.match(out, /^one +n +1\.0\.0 +2\.0\.0$/m);
  assert.match(out, /^three +o +- +1\.0\.0 +its entry names no exact version$/m);
  assert.match(out, /^four +p +1\.0\.0 +\? +away$/m);
  assert.doesNotMatch(out, /^two/m);
  assert.match((await cli(['outdated', '--all'])).out, /^two/m);
});

test('prune lists first, and removes after the answer yes', async () => {
  const dry = await cli(['prune', '--dry-run']);
  assert.equal(dry.out, 'agenthub/npm-n:1  300 MB  n@1.0.0');
  const declined = await cli(['prune'], { ask: async () => 'n' });
  assert.deepEqual([declined.code, declined.err], [1, 'Nothing was removed.']);
  assert.deepEqual(asked, ['prune true', 'prune true']);
  const done = await cli(['prune', '--yes']);
  assert.match(done.out, /^removed 1 image$/m);
  assert.match(done.err, /agenthub\/npm-o:1 stays: 1 other hub uses it/);
  assert.match((await cli(['prune', '--yes', '--json'])).out, /"left"/);
});
