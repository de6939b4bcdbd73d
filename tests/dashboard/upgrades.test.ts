import assert from 'node:assert/strict';
import { afterAll, beforeAll, beforeEach, test } from 'vitest';
import { type TestHub, startHub } from '#helpers/hub';
import { createUpgradesStub } from '../installs/upgrades/stub.ts';
import { leadsTo, owner, visitor } from './scene.ts';

const { upgrades, asked } = createUpgradesStub();
let hub: TestHub;
let page: ReturnType<typeof visitor>;
beforeAll(async () => {
  hub = await startHub([{ name: 'one', file: 'echo.mjs' }], { upgrades });
  page = owner(hub);
});
beforeEach(() => void (asked.length = 0));
afterAll(async () => await hub?.[Symbol.asyncDispose]());

test('the versions of servers are listed, with links to newer ones and back', async () => {
  assert.match((await page.get('/dashboard')).text, /href="\/dashboard\/versions"/);
  const { text } = await page.get('/dashboard/versions');
  const rows = text.split('<tr').slice(2);
  assert.deepEqual(
    rows.map(row => [
      />(outdated|up to date|no fixed version|unknown)</.exec(row)?.[1],
      /<button[^>]*>(Try [^<]*)</.exec(row)?.[1],
      /<button[^>]*>(Roll back [^<]*)</.exec(row)?.[1],
    ]),
    [
      ['outdated', 'Try 2.0.0', undefined],
      ['up to date', undefined, 'Roll back to 1.0.0'],
      ['no fixed version', 'Try 1.0.0', undefined],
      ['unknown', undefined, undefined],
    ],
  );
  assert.match(rows[3] ?? '', /away/);
});

test('an upgrade begins with a dry run: its page shows every change and changes nothing', async () => {
  const { status, text } = await page.post('/dashboard/servers/one/upgrade', { version: '2.0.0' });
  assert.equal(status, 200);
  assert.deepEqual(asked, ['upgrade one 2.0.0 - true']);
  assert.match(text, /tool add [\s\S]*changed[\s\S]*<span class="removed">- Adds\.\n/);
  assert.match(text, /tool sub [\s\S]*added[\s\S]*tool mul [\s\S]*removed/);
  assert.doesNotMatch(text, /\u202e/);
  assert.match(text, /New: mount:\/x[\s\S]*No longer: network:bridge/);
  assert.match(text, /has unseen characters/);
});

test('the upgrade accepts exactly what was shown', async () => {
  const { text } = await page.post('/dashboard/servers/one/upgrade', { version: '2.0.0' });
  const hidden = [...text.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)];
  const form = Object.fromEntries(hidden.map(([, name = '', value = '']) => [name, value]));
  const done = await page.post('/dashboard/actions/upgrade/one', form);
  assert.equal(leadsTo(done), '/dashboard/servers/one?done=upgrade&about=one');
  assert.equal(asked.at(-1), 'upgrade one 2.0.0 digest false');
  assert.match((await page.get(leadsTo(done))).text, /Upgraded one\./);
});

test('a rollback redirects to the server', async () => {
  const done = await page.post('/dashboard/actions/rollback/one');
  assert.equal(leadsTo(done), '/dashboard/servers/one?done=rollback&about=one');
  assert.deepEqual(asked, ['rollback one']);
});

test('only the owner may try, upgrade and roll back', async () => {
  const stranger = visitor(hub);
  assert.notEqual((await stranger.get('/dashboard/versions')).status, 200);
  for (const path of ['servers/one/upgrade', 'actions/upgrade/one', 'actions/rollback/one'])
    assert.notEqual((await stranger.post(`/dashboard/${path}`)).status, 200, path);
  assert.deepEqual(asked, []);
  assert.doesNotMatch((await stranger.get('/dashboard')).text, /dashboard\/versions/);
});

test('a failure is shown with a remedy, and a too long version is refused', async () => {
  const gone = await page.post('/dashboard/servers/gone/upgrade', { version: '2.0.0' });
  assert.equal(gone.status, 404);
  assert.match(gone.text, /no server is called/);
  const long = await page.post('/dashboard/servers/one/upgrade', { version: '1'.repeat(201) });
  assert.equal(long.status, 400);
});
