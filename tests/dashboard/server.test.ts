import assert from 'node:assert/strict';
import { afterAll, beforeAll, test } from 'vitest';
import { connect } from '#helpers/client';
import { type TestHub, startHub } from '#helpers/hub';
import { owner, visitor } from './scene.ts';

let hub: TestHub;
let page: ReturnType<typeof visitor>;

beforeAll(async () => {
  hub = await startHub([{ name: 'calendar' }]);
  page = owner(hub);
  await using client = await connect(`${hub.url}/mcp`);
  await client.call('calendar_cancel_event', { title: 'Tea' });
});
afterAll(() => hub?.[Symbol.asyncDispose]());

const tab = async (name: string) =>
  (await page.get(`/dashboard/servers/calendar?tab=${name}`)).text;

test('the page of a server shows its tools, and on tabs its log, its config and that it has no sandbox', async () => {
  const { text } = await page.get('/dashboard/servers/calendar');
  assert.match(text, /tool\?name=create_event/);
  assert.match(text, /actions\/stop\/calendar[\s\S]*actions\/restart\/calendar/);
  assert.match(text, /aria-current="page">Tools <span class="note">3</);
  assert.match(await tab('log'), /cancel_event: \{/);
  const details = await tab('details');
  assert.match(details, /&quot;max_restarts&quot;: 3/);
  assert.match(details, /without a sandbox/);
  assert.match(await tab('prompts'), /It offers no prompts/);
});

test('the log can be searched, with the matches marked', async () => {
  assert.match(await tab('log&find=CANCEL'), /<mark>cancel<\/mark>_event: \{/);
  assert.match(await tab('log&find=nowhere'), /No line has this text/);
  assert.match(await tab('log'), /hx-get="\/dashboard\/servers\/calendar\/log-partial"/);
  assert.doesNotMatch(await tab('log&follow=no'), /log-partial/);
});

test('a hub that cannot change its config says so in place of the switches', async () => {
  const form = { tool: 'create_event', enable: 'no' };
  const { status, text } = await page.post('/dashboard/actions/tool-switch/calendar', form);
  assert.equal(status, 409);
  assert.match(text, /does not change its config file/);
});

test('a switch without the name of a tool changes nothing, also where the tools are not known', async () => {
  const changed: string[] = [];
  await using other = await startHub([{ name: 'echo', autoStart: false }], {
    changeTools: async server => void changed.push(server),
  });
  for (const tool of ['', 'x'.repeat(1_001)]) {
    const form = { tool, enable: 'no' };
    const { status, text } = await owner(other).post('/dashboard/actions/tool-switch/echo', form);
    assert.deepEqual([status, changed], [400, []]);
    assert.match(text, /tool: &quot;x*.* is not allowed: write the name of a tool/);
  }
});
