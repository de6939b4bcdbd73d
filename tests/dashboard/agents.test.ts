import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type DashboardAnswer, type DashboardRequest, textOf } from '#dashboard';
import { agentPages } from '../../hub/dashboard/agents.ts';
import { type Harness, answerTo, openHarness } from '../agents/harness.ts';
import { requestOf } from './request.ts';

const visitors = {
  owner: { rights: 'owner', isLoggedIn: true },
  viewer: { rights: 'viewer', isLoggedIn: false },
} as const;

function open({ agents, clock }: Pick<Harness, 'agents' | 'clock'>) {
  const pages = agentPages({ hub: { agents }, system: { clock } });
  type Given = Parameters<typeof requestOf>[0];
  return async (name: keyof typeof pages, given: Given = {}): Promise<DashboardAnswer> => {
    const request: DashboardRequest = requestOf({ visitor: visitors.owner, ...given });
    return await pages[name](request);
  };
}

function textIn(answer: DashboardAnswer): string {
  if ('part' in answer) return textOf(answer.part);
  assert.ok('page' in answer, JSON.stringify(answer));
  return textOf(answer.page.main);
}

const ada = { params: { id: 'ada' } };

test('the list names all agents, and has links only for the owner', async () => {
  await using harness = await openHarness(({ message }) => message);
  const ask = open(harness);
  expect(textIn(await ask('agents'))).toContain('No agent yet.');
  const { messageId } = await harness.agents.send('ada', 'hello', 'cursor');
  await answerTo(harness.agents, 'ada', messageId);
  const all = textIn(await ask('agents'));
  expect(all).toContain('href="/dashboard/agents/ada"');
  expect(all).toContain('<span class="badge good">idle</span>');
  expect(all).toContain('name="message"');
  const read = textIn(await ask('agents', { visitor: visitors.viewer }));
  expect(read).toContain('ada');
  expect(read).not.toContain('href="/dashboard/agents/ada"');
  expect(read).not.toContain('<form');
});

test('a form creates an agent, and a refused one is shown again with its text', async () => {
  await using harness = await openHarness(({ message }) => message);
  const ask = open(harness);
  const refused = await ask('beginAgent', { form: { id: 'A b', message: 'keep <this>' } });
  expect(refused.status).toBe(400);
  expect(textIn(refused)).toMatch(/role="alert"[^>]*>[^<]*A b/);
  expect(textIn(refused)).toContain('keep &lt;this&gt;</textarea>');
  expect(textIn(refused)).toContain('value="A b"');
  expect(harness.agents.list()).toEqual([]);
  const sent = await ask('beginAgent', { form: { id: 'ada', message: 'hello' } });
  expect(sent).toEqual({ redirect: '/dashboard/agents/ada' });
  expect(harness.agents.list()).toMatchObject([{ id: 'ada' }]);
});

test('the page of an agent has its conversation, its state and its files', async () => {
  await using harness = await openHarness(({ message }) => `re: ${message}`);
  const { agents, folder } = harness;
  const ask = open(harness);
  await agents.configure('ada', { grants: { tools: ['memory_*'] } });
  const { messageId } = await agents.send('ada', 'hello', 'cursor');
  await answerTo(agents, 'ada', messageId);
  const workspace = join(folder, 'agents', 'ada', 'workspace');
  await mkdir(join(workspace, 'out'), { recursive: true });
  await writeFile(join(workspace, 'out', "it's 100%.txt"), 'content');
  const page = textIn(await ask('agent', ada));
  expect(page).toContain('re: hello');
  expect(page).toContain(`<details id="call-${messageId}-c" hx-preserve="true">`);
  expect(page).toContain('memory_*');
  expect(page).toContain('3 in, 2 out, in 1 model calls');
  expect(page).toContain('1,000,000 tokens an hour; 100 model calls and 50 steps a turn');
  expect(page).toContain('href="/dashboard/agents/ada/files/out/it&#39;s%20100%25.txt"');
  expect(page).toContain('id="file-out%2Fit%27s%20100%25.txt"');
  expect(textIn(await ask('agentConversationPartial', ada))).toContain('re: hello');
  expect(textIn(await ask('agentStatePartial', ada))).toContain('>Stop</button>');
  const file = await ask('agentFile', { params: { id: 'ada', '*': "out/it's 100%.txt" } });
  assert.ok('download' in file);
  await using content = file.download.content;
  expect([file.download.name, content.bytes]).toEqual(["it's 100%.txt", 7]);
  await expect(ask('agentFile', { params: { id: 'ada', '*': '../session.json' } })).rejects.toThrow(
    /not a regular file/,
  );
});

test('a waiting message is shown, the current one can be cancelled, and the agent stopped', async () => {
  const { promise } = Promise.withResolvers<string>();
  await using harness = await openHarness(() => promise);
  const { agents } = harness;
  const ask = open(harness);
  await ask('beginAgent', { form: { id: 'ada', message: 'first' } });
  await ask('sendToAgent', { ...ada, form: { message: 'second' } });
  await expect.poll(() => agents.get('ada').current?.messageId).toBeDefined();
  const page = textIn(await ask('agent', ada));
  expect(page.indexOf('first')).toBeLessThan(page.indexOf('id="under-way"'));
  expect(page.indexOf('id="under-way"')).toBeLessThan(page.indexOf('second'));
  const message = agents.get('ada').current?.messageId ?? '';
  expect(page).toContain(`/dashboard/actions/agent-cancel/ada/${message}`);
  const { waiting } = await agents.messages('ada', { count: 1 }, requestOf().signal);
  const second = waiting[1]?.message_id ?? '';
  const said = await ask('cancelMessage', { params: { id: 'ada', message: second }, isHtmx: true });
  expect(textIn(said)).toContain('Cancelling the message of ada.');
  expect(textIn(await ask('agent', ada))).not.toContain('>waits<');
  const stopped = await ask('stopAgent', ada);
  expect(stopped).toEqual({ redirect: '/dashboard/agents/ada?done=agent-stop&about=ada' });
  expect(agents.get('ada').status).toBe('stopped');
  const after = textIn(await ask('agent', { ...ada, query: { done: 'agent-stop', about: 'ada' } }));
  expect(after).toContain('HUB_AGENT_STOPPED');
});

test('a message that is not accepted is shown again on the page of the agent', async () => {
  await using harness = await openHarness(({ message }) => message);
  const ask = open(harness);
  await harness.agents.configure('ada', {});
  const refused = await ask('sendToAgent', { ...ada, form: { message: '  ' } });
  expect(refused.status).toBe(400);
  expect(textIn(refused)).toMatch(/role="alert"[^>]*>message: is empty/);
  await expect(ask('agent', { params: { id: 'bob' } })).rejects.toThrow(/no agent is called bob/);
});

test('an agent is removed after a confirmation page', async () => {
  await using harness = await openHarness(({ message }) => message);
  const ask = open(harness);
  await harness.agents.configure('ada', {});
  expect(textIn(await ask('confirmRemoveAgent', ada))).toContain('cannot be brought back');
  expect(harness.agents.list()).toHaveLength(1);
  const removed = await ask('removeAgent', ada);
  expect(removed).toEqual({ redirect: '/dashboard/agents?done=remove&about=ada' });
  expect(harness.agents.list()).toEqual([]);
});

test('a hub without agents has a page that says so', async () => {
  const pages = agentPages({ hub: {}, system: { clock: { now: () => 0 } } });
  expect(textIn(await pages.agents(requestOf()))).toContain('This hub has no agents.');
  expect(await pages.agent(requestOf(ada))).toMatchObject({ status: 409 });
});
