import { request } from 'node:http';
import { dirname } from 'node:path';
import type { Duplex } from 'node:stream';
import Dockerode from 'dockerode';
import { engineHost } from '#helpers/engine-probe';

/** Image with Node. The benchmark pulls no image, so the engine must have it. */
export const nodeImage = 'node:24-slim';
/** Label of all containers that the benchmark creates itself. */
export const label = { 'agenthub.bench': 'true' };
const inContainer = '/bench/server.mjs';

/** Returns the config entry of the server in a container. `ownContainer` creates the same container without a hub. */
export const containerEntry = (serverFile: string) => ({
  image: nodeImage,
  command: 'node',
  args: [inContainer],
  mounts: [`${dirname(serverFile)}:${dirname(inContainer)}`],
});

/** Returns why containers cannot be used, as a clause; undefined if the engine has the image. */
export async function findImage(): Promise<string | undefined> {
  try {
    await new Dockerode().getImage(nodeImage).inspect();
    return undefined;
  } catch {
    return `the engine has no image ${nodeImage}`;
  }
}

/** Creates a container with the options that the hub would use. The caller starts it. */
export async function ownContainer(serverFile: string): Promise<string> {
  const container = await new Dockerode().createContainer({
    Image: nodeImage,
    Entrypoint: ['node'],
    Cmd: [inContainer],
    User: '65532:65532',
    Labels: label,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    OpenStdin: true,
    // The container ends when its client detaches, and is removed then, so an interrupted benchmark leaves nothing.
    StdinOnce: true,
    HostConfig: {
      AutoRemove: true,
      Init: true,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      ReadonlyRootfs: true,
      NetworkMode: 'none',
      Memory: 512 * 2 ** 20,
      MemorySwap: 512 * 2 ** 20,
      NanoCpus: 1e9,
      PidsLimit: 256,
      LogConfig: { Type: 'local', Config: { 'max-size': '1m', 'max-file': '2' } },
      Binds: [`${dirname(serverFile)}:${dirname(inContainer)}:ro`],
    },
  });
  return container.id;
}

/** Returns the `docker run` command for the same container, as the peers need it. */
export function dockerRun(serverFile: string): readonly string[] {
  const mount = `${dirname(serverFile)}:${dirname(inContainer)}:ro`;
  const start = ['--entrypoint', 'node', nodeImage, inContainer];
  return ['docker', 'run', ...dockerOptions.split(' '), '-v', mount, ...start];
}

const dockerOptions =
  '-i --rm --init --user 65532:65532 --network none --cap-drop ALL --read-only ' +
  '--security-opt no-new-privileges --memory 512m --memory-swap 512m --cpus 1 --pids-limit 256 ' +
  '--log-driver local --log-opt max-size=1m --log-opt max-file=2 --label agenthub.bench=true';

/** Attaches to a created container and starts it. Returns the raw stream, in Docker's frames. */
export async function attachAndStart(id: string): Promise<Duplex> {
  const { promise, resolve, reject } = Promise.withResolvers<Duplex>();
  request({
    ...engineAddress(),
    method: 'POST',
    path: `/containers/${id}/attach?stream=1&stdin=1&stdout=1&stderr=1`,
    headers: { connection: 'Upgrade', upgrade: 'tcp' },
  })
    .on('upgrade', (_response, socket) => resolve(socket))
    .on('response', response => reject(new Error(`attach: status ${response.statusCode}`)))
    .on('error', reject)
    .end();
  const socket = await promise;
  await new Dockerode().getContainer(id).start();
  return socket;
}

/** Removes a container. It may be removed already, or its removal may be in progress. */
export async function removeContainer(id: string): Promise<void> {
  await new Dockerode()
    .getContainer(id)
    .remove({ force: true })
    .catch((error: unknown) => {
      const status = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined;
      if (status !== 404 && status !== 409) throw error;
    });
}

function engineAddress() {
  if (engineHost.startsWith('unix://')) return { socketPath: engineHost.slice('unix://'.length) };
  const { hostname, port } = new URL(engineHost);
  return { hostname, port: port || '2375' };
}
