// One round of churn in a child process, whose connections end with it. Its options come as a message.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import Docker from 'dockerode';
import { type HubProcess, states, until } from '#helpers/hub-process';
import { createRandom, under } from '../jsonrpc/random-json.ts';
import { entryOf } from './entry.ts';
import { visit } from './visitor.ts';

export type RoundOptions = {
  readonly hub: Pick<HubProcess, 'url' | 'configFile' | 'ownerHeaders'>;
  readonly hubName: string;
  readonly engineHost: string;
  readonly seconds: number;
  /** The round continues until there were more calls than this, on a busy machine for at most four times as long. */
  readonly leastCalls: number;
  readonly seed: number;
  readonly names: readonly string[];
  readonly clients: number;
};

export type RoundOutcome = {
  readonly calls: number;
  /** Failures of calls to servers that were not changed; empty if there were none. */
  readonly unexpected: readonly string[];
  /** Number of times that each action was performed. */
  readonly done: Readonly<Record<string, number>>;
};

/** Messages of a round to its parent: progress, then its outcome or an error. */
export type RoundMessage =
  | { readonly line: string }
  | { readonly outcome: RoundOutcome }
  | { readonly error: string };

/** Pause between two actions, in ms. */
const paceMs = 300;
const removedMs = 30_000;
/** Time limit in ms until all servers of the config are running. */
const settleMs = 60_000;
/** Time limit of a single action, in ms. */
const answerMs = 60_000;

process.once('message', (options: RoundOptions) => {
  const tell = (message: RoundMessage, then = () => {}) => process.send?.(message, then);
  void round(options, line => tell({ line })).then(
    outcome => tell({ outcome }, () => process.exit(0)),
    (error: unknown) => tell({ error: String(error) }, () => process.exit(1)),
  );
});

async function round(
  { hub, hubName, engineHost, seconds, leastCalls, seed, names, clients }: RoundOptions,
  report: (line: string) => void,
): Promise<RoundOutcome> {
  const docker = new Docker({ socketPath: engineHost.replace('unix://', '') });
  const random = choicesOf(createRandom(seed));
  await settled(hub, names.length + 1);
  let calls = 0;
  const since = performance.now();
  const isOver = () => {
    const took = (performance.now() - since) / 1000;
    return took >= (calls <= leastCalls ? 4 * seconds : seconds);
  };
  const unexpected: string[] = [];
  const done: Record<string, number> = {};

  /** A client calls random servers. Only calls to the neighbour, which nothing is done to, must never fail. */
  async function client(): Promise<void> {
    while (!isOver()) {
      const name = random.chance(0.2) ? 'neighbour' : random.pick(names);
      try {
        await using visitor = await visit(`${hub.url}/mcp/${name}`);
        for (let call = 0; call < 5 && !isOver(); call++) {
          const text = `${name} ${++calls}`;
          const answer = await visitor.echo(text);
          if (answer !== text) unexpected.push(`answered ${String(answer)} to ${text}`);
          await delay(random.between(5, 50));
        }
      } catch (error) {
        if (name === 'neighbour') unexpected.push(String(error));
        await delay(100);
      }
    }
  }

  /** Kills all containers of a server. During a swap it has two, under different names. */
  async function kill(server: string): Promise<void> {
    const label = [`com.docker.compose.project=${hubName}`, `io.agenthub.server=${server}`];
    for (const { Id } of await docker.listContainers({ filters: JSON.stringify({ label }) }))
      await docker.getContainer(Id).kill();
  }

  async function install(): Promise<void> {
    const { args, mounts } = entryOf(0);
    const body = {
      package: 'docker:node:24-bookworm-slim',
      name: 'extra',
      args: ['node', ...args],
      mounts,
    };
    const installed = await post(hub, '/servers/install', body);
    assert.equal(installed.status, 201, await installed.text());
    const removed = await fetch(`${hub.url}/servers/extra`, {
      method: 'DELETE',
      headers: hub.ownerHeaders,
      signal: AbortSignal.timeout(answerMs),
    });
    assert.equal(removed.status, 200, await removed.text());
  }

  async function reload(name: string): Promise<void> {
    await edit(hub, servers => without(servers, name));
    await until(
      () => states(hub),
      found => !(name in found),
      removedMs,
    );
    await edit(hub, servers => ({ ...servers, [name]: entryOf(0) }));
  }

  /** Actions on processes. A container that is being replaced may be removed before it can be killed. */
  const strokes: Actions = {
    kill: name => kill(name).catch(() => undefined),
    async restart(name) {
      const answer = await post(hub, `/servers/${name}/restart`);
      // The server may be removed from the config or be killed while it starts.
      if (![200, 404, 502, 503].includes(answer.status))
        unexpected.push(`restart ${name}: ${answer.status} ${await answer.text()}`);
    },
  };
  /** Actions on the config. */
  const edits: Actions = {
    change: name => edit(hub, servers => ({ ...servers, [name]: entryOf(random.between(1, 1e6)) })),
    reload,
    install,
  };

  /** Performs actions in a random order: all of them once before any is repeated, and each at least once. */
  async function disturb(actions: Actions): Promise<void> {
    const all = Object.keys(actions);
    let next: readonly string[] = all;
    while (!isOver() || all.some(what => !done[what])) {
      const what = random.pick(next);
      next = next.length > 1 ? next.filter(other => other !== what) : all;
      const name = random.pick(names);
      report(`${what} ${what === 'install' ? 'extra' : name}`);
      await actions[what]?.(name).catch((error: unknown) =>
        unexpected.push(`${what} ${name}: ${String(error)}`),
      );
      done[what] = (done[what] ?? 0) + 1;
      await delay(paceMs);
    }
  }

  const visitors = Array.from({ length: clients }, client);
  await Promise.all([disturb(strokes), disturb(edits), ...visitors]);
  await settled(hub, names.length + 1);
  return { calls, unexpected, done };
}

/** Resolves when exactly this number of servers is running. */
async function settled(hub: Hub, count: number): Promise<void> {
  await until(
    () => states(hub),
    found =>
      Object.keys(found).length === count &&
      Object.values(found).every(state => state === 'running'),
    settleMs,
  );
}

type Actions = Readonly<Record<string, (name: string) => Promise<unknown>>>;

function choicesOf(random: () => number) {
  return {
    between: (least: number, most: number) => least + under(random, most - least + 1),
    chance: (probability: number) => random() < probability,
    pick(from: readonly string[]): string {
      return from[under(random, from.length)] ?? '';
    },
  };
}

type Hub = RoundOptions['hub'];

async function post(hub: Hub, path: string, body?: object): Promise<Response> {
  return await fetch(`${hub.url}${path}`, {
    method: 'POST',
    signal: AbortSignal.timeout(answerMs),
    headers: { ...hub.ownerHeaders, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
}

type Entries = Readonly<Record<string, unknown>>;

/** Edits the config file, and makes the hub reload it. */
async function edit(hub: Hub, change: (servers: Entries) => Entries): Promise<void> {
  const config: { readonly servers: Entries } = JSON.parse(await readFile(hub.configFile, 'utf8'));
  await writeFile(hub.configFile, JSON.stringify({ ...config, servers: change(config.servers) }));
  const answer = await post(hub, '/config/reload');
  assert.equal(answer.status, 200, await answer.text());
}

function without(entries: Entries, name: string): Entries {
  return Object.fromEntries(Object.entries(entries).filter(([key]) => key !== name));
}
