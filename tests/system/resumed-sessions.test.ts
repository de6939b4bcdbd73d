import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'vitest';
import { connect } from '#helpers/client';
import { describeWithEngine } from '#helpers/engine';
import { type HubProcess, until } from '#helpers/hub-process';
import { until as becomesTrue } from '#helpers/hub';
import { areWrittenDown, becomes, createScene, inContainer, inProcess } from '../faults/scene.ts';
import { type Response, call, openSession, send } from '../transports/raw.ts';

const servers = {
  kept: inContainer('stateful.mjs'),
  echo: inContainer('echo.mjs'),
};
/** Servers for tests in which it does not matter that processes end with a killed hub. */
const processes = {
  echo: inProcess('echo.mjs'),
  own: inProcess('asker.mjs', { instance: 'session', auto_start: false }),
  asker: inProcess('asker.mjs'),
};
const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
const request = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params });

const portOf = ({ url }: HubProcess) => Number(new URL(url).port);

/** Returns the text of a tool's result. */
async function textOf(response: Response): Promise<unknown> {
  const body = await response.body();
  assert.equal(response.status, 200, body);
  const line = body.split('\n').find(text => text.startsWith('data: {'));
  return JSON.parse(line?.slice(6) ?? body).result.content[0].text;
}

const methodsOf = (stream: Response) => stream.messages().map(({ method }) => method);

/** Resolves when the last line of sessions.jsonl matches. Records are written after the answer. */
const isSaved = async (dataDir: string, pattern: RegExp) =>
  await until(
    () => readFile(join(dataDir, 'sessions.jsonl'), 'utf8').catch(() => ''),
    text => pattern.test(text.trim().split('\n').at(-1) ?? ''),
    5_000,
  );

const listChanges = ['prompts', 'resources', 'tools'].map(
  kind => `notifications/${kind}/list_changed`,
);

describeWithEngine('a session of streamable HTTP', () => {
  for (const end of ['SIGTERM', 'SIGKILL'] as const)
    test(`outlives its hub by ${end}, with a server in a container`, async () => {
      await using scene = await createScene({
        hasNeighbour: false,
        servers: { kept: servers.kept },
      });
      const first = await scene.start();
      await becomes(first, 'kept', 'running');
      await using client = await connect(`${first.url}/mcp`);
      await client.call('kept_remember', { text: 'before' });
      const alone = await openSession(`${first.url}/mcp/kept`);
      await alone.post(call(1, 'remember', { text: 'too' }));
      await areWrittenDown(scene, ['kept']);
      await isSaved(scene.dataDir, /"server":"kept"/);
      await (end === 'SIGTERM' ? first.stop() : first.kill());

      await using second = await scene.start(portOf(first));
      const recalled = JSON.parse(await client.call('kept_recall'));
      // A hub that stops removes its containers; a killed one leaves them to the next hub.
      const notes = end === 'SIGTERM' ? [] : ['before', 'too'];
      assert.deepEqual(recalled.notes, notes);
      const again = JSON.parse(String(await textOf(await alone.post(call(2, 'recall')))));
      assert.deepEqual(again.notes, notes);
      assert.ok(second.url);
    });

  test('goes on with its stream, log level and subscriptions, and hears that lists may differ', async () => {
    await using scene = await createScene({ hasNeighbour: false, servers: { echo: servers.echo } });
    const first = await scene.start();
    await becomes(first, 'echo', 'running');
    const session = await openSession(`${first.url}/mcp`);
    const before = await session.get();
    const uri = 'echo://greeting';
    assert.equal((await session.post(request('resources/subscribe', { uri }))).status, 200);
    const own = request('resources/subscribe', { uri: 'hub://servers' });
    assert.equal((await session.post(own)).status, 200);
    assert.equal((await session.post(request('logging/setLevel', { level: 'error' }))).status, 200);
    await textOf(await session.post(call(2, 'echo_relist')));
    await becomesTrue(() => methodsOf(before).includes('notifications/tools/list_changed'));
    const lastId = before.events().at(-1)?.id ?? '';
    await isSaved(scene.dataDir, /"logLevel":"error".*greeting.*hub:\/\/servers/);
    await areWrittenDown(scene, ['echo']);
    await first.kill();

    await using second = await scene.start(portOf(first));
    const after = await session.get({ 'last-event-id': lastId });
    assert.equal(after.status, 200);
    await becomesTrue(() => listChanges.every(method => methodsOf(after).includes(method)));
    await becomes(second, 'echo', 'running');
    assert.equal(await textOf(await session.post(call(3, 'echo_touch', { uri }))), 'told');
    const updates = () =>
      after
        .messages()
        .filter(({ method }) => method === 'notifications/resources/updated')
        .map(({ params }) => params);
    await becomesTrue(() => updates().some(params => JSON.stringify(params)?.includes(uri)));
    await becomesTrue(() => updates().some(params => JSON.stringify(params)?.includes('hub://')));
    const quiet = await session.post(call(4, 'echo_log', { level: 'info', text: 'quiet' }));
    const loud = await session.post(call(5, 'echo_log', { level: 'error', text: 'loud' }));
    assert.doesNotMatch(await quiet.body(), /notifications\/message/);
    assert.match(await loud.body(), /notifications\/message/);
  });

  test('that ended, is of another principal, or is of another hub is unknown', async () => {
    await using scene = await createScene({
      hasNeighbour: false,
      servers: { echo: processes.echo },
    });
    await using stranger = await createScene({ hasNeighbour: false, servers: {} });
    const first = await scene.start();
    await becomes(first, 'echo', 'running');
    const url = `${first.url}/mcp`;
    const ended = await openSession(url);
    await ended.post(ping);
    const owned = await openSession(url, '2025-11-25', {}, first.ownerHeaders);
    const open = await openSession(url);
    for (const session of [owned, open])
      await session.post(ping, session === owned ? first.ownerHeaders : {});
    // Wait for the records of all three sessions, as a kill loses those that are not written.
    await until(
      () => readFile(join(scene.dataDir, 'sessions.jsonl'), 'utf8').catch(() => ''),
      text => new Set(text.match(/"key":"[^"]+"/g)).size >= 3,
      5_000,
    );
    assert.equal((await ended.end()).status, 204);
    await first.kill();

    await using second = await scene.start(portOf(first));
    assert.equal((await ended.post(ping)).status, 404);
    assert.equal((await ended.get()).status, 404);
    assert.equal((await owned.post(ping)).status, 404);
    assert.equal((await open.post(ping, second.ownerHeaders)).status, 404);
    assert.equal((await owned.post(ping, second.ownerHeaders)).status, 200);
    const elsewhere = await send(`${second.url}/mcp/echo`, {
      method: 'DELETE',
      headers: { 'mcp-session-id': open.id },
    });
    assert.equal(elsewhere.status, 404);
    assert.equal((await open.post(ping)).status, 200);

    await second.kill();
    const other = await stranger.start(portOf(first));
    assert.equal((await open.post(ping)).status, 404);
    await other.kill();

    await using third = await scene.start(portOf(first));
    assert.equal((await open.end()).status, 204, 'a session that nobody came back to can be ended');
    await third.kill();
    await using fourth = await scene.start(portOf(first));
    assert.equal((await open.post(ping)).status, 404);
    assert.ok(fourth.url);
  });

  test('with an instance of its own, or with an open request of a server, is unknown', async () => {
    await using scene = await createScene({
      hasNeighbour: false,
      servers: { own: processes.own, asker: processes.asker },
    });
    const first = await scene.start();
    await becomes(first, 'asker', 'running');
    const ofServer = await openSession(`${first.url}/mcp/own`);
    const onAll = await openSession(`${first.url}/mcp`);
    const asked = await openSession(`${first.url}/mcp`, '2025-11-25', { roots: {} });
    const plain = await openSession(`${first.url}/mcp`);
    for (const session of [ofServer, onAll, asked, plain])
      assert.equal((await session.post(ping)).status, 200);
    await textOf(await ofServer.post(call(1, 'pid')));
    await textOf(await onAll.post(call(1, 'own_pid')));
    const asking = await asked.post(call(1, 'asker_ask', { method: 'roots/list' }));
    await becomesTrue(() => asking.messages().some(({ method }) => method === 'roots/list'));
    // Wait until only one session is recorded, which the next hub resumes.
    await until(
      () => readFile(join(scene.dataDir, 'sessions.jsonl'), 'utf8').catch(() => ''),
      text => {
        const live = new Set<string>();
        for (const line of text.trim().split('\n')) {
          const { key, ended } = JSON.parse(line || '{}');
          if (ended === true) live.delete(key);
          else live.add(key);
        }
        return live.size === 1;
      },
      5_000,
    );
    await first.kill();

    await using second = await scene.start(portOf(first));
    for (const session of [ofServer, onAll, asked])
      assert.equal((await session.post(ping)).status, 404);
    assert.equal((await plain.post(ping)).status, 200);
    assert.ok(second.url);
  });
});
