import assert from 'node:assert/strict';
import { open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, test } from 'vitest';
import { isObject } from '#core';
import { connect } from '#helpers/client';
import { describeWithEngine } from '#helpers/engine';
import { type HubProcess, getJson, states, until } from '#helpers/hub-process';
import { openEchoSession } from './echo-session.ts';
import { besideNeighbour, whileCalled } from './neighbour.ts';
import {
  type Scene,
  becomesTruthful,
  createScene,
  described,
  inContainer,
  recovery,
} from './scene.ts';

const steady = inContainer('stateful.mjs');
/** Two contents of the config file. They differ in `swapped`, and each has a server that the other lacks. */
const contents = {
  first: { steady, swapped: inContainer('echo.mjs'), leaver: inContainer('stateful.mjs') },
  second: {
    steady,
    swapped: inContainer('echo.mjs', { env: { CHANGED: 'yes' } }),
    added: inContainer('stateful.mjs'),
  },
};
const namesIn = (content: keyof typeof contents) =>
  ['neighbour', ...Object.keys(contents[content])].toSorted();
/** Time limit in ms. The hub reads a file once it has not changed for 200 ms, and polls it every three seconds. */
const withinMs = 30_000;

describeWithEngine('a config file that changes under a hub with clients', () => {
  let scene: Scene;
  let hub: HubProcess;
  /** Returns the text of the config file for a content, with the servers in `more`. */
  let fileOf: (content: keyof typeof contents, more?: object) => string;

  beforeAll(async () => {
    scene = await createScene({ servers: contents.first });
    hub = await scene.start();
    const { neighbour } = JSON.parse(await readFile(hub.configFile, 'utf8')).servers;
    fileOf = (content, more) =>
      JSON.stringify({ servers: { ...contents[content], ...more, neighbour } }, undefined, 2);
  });
  afterAll(async () => await scene?.[Symbol.asyncDispose]());

  /** Writes this content to the file unless it has it, and waits until the hub has applied it. */
  async function beginsWith(content: keyof typeof contents): Promise<void> {
    const text = await readFile(hub.configFile, 'utf8').catch(() => '');
    if (text !== fileOf(content)) await writeFile(hub.configFile, fileOf(content));
    await until(configPart, ({ state }) => state === 'up', withinMs);
    await isInForce(content);
  }

  /** Waits until exactly the servers of a content are running. */
  async function isInForce(content: keyof typeof contents): Promise<void> {
    await until(
      () => states(hub),
      shown =>
        Object.keys(shown).toSorted().join() === namesIn(content).join() &&
        Object.values(shown).every(state => state === 'running'),
      withinMs,
    );
  }

  /** Returns the part `config` of `/health`, and the overall status. */
  async function configPart(): Promise<Readonly<Record<string, unknown>>> {
    const health = await getJson(hub, '/health');
    assert.ok(isObject(health) && isObject(health['parts']) && isObject(health['parts']['config']));
    return { status: health['status'], ...health['parts']['config'] };
  }

  /** Waits until the hub refuses the file, and keeps the servers of the given content. */
  async function isRefused(why: RegExp, kept: keyof typeof contents): Promise<void> {
    const shown = await until(
      configPart,
      ({ state, detail }) => state === 'degraded' && why.test(String(detail)),
      withinMs,
    );
    assert.equal(shown['status'], 'degraded');
    assert.match(String(shown['detail']), /the last good one is in force/);
    assert.deepEqual(Object.keys(await states(hub)).toSorted(), namesIn(kept));
  }

  /**
   * Runs a fault of the config file while clients call an unchanged server, one that is to be changed and a neighbour.
   * Fails if a call or a session of a client fails, or if the unchanged server restarts.
   */
  async function besideClients<T>(fault: () => Promise<T>): Promise<T> {
    await using steady = await connect(`${hub.url}/mcp/steady`);
    await using caller = await openEchoSession(`${hub.url}/mcp/swapped`);
    await steady.call('remember', { text: 'of before' });
    const kept = await steady.call('recall');
    const { instance } = await described(hub, 'steady');
    const { result, outcomes } = await whileCalled(
      [text => caller.echo(text)],
      1,
      async () => await besideNeighbour([hub], fault),
    );
    const failures = outcomes.flatMap(one => one.failures);
    assert.deepEqual(failures, [], 'calls to the server that is changed failed');
    assert.equal(await steady.call('recall'), kept, 'the unchanged one goes on');
    assert.deepEqual((await described(hub, 'steady'))['instance'], instance);
    assert.equal((await described(hub, 'steady'))['restart_count'], 0);
    assert.equal(await caller.echo('still here'), 'still here');
    await becomesTruthful(scene);
    return result;
  }

  test('replaced by rename: each server is updated, and clients are notified', async () => {
    await beginsWith('first');
    const told: string[] = [];
    const watcher = new Client({ name: 'watcher', version: '1.0.0' });
    watcher.setNotificationHandler(ToolListChangedNotificationSchema, ({ method }) => {
      told.push(method);
    });
    await watcher.connect(new StreamableHTTPClientTransport(new URL(`${hub.url}/mcp`)));
    const names = async () => (await watcher.listTools()).tools.map(({ name }) => name);
    assert.ok((await names()).some(name => name.startsWith('leaver')));
    await using busy = await connect(`${hub.url}/mcp/swapped`);
    const was = (await described(hub, 'swapped'))['instance'];
    await besideClients(async () => {
      const inFlight = Array.from({ length: 20 }, () => busy.call('slow', { ms: 3_000 }));
      await until(
        () => described(hub, 'swapped'),
        shown => Number(shown['in_flight']) >= 20,
        5_000,
      );
      await writeFile(`${hub.configFile}.new`, fileOf('second'));
      const since = performance.now();
      await rename(`${hub.configFile}.new`, hub.configFile);
      await isInForce('second');
      await until(
        async () => (await described(hub, 'swapped'))['instance'],
        is => JSON.stringify(is) !== JSON.stringify(was),
        withinMs,
      );
      recovery(
        'a config file replaced, until all servers are as it says',
        performance.now() - since,
      );
      assert.deepEqual(new Set(await Promise.all(inFlight)), new Set(['slept 3000 ms']));
    });
    assert.match(await busy.call('env'), /CHANGED/);
    await until(
      async () => told.length,
      times => times > 0,
      5_000,
    );
    const listed = await names();
    assert.ok(listed.some(name => name.startsWith('added')));
    assert.ok(!listed.some(name => name.startsWith('leaver')));
    await watcher.close();
    const gone = await fetch(`${hub.url}/mcp/leaver/tools/list`, { method: 'POST' });
    assert.equal(gone.status, 404);
  });

  test('half written for seconds: nothing of it is applied before it is complete', async () => {
    await beginsWith('second');
    const whole = fileOf('first');
    await besideClients(async () => {
      const file = await open(hub.configFile, 'w');
      const [half, rest] = [whole.slice(0, whole.length / 2), whole.slice(whole.length / 2)];
      await file.write(half);
      // The file stays half written for longer than an editor takes, so the hub reads and refuses it.
      await isRefused(/mcp-servers\.json/, 'second');
      for (let at = 0; at < rest.length; at += rest.length / 10) {
        await file.write(rest.slice(at, at + rest.length / 10));
        await delay(100);
      }
      await file.close();
      const since = performance.now();
      await isInForce('first');
      recovery(
        'a config file written slowly, from its end until all is as it says',
        performance.now() - since,
      );
      assert.equal((await configPart())['state'], 'up');
    });
  });

  test('emptied or deleted, and created again: the last valid config is applied meanwhile', async () => {
    await beginsWith('first');
    await besideClients(async () => {
      await writeFile(hub.configFile, '');
      await isRefused(/the file is empty/, 'first');
      await rm(hub.configFile);
      await isRefused(/no such file/, 'first');
      await writeFile(hub.configFile, fileOf('first'));
      const since = performance.now();
      await until(configPart, ({ state }) => state === 'up', withinMs);
      recovery(
        'a config file deleted and made again, from then until /health is well',
        performance.now() - since,
      );
      assert.deepEqual(Object.keys(await states(hub)).toSorted(), namesIn('first'));
      await rm(hub.configFile);
      await isRefused(/no such file/, 'first');
      await writeFile(hub.configFile, fileOf('second'));
      await isInForce('second');
    });
  });

  test('edited so that it is invalid: reported once, and the next valid edit is applied', async () => {
    await beginsWith('second');
    const logged = hub.log().length;
    await besideClients(async () => {
      await writeFile(hub.configFile, fileOf('first').slice(1));
      await isRefused(/mcp-servers\.json/, 'second');
      await writeFile(hub.configFile, fileOf('first', { bad: { imgae: 'x' } }));
      await isRefused(/imgae/, 'second');
      const reload = await fetch(`${hub.url}/config/reload`, {
        method: 'POST',
        headers: hub.ownerHeaders,
      });
      assert.equal(reload.status, 400);
      assert.match(await reload.text(), /imgae/);
      const said = hub
        .log()
        .slice(logged)
        .split('\n')
        .filter(line => line.includes('imgae'));
      assert.equal(said.length, 1, said.join('\n'));
      await writeFile(hub.configFile, fileOf('first'));
      const since = performance.now();
      await isInForce('first');
      recovery('a config file mended, until all servers are as it says', performance.now() - since);
      assert.equal((await configPart())['status'], 'ok');
    });
  });
});
