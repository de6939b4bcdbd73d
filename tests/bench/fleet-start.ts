import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import Dockerode from 'dockerode';
import { attachAndStart, label, removeContainer } from './containers.ts';
import { median } from './median.ts';
import { type Hub, startHub } from './subjects/hub.ts';

/** Times from all servers stopped to all running, in ms: medians of rounds in which both ways take turns. */
export type FleetStart = {
  /** Through the hub: containers created, attached to and started, servers initialized, lists read. */
  readonly hubMs: number | undefined;
  /** Without the hub: existing containers attached to and started at once, until each has answered `initialize`. */
  readonly aloneMs: number | undefined;
};

const servers = 20;
const hubName = 'agenthub-bench-fleet';
const packageSpec = '@modelcontextprotocol/server-memory@2026.8.31';
const names = Array.from({ length: servers }, (_, index) => `memory${index + 1}`);

/** Returns why packaged servers cannot be started, as a clause; undefined if their image exists. */
export async function findPackage(): Promise<string | undefined> {
  const filters = JSON.stringify({ label: [`io.agenthub.package=${packageSpec}`] });
  const images = await new Dockerode().listImages({ filters });
  return images.length > 0
    ? undefined
    : `the engine has no image with ${packageSpec}: start a hub with it once`;
}

/** Starts 20 packaged servers through the hub, and the same 20 containers without it, in turns. */
export async function measureFleetStart(rounds: number): Promise<FleetStart> {
  const entry = { package: packageSpec, runtime: 'docker', auto_start: true };
  await using opened = new AsyncDisposableStack();
  // The first start detects the MCP revisions of the servers, so it is not measured.
  const hub = opened.use(
    await startHub(hubName, Object.fromEntries(names.map(name => [name, entry]))),
  );
  const ids: string[] = [];
  for (const name of names) {
    const id = await copyOf(`${hubName}-${name}`);
    opened.defer(() => removeContainer(id));
    ids.push(id);
  }
  await all(hub, 'stop');
  const hubMs: number[] = [];
  const aloneMs: number[] = [];
  // Round 0 warms up and is not measured.
  for (let round = 0; round <= rounds; round++) {
    const alone = await startAlone(ids);
    const through = await timed(() => all(hub, 'start'));
    await all(hub, 'stop');
    if (round === 0) continue;
    aloneMs.push(alone);
    hubMs.push(through);
  }
  return { hubMs: median(hubMs), aloneMs: median(aloneMs) };
}

/** Creates a container with the settings of another one, so that only starting it is measured. */
async function copyOf(name: string): Promise<string> {
  const docker = new Dockerode();
  const { Config, HostConfig } = await docker.getContainer(name).inspect();
  const { Image, Env, Cmd, Entrypoint, User, WorkingDir } = Config;
  const { AttachStdin, AttachStdout, AttachStderr, OpenStdin, StdinOnce } = Config;
  const container = await docker.createContainer({
    Image,
    Env,
    Cmd,
    ...(Entrypoint !== undefined && { Entrypoint }),
    User,
    WorkingDir,
    AttachStdin,
    AttachStdout,
    AttachStderr,
    OpenStdin,
    StdinOnce,
    Labels: label,
    HostConfig,
  });
  return container.id;
}

/** Starts all containers at once, and kills them after their answers. Returns the time to the last answer in ms. */
async function startAlone(ids: readonly string[]): Promise<number> {
  const took = await timed(() => Promise.all(ids.map(boot)));
  await Promise.all(
    ids.map(async id => {
      const container = new Dockerode().getContainer(id);
      await container.kill();
      await container.wait({ condition: 'not-running' });
    }),
  );
  return took;
}

const initialize = `${JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'agenthub-bench', version: '1.0.0' },
  },
})}\n`;

/** Resolves when the server in a container has answered its first request. */
async function boot(id: string): Promise<void> {
  const socket = await attachAndStart(id);
  socket.write(initialize);
  let heard = '';
  while (!heard.includes('"result"')) {
    const [chunk]: readonly unknown[] = await once(socket, 'data');
    heard += String(chunk);
  }
  // Ignore all further output, and the error when the connection breaks.
  socket.on('error', () => {}).destroy();
}

async function all({ url, dataDir }: Hub, action: 'start' | 'stop'): Promise<void> {
  const key = (await readFile(join(dataDir, 'owner-key'), 'utf8')).trim();
  const headers = { authorization: `Bearer ${key}` };
  const asked = names.map(async name => {
    const answer = await fetch(`${url}/servers/${name}/${action}`, { method: 'POST', headers });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${action} ${name}: ${answer.status} ${text}`);
  });
  await Promise.all(asked);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const since = performance.now();
  await work();
  return performance.now() - since;
}
