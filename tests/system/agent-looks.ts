import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type Dockerode from 'dockerode';

type Entry = {
  readonly agent_id: string;
  readonly container_id: string | null;
  readonly status: string;
};

export type AgentLooks = {
  /** Stops the comparison. `problems`: differences that were found, each once. */
  stop(): Promise<{ readonly looks: number; readonly problems: readonly string[] }>;
};

const intervalMs = 100;
/** Time in which the hub must notice that a container has exited on its own. */
const unheardMs = 1_000;
/** Time in which a container that the hub stops must exit. */
const endingMs = 12_000;

/**
 * Compares `tasks.json` with the engine every 100 ms. They agree if the entry of an agent names its running container,
 * and if each entry that names a container and is not `stopped` names one that exists and has not exited. An entry is
 * `stopped` while the hub stops its container. The hub records within a second that a container has exited on its own.
 */
export function watchAgents(
  { hubName, dataDir }: { readonly hubName: string; readonly dataDir: string },
  docker: Dockerode,
): AgentLooks {
  const problems = new Set<string>();
  const since = new Map<string, number>();
  let looks = 0;
  let isOver = false;

  const prefix = `/${hubName}-.agent-`;
  async function containers() {
    const found = await docker.listContainers({ all: true, filters: { name: [hubName] } });
    return found.flatMap(({ Id, Names: [name = ''], State }) =>
      name.startsWith(prefix)
        ? [{ agent: name.slice(prefix.length), id: Id.slice(0, 12), state: State }]
        : [],
    );
  }

  async function entries(): Promise<readonly Entry[]> {
    const text = await readFile(join(dataDir, 'tasks.json'), 'utf8').catch(() => '{"agents":[]}'); // The file does not exist before the first agent.
    return JSON.parse(text).agents;
  }

  /** Returns the differences found now, each with the time in ms for which it is allowed. */
  async function look(): Promise<ReadonlyMap<string, number>> {
    const found = new Map<string, number>();
    const before = await entries();
    const engine = await containers();
    const after = await entries();
    for (const { agent, id, state } of engine) {
      if (state !== 'running') continue;
      const named = [...before, ...after].filter(entry => entry.container_id === id);
      if (!named.some(({ agent_id: of }) => of === agent))
        found.set(`${agent}: its container ${id} runs and is not named`, 0);
      else if (named.every(({ status }) => status === 'stopped'))
        found.set(`${agent}: is stopped, and its container ${id} runs`, endingMs);
    }
    for (const { agent_id: agent, container_id: id, status } of before) {
      const isSame = after.some(
        entry =>
          entry.agent_id === agent && entry.container_id === id && entry.status !== 'stopped',
      );
      if (id === null || status === 'stopped' || !isSame) continue;
      const one = engine.find(container => container.id === id);
      if (!one || !['created', 'running'].includes(one.state))
        found.set(`${agent}: is ${status}, and its container ${id} is ${one?.state}`, unheardMs);
    }
    return found;
  }

  async function lookOnce(): Promise<void> {
    const found = await look().catch(() => undefined); // The engine does not answer, so there is nothing to compare.
    if (!found) return since.clear();
    looks++;
    for (const known of since.keys()) if (!found.has(known)) since.delete(known);
    for (const [what, mostMs] of found) {
      const first = since.get(what) ?? performance.now();
      since.set(what, first);
      if (performance.now() - first >= mostMs) problems.add(what);
    }
  }

  const looking = (async () => {
    while (!isOver) {
      await lookOnce();
      await new Promise(resolve => setTimeout(resolve, intervalMs));
    }
  })();

  return {
    async stop() {
      isOver = true;
      await looking;
      await lookOnce();
      return { looks, problems: [...problems] };
    },
  };
}
