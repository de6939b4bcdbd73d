import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import Dockerode from 'dockerode';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isObject } from '#core';
import type { OllamaDouble } from '../doubles/ollama.ts';
import { startScriptedOllama } from '../doubles/scripted-model.ts';
import {
  type SecondEngine,
  secondEngineProblem,
  startEngineWith,
} from '../faults/second-engine.ts';
import { describeWithEngine } from '../helpers/engine.ts';
import { type HubProcess, startHub, until } from '../helpers/hub-process.ts';
import { isLong } from '../helpers/length.ts';
import { docker } from '../runtimes/docker/hub.ts';
import { type AgentLooks, watchAgents } from './agent-looks.ts';
import { createAgentRequests } from './agent-requests.ts';

const run = promisify(execFile);
/** Number of agents that start at once. Each needs a container, and only four may run at a time. */
const crowd = isLong ? 20 : 10;
const noSecondEngine = await secondEngineProblem();

describeWithEngine('tasks.json agrees with the engine at every look', () => {
  let ollama: OllamaDouble;
  let hub: HubProcess;
  let looks: AgentLooks;
  /** Engine of the last test. Copying the image to it takes seconds, so it starts while the other tests run. */
  let second: Promise<SecondEngine> | undefined;
  const hubName = `looks-${process.pid}`;
  const options = (more: Readonly<Record<string, string>> = {}) => ({
    config: { servers: {}, agents: { max_running: 4 } },
    env: { OLLAMA_HOST: ollama.url, OLLAMA_MODEL: 'scripted:1b', HUB_NAME: hubName, ...more },
  });

  beforeAll(async () => {
    ollama = await startScriptedOllama({
      script({ messages, last }) {
        const asked = messages.findLast(({ role }) => role === 'user')?.content ?? '';
        if (asked === 'work' && last?.role !== 'tool')
          return { text: '', toolCalls: [{ name: 'shell', arguments: { command: 'sleep 60' } }] };
        if (asked === 'slowly')
          return new Promise<string>(resolve => setTimeout(() => resolve('slow answer'), 2_000));
        return asked.replace(/^echo /, '');
      },
    });
    hub = await startHub(options());
    looks = watchAgents({ hubName, dataDir: hub.dataDir }, docker);
    // The first answer comes after the image was built.
    expect(await say('first', 'echo ready')).toBe('ready');
    if (noSecondEngine !== undefined) return;
    const { container_id: container } = await ask('GET', '/agents/first');
    const { Config } = await docker.getContainer(String(container)).inspect();
    second = startEngineWith(Config.Image);
    second.catch(() => undefined); // The test that uses the engine reports the error.
  });

  afterAll(async () => {
    await looks?.stop();
    await hub?.[Symbol.asyncDispose]();
    await (await second?.catch(() => undefined))?.[Symbol.asyncDispose]();
    await ollama?.[Symbol.asyncDispose]();
  });

  const { ask, send, outcome } = createAgentRequests(() => hub);

  const say = async (agent: string, message: string) => outcome(agent, await send(agent, message));

  const doing = async (agent: string, what: string) =>
    await until(
      () => ask('GET', `/agents/${agent}`),
      ({ current }) => isObject(current) && current['doing'] === what,
      20_000,
    );

  test('20 concurrent messages to one agent are answered once each, in order', async () => {
    const texts = Array.from({ length: 20 }, (_, index) => `echo ${index}`);
    const ids: string[] = [];
    for (const text of texts) ids.push(await send('one', text));
    const answers = await Promise.all(ids.map(id => outcome('one', id)));
    expect(answers).toEqual(texts.map(text => text.slice(5)));
    const { messages } = await ask('GET', '/agents/one/messages?count=1000');
    assert.ok(Array.isArray(messages));
    const asked = messages.filter(({ role }) => role === 'user');
    expect(asked.map(({ content }) => content[0].text)).toEqual(texts);
  });

  test(`${crowd} concurrent agents share four containers`, async () => {
    const names = Array.from({ length: crowd }, (_, index) => `crowd-${index}`);
    const ids = await Promise.all(names.map(name => send(name, `echo ${name}`)));
    const answers = await Promise.all(names.map((name, index) => outcome(name, ids[index] ?? '')));
    expect(answers).toEqual(names);
  }, 90_000);

  test('an agent that was stopped is restarted, even by a message that arrives while it stops', async () => {
    expect(await say('back', 'echo 1')).toBe('1');
    const stopping = ask('POST', '/agents/back/stop');
    const id = await send('back', 'echo 2');
    await stopping;
    // The owner's stop ends queued messages. A message that arrives after it starts the container again.
    expect(['2', 'HUB_AGENT_STOPPED']).toContain(await outcome('back', id));
    expect(await say('back', 'echo 3')).toBe('3');
    await ask('DELETE', '/agents/back');
  });

  test('a container that is killed in a turn', async () => {
    const id = await send('victim', 'work');
    const { container_id: container } = await doing('victim', 'calling shell');
    await run('docker', ['kill', '-s', 'KILL', String(container)]);
    expect(await outcome('victim', id)).toBe('HUB_AGENT_DIED');
    expect(await say('victim', 'echo alive')).toBe('alive');
  });

  test('a hub that is killed in a turn', async () => {
    const id = await send('victim', 'slowly');
    await doing('victim', 'thinking');
    const { dataDir } = hub;
    await hub.kill();
    hub = await startHub({ ...options(), dataDir });
    expect(await outcome('victim', id)).toBe('slow answer');
  });

  test('a hub that stops leaves no container and reports every agent as stopped', async () => {
    const { dataDir } = hub;
    await hub.stop();
    const { stdout } = await run('docker', ['ps', '-aq', '-f', `name=^${hubName}-`]);
    expect(stdout).toBe('');
    hub = await startHub({ ...options(), dataDir });
    expect(await say('victim', 'echo again')).toBe('again');
  });

  test('at every look', async () => {
    const { looks: count, problems } = await looks.stop();
    expect(problems).toEqual([]);
    expect(count).toBeGreaterThan(50);
  });

  test.skipIf(noSecondEngine !== undefined)(
    'an engine that is restarted in a turn',
    async () => {
      const engine = await second;
      assert.ok(engine);
      await hub.stop();
      const { dataDir } = hub;
      hub = await startHub({ ...options({ DOCKER_HOST: engine.host }), dataDir });
      looks = watchAgents({ hubName, dataDir }, new Dockerode({ socketPath: engine.socketPath }));
      expect(await say('guest', 'echo here')).toBe('here');
      const id = await send('guest', 'work');
      await doing('guest', 'calling shell');
      const next = await send('guest', 'echo next');
      await engine.end('SIGTERM');
      await engine.start();
      expect(await outcome('guest', id)).toBe('HUB_AGENT_DIED');
      expect(await outcome('guest', next)).toBe('next');
      const { problems } = await looks.stop();
      expect(problems).toEqual([]);
      await hub.stop();
    },
    120_000,
  );
});
