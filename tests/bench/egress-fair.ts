import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import Dockerode from 'dockerode';
import { containerEntry, label, nodeImage, removeContainer } from './containers.ts';
import { isReply, requestText } from './load/job.ts';
import { openSession, postOnce, wayOverMcp } from './load/over-http.ts';
import { quantile, type Ratio, createRandom, ratioOfP99 } from './ratio.ts';
import { startHub } from './subjects/hub.ts';
import { cpuMs, descendantsOf, enginePids } from './usage.ts';

const hubName = `agenthub-bench-egress-${process.pid}`;
const forwarderName = `${hubName}-.egress`;
const pythonImage = 'python:3.13-slim';
/** Subnet from a block for documentation. */
const subnet = '203.0.113.208/28';
const sourceFile = fileURLToPath(new URL('subjects/source.py', import.meta.url));
const serverFile = fileURLToPath(new URL('subjects/network-server.mjs', import.meta.url));
const downloadConnections = 4;
/** Wait before each block in ms, for a download to reach its rate, or the traffic of the previous block to end. */
const settleMs = 50;
const maxRatio = 1.5;
const conditions = ['alone', 'again', 'beside'] as const;
type Condition = (typeof conditions)[number];

/** Servers whose calls are measured. The numbers of calls make blocks of about the same duration. */
const subjects = [
  { server: 'calm', tool: 'fill', what: 'a server without network', calls: 400 },
  { server: 'online', tool: 'get', what: 'a server that uses the forwarder', calls: 100 },
] as const;

/**
 * Measures what a busy download of one server adds to the calls of another server: one without a network, and one that
 * makes a request through the forwarder in each call. Blocks of calls alone, alone again (the control) and during the
 * download take turns.
 */
export async function measureEgress(rounds: number, progress: (text: string) => void) {
  await using opened = new AsyncDisposableStack();
  const { hub, pids } = await startAll(opened);
  const lines: string[] = [];
  let wrong = 0;
  for (const { server, tool, what, calls } of subjects) {
    progress(`calls of ${what}`);
    const seen = await compare(hub.url, `${server}_${tool}`, { rounds, calls }, pids);
    wrong += seen.wrong;
    lines.push(...linesOf(what, seen));
  }
  return { lines, wrong };
}

async function startAll(opened: AsyncDisposableStack) {
  const network = { allow: ['source.test'] };
  const args = ['/bench/network-server.mjs'];
  const entry = { ...containerEntry(serverFile), args, auto_start: true };
  const servers = { busy: { ...entry, network }, calm: entry, online: { ...entry, network } };
  const hub = opened.use(await startHub(hubName, servers));
  const source = opened.use(await startSource());
  const pids = await pidsOf(hub.pid, source.id);
  return { hub, pids };
}

type Size = { readonly rounds: number; readonly calls: number };

async function compare(url: string, tool: string, { rounds, calls }: Size, pids: Pids) {
  const way = await wayOverMcp({ kind: 'mcp', url: `${url}/mcp`, tool });
  const { call, end } = await way.begin(1);
  const headers = await openSession(`${url}/mcp`);
  const order = async (name: string, value = 0) =>
    (await postOnce(`${url}/mcp`, headers, requestText(0, `busy_${name}`, value))).toString();
  const blocks: Record<Condition, number[][]> = { alone: [], again: [], beside: [] };
  const cpu = new Map<string, number>();
  let [besideMs, downloadMs, bytes, wrong, id] = [0, 0, 0, 0, 0];

  async function block(): Promise<number[]> {
    await delay(settleMs);
    const times: number[] = [];
    for (let index = 0; index < calls; index++) {
      const { promise, resolve } = Promise.withResolvers<Buffer>();
      const begun = performance.now();
      call(++id, 0, resolve);
      const reply = await promise;
      times.push(performance.now() - begun);
      if (!isReply(reply, id, 0)) wrong++;
    }
    return times;
  }

  async function beside(): Promise<number[]> {
    const started = performance.now();
    await order('download', downloadConnections);
    const [begun, before] = [performance.now(), readCpu(pids)];
    const times = await block();
    besideMs += performance.now() - begun;
    for (const [name, ms] of readCpu(pids))
      cpu.set(name, (cpu.get(name) ?? 0) + ms - (before.get(name) ?? 0));
    bytes += Number(/received (\d+)/.exec(await order('stop'))?.[1]);
    downloadMs += performance.now() - started;
    return times;
  }

  await block();
  await beside();
  cpu.clear();
  [besideMs, downloadMs, bytes] = [0, 0, 0];
  const randomBelow = createRandom();
  for (let round = 0; round < rounds; round++) {
    const left: Condition[] = [...conditions];
    while (left.length > 0)
      for (const condition of left.splice(randomBelow(left.length), 1))
        blocks[condition].push(condition === 'beside' ? await beside() : await block());
  }
  end();
  return { blocks, cpu, besideMs, rate: bytes / 1e3 / downloadMs, wrong };
}

function linesOf(
  what: string,
  { blocks, cpu, besideMs, rate }: Awaited<ReturnType<typeof compare>>,
) {
  const beside = ratioOfP99(blocks.beside, blocks.alone);
  const control = ratioOfP99(blocks.again, blocks.alone);
  const isMet = beside.to <= maxRatio || (beside.value <= maxRatio && beside.value <= control.to);
  const text = ({ value, from, to }: Ratio) =>
    `${value.toFixed(2)} (${from.toFixed(2)} to ${to.toFixed(2)})`;
  const shares = Array.from(cpu, ([name, ms]) => `${name} ${Math.round((ms / besideMs) * 100)} %`);
  return [
    `${isMet ? 'ok    ' : 'MISSED'} p99 of calls of ${what} beside a download: x${text(beside)}, at most x${maxRatio}; the control x${text(control)}`,
    ...conditions.map(name => {
      const times = blocks[name].flat();
      const [p50, p90, p99] = [0.5, 0.9, 0.99].map(part => quantile(times, part).toFixed(2));
      return `         ${name}: p50 ${p50}, p90 ${p90}, p99 ${p99} ms of ${times.length} calls`;
    }),
    `         ${rate.toFixed(0)} MB/s; CPU ${shares.join(', ')}`,
  ];
}

/** Starts the source of downloads on a network without a way out, and attaches the forwarder to that network. */
async function startSource() {
  const engine = new Dockerode();
  await using opened = new AsyncDisposableStack();
  const name = `${hubName}-source`;
  const network = await engine.createNetwork({
    Name: name,
    Internal: true,
    IPAM: { Config: [{ Subnet: subnet }] },
    Labels: label,
  });
  opened.defer(async () => void (await network.remove()));
  const container = await engine.createContainer({
    name,
    Image: pythonImage,
    Cmd: ['python', '/source.py'],
    Labels: label,
    HostConfig: { NetworkMode: name, Binds: [`${sourceFile}:/source.py:ro`] },
    NetworkingConfig: { EndpointsConfig: { [name]: { Aliases: ['source.test'] } } },
  });
  opened.defer(() => removeContainer(container.id));
  await container.start();
  await network.connect({ Container: forwarderName });
  opened.defer(async () => {
    await network.disconnect({ Container: forwarderName, Force: true });
  });
  const kept = opened.move();
  return { id: container.id, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

type Pids = ReadonlyMap<string, readonly number[]>;

/** Returns the processes that share the processors during calls, by name. */
async function pidsOf(hub: number, source: string): Promise<Pids> {
  const engine = new Dockerode();
  const inside = async (name: string) => {
    const { State } = await engine.getContainer(name).inspect();
    return [State.Pid, ...descendantsOf([State.Pid])];
  };
  return new Map([
    ['forwarder', await inside(forwarderName)],
    ['downloader', await inside(`${hubName}-busy`)],
    ['source', await inside(source)],
    ['hub', [hub]],
    ['client', [process.pid]],
    ['engine', enginePids()],
  ]);
}

const readCpu = (pids: Pids) =>
  new Map(
    Array.from(pids, ([name, all]) => [name, all.reduce((sum, pid) => sum + (cpuMs(pid) ?? 0), 0)]),
  );

/** Returns why the benchmark cannot run, as a clause; undefined if it can. */
export async function findEgressImages(): Promise<string | undefined> {
  for (const image of [nodeImage, pythonImage])
    try {
      await new Dockerode().getImage(image).inspect();
    } catch {
      return `the engine has no image ${image}`;
    }
  return undefined;
}
