import assert from 'node:assert/strict';
import { once } from 'node:events';
import Dockerode from 'dockerode';
import { engineHost } from '#helpers/engine-probe';
import { startHub } from '#helpers/hub-process';
import { freePort } from '#helpers/port';
import { startScriptedOllama } from '../doubles/scripted-model.ts';
import { createAgentRequests } from '../system/agent-requests.ts';
import { heapObjectsMb } from './heap-objects.ts';
import { median } from './median.ts';
import { descendantsOf, residentMb } from './usage.ts';

type Rounds = {
  readonly idle: number;
  readonly stopped: number;
  readonly agents: number;
  readonly heaps: number;
};

/** Number of agents that work before the memory of stopped agents is measured, and again as its control. */
const warm = 10;
/** Number of agents that work at the same time while memory is measured. */
const atOnce = 4;
/** Number of stopped agents for which the memory is printed. */
const per = 50;

const initialize = `${JSON.stringify({
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: { sampling: { tools: {} } },
    clientInfo: { name: 'bench', version: '1' },
  },
})}\n`;

/**
 * Measures what agents cost: the time from a message to the request to the model, of an idle and of a stopped agent,
 * beside the engine's own start of the same image; the memory of an idle agent; and the memory of the hub for stopped
 * agents.
 */
export async function measureAgents(
  rounds: Rounds,
  progress: (text: string) => void,
): Promise<{ readonly lines: readonly string[]; readonly wrong: number }> {
  let asked = Promise.withResolvers<void>();
  await using ollama = await startScriptedOllama({
    script: () => {
      asked.resolve();
      return 'ok';
    },
  });
  const inspector = await freePort();
  await using hub = await startHub({
    config: { servers: {}, agents: { max: 500, max_running: 4 } },
    env: {
      OLLAMA_HOST: ollama.url,
      OLLAMA_MODEL: 'scripted:1b',
      HUB_NAME: `bench-agents-${process.pid}`,
      NODE_OPTIONS: `--inspect=127.0.0.1:${inspector}`,
    },
  });

  const { ask } = createAgentRequests(() => hub);

  /** Sends a message. Returns the time in ms until the request to the model. */
  async function say(agent: string): Promise<number> {
    asked = Promise.withResolvers();
    const sentMs = performance.now();
    const id = await send(agent);
    await asked.promise;
    const tookMs = performance.now() - sentMs;
    await answered(agent, id);
    return tookMs;
  }

  async function send(agent: string): Promise<string> {
    const sent = await ask('POST', `/agents/${agent}/messages`, { message: 'hello' });
    return String(sent['message_id']);
  }

  async function answered(agent: string, id: string): Promise<void> {
    const path = `/agents/${agent}/messages?since=${id}&wait_seconds=60`;
    const { error } = await ask('GET', path);
    assert.equal(error ?? undefined, undefined);
  }

  /** Lets each agent work for one turn, and stops all. Returns the size of the hub's objects in MB. */
  async function heapAfter(agents: readonly string[]): Promise<number> {
    const left = agents.values();
    async function work(): Promise<void> {
      for (const agent of left) await answered(agent, await send(agent));
    }
    await Promise.all(Array.from({ length: atOnce }, work));
    const { agents: all } = await ask('GET', '/agents');
    for (const agent of Array.isArray(all) ? all : [])
      await ask('POST', `/agents/${agent.agent_id}/stop`);
    return await heapObjectsMb(inspector);
  }

  progress('an idle agent');
  await say('bench');
  const idle: number[] = [];
  for (let round = 0; round < rounds.idle; round++) idle.push(await say('bench'));
  const { container_id: container } = await ask('GET', '/agents/bench');
  const docker = new Dockerode(
    engineHost.startsWith('unix://') ? { socketPath: engineHost.slice('unix://'.length) } : {},
  );
  const { State, Config, HostConfig } = await docker.getContainer(String(container)).inspect();
  const resident = [State.Pid, ...descendantsOf([State.Pid])].map(pid => residentMb(pid) ?? 0);

  /** Starts the same image with the engine. Returns the times in ms until it has started, and until it answers. */
  async function startByEngine() {
    const { CapDrop, Memory, MemorySwap, NanoCpus, PidsLimit, ReadonlyRootfs, Tmpfs } = HostConfig;
    const fromMs = performance.now();
    const made = await docker.createContainer({
      Image: Config.Image,
      OpenStdin: true,
      HostConfig: {
        Init: true,
        NetworkMode: 'none',
        SecurityOpt: ['no-new-privileges'],
        CapDrop: CapDrop ?? [],
        Memory: Memory ?? 0,
        MemorySwap: MemorySwap ?? 0,
        NanoCpus: NanoCpus ?? 0,
        PidsLimit: PidsLimit ?? 0,
        ReadonlyRootfs: ReadonlyRootfs ?? true,
        Tmpfs,
      },
    });
    const socket = await made.attach({ stream: true, stdin: true, stdout: true, hijack: true });
    await made.start();
    const startMs = performance.now() - fromMs;
    const answered = once(socket, 'data');
    socket.write(initialize);
    await answered;
    const wholeMs = performance.now() - fromMs;
    await made.remove({ force: true });
    return { startMs, bootMs: wholeMs - startMs };
  }

  progress('a stopped agent, in turns with the engine');
  const stopped: number[] = [];
  const engine: { readonly startMs: number; readonly bootMs: number }[] = [];
  for (let round = 0; round < rounds.stopped; round++) {
    await ask('POST', '/agents/bench/stop');
    stopped.push(await say('bench'));
    engine.push(await startByEngine());
  }

  const known = Array.from({ length: warm }, (_, number) => `warm-${number}`);
  await heapAfter(known);
  const added: number[] = [];
  const control: number[] = [];
  for (let round = 0; round < rounds.heaps; round++) {
    progress(`${rounds.agents} stopped agents, round ${round + 1}`);
    const some = Array.from({ length: rounds.agents }, (_, number) => number);
    const before = await heapAfter([]);
    const after = await heapAfter(some.map(number => `cold-${round}-${number}`));
    // The control: the same number of turns, of agents that the hub knows already.
    const again = await heapAfter(some.map(number => `warm-${number % warm}`));
    added.push(((after - before) * per) / rounds.agents);
    control.push(((again - after) * per) / rounds.agents);
  }

  const startMs = median(engine.map(one => one.startMs)) ?? 0;
  const bootMs = median(engine.map(one => one.bootMs)) ?? 0;
  const stoppedMs = median(stopped) ?? 0;
  const limitMs = 1.3 * startMs + bootMs;
  return {
    wrong: 0,
    lines: [
      `message to an idle agent -> model asked, p50 of ${idle.length}: ${(median(idle) ?? 0).toFixed(1)} ms (at most 20)`,
      `message to a stopped agent -> model asked, p50 of ${stopped.length}: ${stoppedMs.toFixed(0)} ms (at most ${limitMs.toFixed(0)}: 1.3 times the engine's create and start, ${startMs.toFixed(0)} ms, and the boot)`,
      `boot of the agent until it answers, p50: ${bootMs.toFixed(0)} ms (at most 600)`,
      `resident memory of an idle agent: ${resident.reduce((sum, mb) => sum + mb, 0).toFixed(1)} MB (at most 160)`,
      `objects of the hub for ${per} stopped agents, median of ${added.length}: ${(median(added) ?? 0).toFixed(2)} MB (at most 1; ${per} turns of agents that it knew: ${(median(control) ?? 0).toFixed(2)} MB)`,
    ],
  };
}
