import { fileURLToPath } from 'node:url';
import { forkReady, freePort } from '../child.ts';
import { containerEntry, dockerRun, ownContainer, removeContainer } from '../containers.ts';
import type { Target } from '../load/job.ts';
import { type Load, startLoad } from '../load/load.ts';
import { type PeerName, peers } from '../peers.ts';
import { startHub } from './hub.ts';
import { startPeer } from './peer.ts';

export type RuntimeKind = 'process' | 'docker';
export type SubjectName = 'hub' | 'direct' | 'sdk relay' | 'floor' | PeerName;

/** A way to reach the server that is compared, and its load generator. */
export type Subject = {
  readonly name: SubjectName;
  /** Process whose CPU time and memory are measured: the relay, or the client if there is none. */
  readonly pid: number;
  readonly load: Load;
};

export const serverFile = fileURLToPath(new URL('server.mjs', import.meta.url));
const fileOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));

const floorBytes = 500;

/** Starts all subjects, and registers their disposal in `opened`. */
export async function startSubjects(
  runtime: RuntimeKind,
  withPeers: boolean,
  opened: AsyncDisposableStack,
): Promise<readonly Subject[]> {
  const load = async (target: Target) => opened.use(await startLoad(target));
  const container = async () => {
    const id = await ownContainer(serverFile);
    opened.defer(() => removeContainer(id));
    return id;
  };

  const entry =
    runtime === 'docker'
      ? containerEntry(serverFile)
      : { command: process.execPath, args: [serverFile] };
  const hub = opened.use(
    await startHub('agenthub-bench', { bench: { ...entry, runtime, auto_start: true } }),
  );

  const relayPort = String(await freePort());
  const relayed = runtime === 'docker' ? ['container', await container()] : ['process', serverFile];
  const relay = opened.use(await forkReady(fileOf('sdk-relay.ts'), [relayPort, ...relayed]));

  const floorPort = String(await freePort());
  const floor = opened.use(await forkReady(fileOf('floor.ts'), [floorPort]));

  const direct = await load(
    runtime === 'docker'
      ? { kind: 'container', id: await container() }
      : { kind: 'process', serverFile },
  );
  const command = runtime === 'docker' ? dockerRun(serverFile) : [process.execPath, serverFile];
  const started: Subject[] = [];
  for (const name of withPeers ? peers : []) {
    const { pid, url } = opened.use(await startPeer(name, command));
    started.push({ name, pid, load: await load({ kind: 'mcp', url, tool: 'fill' }) });
  }
  return [
    {
      name: 'hub',
      pid: hub.pid,
      load: await load({ kind: 'mcp', url: `${hub.url}/mcp`, tool: 'bench_fill' }),
    },
    { name: 'direct', pid: direct.pid, load: direct },
    {
      name: 'sdk relay',
      pid: relay.pid,
      load: await load({ kind: 'mcp', url: `http://127.0.0.1:${relayPort}/mcp`, tool: 'fill' }),
    },
    {
      name: 'floor',
      pid: floor.pid,
      load: await load({
        kind: 'http',
        url: `http://127.0.0.1:${floorPort}/`,
        bytes: floorBytes,
      }),
    },
    ...started,
  ];
}
