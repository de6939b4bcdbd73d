import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import Docker from 'dockerode';
import { type Log, systemClock, silent } from '#core';
import { engineHost } from '#helpers/engine-probe';
import type { Message } from '#jsonrpc';
import type { DockerTarget, Instance, LaunchSpec } from '#runtimes';
import { type HubPlaces, createDockerRuntime } from '#runtimes/docker';

export const imagesDir = join(import.meta.dirname, '../../../images');
export const nodeImage = 'node:24-bookworm-slim';
const mebibyte = 2 ** 20;

/** Client of the tests for the engine, independent of the hub's own. */
export const docker = new Docker(
  engineHost.startsWith('unix://') ? { socketPath: engineHost.slice('unix://'.length) } : {},
);

type Lines = { readonly stderr: string[]; readonly progress: string[] };

/** Creates a Docker runtime with its own hub id. Disposing removes everything that it has created. */
export function createHub(
  options: {
    readonly dockerHost?: string;
    readonly hubId?: string;
    readonly log?: Log;
    readonly volumeCheckMs?: number;
    readonly isAwaited?: (id: string) => boolean;
    readonly hubPlaces?: () => Promise<HubPlaces>;
    /** Resolved versions of packages, by the names of their images. */
    readonly locks?: Map<string, string>;
  } = {},
) {
  const id = options.hubId ?? randomUUID();
  const hubName = `test-${id.slice(0, 8)}`;
  const { locks = new Map<string, string>() } = options;
  const runtime = createDockerRuntime(
    {
      hubId: id,
      hubName,
      dockerHost: options.dockerHost ?? engineHost,
      imagesDir,
      ...(options.volumeCheckMs !== undefined && { volumeCheckMs: options.volumeCheckMs }),
    },
    {
      clock: systemClock,
      log: options.log ?? silent,
      isAwaited: options.isAwaited ?? (() => false),
      ...(options.hubPlaces && { hubPlaces: options.hubPlaces }),
      locks: {
        read: async name => locks.get(name),
        write: async (name, text) => void locks.set(name, text),
        remove: async name => void locks.delete(name),
      },
    },
  );
  const filters = JSON.stringify({ label: [`io.agenthub.hub=${id}`] });
  const lines: Lines = { stderr: [], progress: [] };

  async function allLeftovers(): Promise<readonly string[]> {
    const containers = await docker.listContainers({ all: true, filters });
    const networks = await docker.listNetworks({ filters });
    return [...containers.flatMap(one => one.Names), ...networks.map(one => one.Name)];
  }

  const leftovers = async () =>
    (await allLeftovers()).filter(name => !name.endsWith(`${hubName}-.egress`));

  return {
    id,
    hubName,
    runtime,
    lines,
    spec: (server: string, target: Partial<DockerTarget>, env: LaunchSpec['env'] = {}) =>
      specOf(server, target, env),
    launch: (
      spec: LaunchSpec,
      signal: AbortSignal = new AbortController().signal,
    ): Promise<Instance> =>
      runtime.launch(
        spec,
        {
          stderr: line => lines.stderr.push(line),
          progress: text => lines.progress.push(text),
        },
        signal,
      ),
    /** Provides the image of a spec, without starting a container. */
    build: (spec: LaunchSpec) =>
      runtime.upkeep.prepare(
        spec,
        { stderr: () => {}, progress: text => lines.progress.push(text) },
        new AbortController().signal,
      ),
    /** Returns the names of this hub's containers and networks in every state, except those of the forwarder. */
    leftovers,
    /**
     * Returns the names of this hub's containers and networks, including the forwarder, which exists until the hub
     * stops.
     */
    allLeftovers,
    async [Symbol.asyncDispose]() {
      await runtime.stop();
      // The runtime may still be removing some containers itself.
      await until('all of it is removed', async () => {
        for (const { Id } of await docker.listContainers({ all: true, filters }))
          await docker.getContainer(Id).remove({ force: true, v: true }).catch(ignore);
        for (const { Id } of await docker.listNetworks({ filters }))
          await docker.getNetwork(Id).remove().catch(ignore);
        return (await allLeftovers()).length === 0;
      });
      const { Volumes } = await docker.listVolumes({ filters });
      for (const { Name } of Volumes) await docker.getVolume(Name).remove();
    },
  };
}

const ignore = () => {};

/** Returns the spec of a server in the Node image, with small limits and the strictest settings by default. */
export function specOf(
  server: string,
  target: Partial<DockerTarget>,
  env: LaunchSpec['env'] = {},
): LaunchSpec {
  return {
    server,
    env,
    maxLineBytes: 64 * mebibyte,
    maxWaitingBytes: 64 * mebibyte,
    target: {
      kind: 'docker',
      image: { reference: nodeImage },
      args: [],
      network: 'none',
      mounts: [],
      volumes: [],
      limits: {
        memoryBytes: 128 * mebibyte,
        cpus: 1,
        pids: 64,
        scratchBytes: 64 * 2 ** 20,
        volumeBytes: 10 * 2 ** 30,
      },
      logs: 'bounded',
      ...target,
    },
  };
}

/** Returns the target of a server in the Node image that runs this script. */
export const script = (text: string): Partial<DockerTarget> => ({
  command: 'node',
  args: ['-e', text],
});

/**
 * Returns the target of a server that answers each line with the result of `work(params)`, or with its error message.
 */
export const answering = (work: string): Partial<DockerTarget> =>
  script(`
    const work = ${work};
    require('node:readline').createInterface({ input: process.stdin }).on('line', async line => {
      if (line === '') return;
      const { id, params } = JSON.parse(line);
      let result;
      try { result = await work(params); } catch (error) { result = 'failed: ' + (error.code ?? error.message); }
      console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
    });`);

/** Returns a fact that the instance reports about itself. */
export function factOf(
  { about }: Instance,
  fact: 'containerId' | 'containerName' | 'image',
): string {
  const value = about[fact];
  assert.ok(typeof value === 'string');
  return value;
}

/** Returns a function that sends requests over an instance's channel, and resolves with the answers in order. */
export function askerOf({ channel }: Instance) {
  let next = 0;
  const waiting: ((answer: Message) => void)[] = [];
  const noise: string[] = [];
  channel.listen({
    message: message => waiting.shift()?.(message),
    oversized: ({ bytes }) => assert.fail(`a line of ${bytes} bytes is too long`),
    noise: text => noise.push(text),
  });
  return {
    noise,
    /** Resolves with the result of the answer. Rejects if the channel closes first. */
    ask: async (method: string, params: unknown = {}): Promise<unknown> => {
      const answer = Promise.withResolvers<Message>();
      waiting.push(answer.resolve);
      channel.send(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: next++, method, params })));
      const first = await Promise.race([answer.promise, channel.closed]);
      assert.ok('kind' in first, 'reason' in first ? `closed: ${first.reason}` : 'closed');
      const parsed: unknown = JSON.parse(first.bytes.toString());
      assert.ok(typeof parsed === 'object' && parsed !== null && 'result' in parsed);
      return parsed.result;
    },
  };
}

/** Waits until a check holds. Fails after `timeoutMs`. */
export async function until(
  what: string,
  check: () => boolean | Promise<boolean>,
  timeoutMs = 10_000,
): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!(await check())) {
    if (performance.now() > end) assert.fail(`not within ${timeoutMs} ms: ${what}`);
    await new Promise(resolve => setTimeout(resolve, 20));
  }
}
