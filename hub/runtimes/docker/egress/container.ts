import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { HubError } from '#core';
import { hardening } from '../container/hardening.ts';
import {
  type ContainerOwner,
  baseLabel,
  composeLabelsOf,
  hubLabel,
  managedLabel,
  ownLabels,
} from '../container/labels.ts';
import type { Engine } from '../engine/engine.ts';
import { isRefusal } from '../engine/errors.ts';
import type { BuildLimits } from '../engine/images.ts';
import { readBuildContext } from '../image/build-context.ts';
import { build } from '../image/make.ts';

type Options = {
  readonly owner: ContainerOwner;
  readonly imagesDir: string;
  readonly buildLimits: BuildLimits;
};

/** Name of the forwarder's container, and of its network to the outside. No server has it: their names have no dot. */
export const forwarderName = ({ hubName }: Pick<ContainerOwner, 'hubName'>) => `${hubName}-.egress`;

const memoryBytes = 256 * 2 ** 20;
const pids = 64;

/** The container of the forwarder: a new one that is not started, or that of an earlier run of this hub. */
export async function provideForwarder(
  { owner, imagesDir, buildLimits }: Options,
  engine: Engine,
): Promise<{ readonly id: string; readonly isRunning: boolean }> {
  const name = forwarderName(owner);
  const image = await provideImage(join(imagesDir, 'egress'), buildLimits, engine);
  const found = await engine.findContainer(name).catch((error: unknown) => {
    throw isRefusal(error, 403) ? taken(name, error) : error;
  });
  if (found) {
    if (found.labels[hubLabel] !== owner.hubId) throw taken(name);
    if (found.state.isRunning && found.imageId === image.id)
      return { id: found.id, isRunning: true };
    await engine.removeContainer(found.id);
  }
  if (!(await engine.findNetwork(name))) await engine.createNetwork(name, ownLabels(owner));
  return { id: await engine.createContainer(name, bodyOf(owner, image.tag)), isRunning: false };
}

async function provideImage(folder: string, limits: BuildLimits, engine: Engine) {
  const context = await readBuildContext(folder);
  const tag = `agenthub/egress:${createHash('sha256').update(context).digest('hex').slice(0, 12)}`;
  const present = await engine.findImage(tag);
  if (present) return { tag, id: present.id };
  const image = { tag, labels: { [managedLabel]: 'true', [baseLabel]: 'egress' } };
  const bounds = { ...limits, network: 'none' };
  const { signal } = new AbortController();
  await build({ engine, context, image, limits: bounds }, () => {}, signal);
  const built = await engine.findImage(tag);
  if (built) return { tag, id: built.id };
  throw new HubError('HUB_IMAGE_BUILD_FAILED', `the image ${tag} was built, but is gone again`);
}

/** The broker admits exactly this body. */
export const bodyOf = (owner: ContainerOwner, image: string) => ({
  Image: image,
  User: '65532:65532',
  AttachStdin: true,
  AttachStdout: true,
  AttachStderr: true,
  OpenStdin: true,
  // Keeps its input without a connection: the next run of the hub attaches again.
  StdinOnce: false,
  Tty: false,
  Labels: { ...ownLabels(owner), ...composeLabelsOf(owner, { server: '.egress' }) },
  HostConfig: {
    ...hardening,
    Memory: memoryBytes,
    MemorySwap: memoryBytes,
    PidsLimit: pids,
    // No share of the processors: one thread does all the work, and a throttled one would delay all servers.
    NetworkMode: forwarderName(owner),
    // It is in the networks of all servers, between which it must route nothing.
    Sysctls: { 'net.ipv4.ip_forward': '0' },
    LogConfig: { Type: 'local', Config: { 'max-size': '1m', 'max-file': '2' } },
  },
});

const taken = (name: string, cause?: unknown) =>
  new HubError(
    'HUB_CONTAINER_NAME_TAKEN',
    `the container name ${name} is taken by something that this hub has not made. Give this hub a HUB_NAME of its own, or remove the other container`,
    { cause },
  );
