import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { type Clock, HubError, within } from '#core';
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
import { buildTimeoutMs } from '../image/images.ts';
import { build } from '../image/make.ts';

type Options = {
  readonly owner: ContainerOwner;
  readonly imagesDir: string;
  readonly buildLimits: BuildLimits;
};

/** Name of the forwarder's container, and of its network to the outside. Names of servers have no dot. */
export const forwarderName = ({ hubName }: Pick<ContainerOwner, 'hubName'>) => `${hubName}-.egress`;

const memoryBytes = 256 * 2 ** 20;
const pids = 64;

/**
 * Returns the container of the forwarder: a new one that is not started, or that of an earlier run of this hub. The
 * signal ends the build of its image, for which the engine may have to pull the base image.
 */
export async function provideForwarder(
  { owner, imagesDir, buildLimits }: Options,
  { engine, clock }: { readonly engine: Engine; readonly clock: Clock },
  signal: AbortSignal,
): Promise<{ readonly id: string; readonly isRunning: boolean }> {
  const name = forwarderName(owner);
  const { tag, context } = await forwarderImage(imagesDir);
  const found = await engine.findContainer(name).catch((error: unknown) => {
    throw isRefusal(error, 403) ? taken(name, error) : error;
  });
  if (found) {
    if (found.labels[hubLabel] !== owner.hubId) throw taken(name);
    // Compared by tag, not by image id: another hub may have rebuilt the image from the same files.
    if (found.state.isRunning && found.image === tag) return { id: found.id, isRunning: true };
    await engine.removeContainer(found.id);
  }
  await within(buildTimeoutMs, { clock, signal }, ending =>
    provideImage(tag, { context, limits: buildLimits, engine }, ending),
  );
  if (!(await engine.findNetwork(name))) await engine.createNetwork(name, ownLabels(owner));
  return { id: await engine.createContainer(name, bodyOf(owner, tag)), isRunning: false };
}

/** Returns the tag and the build context of the forwarder's image. The tag changes with its files. */
export async function forwarderImage(imagesDir: string) {
  const context = await readBuildContext(join(imagesDir, 'egress'));
  const digest = createHash('sha256').update(context).digest('hex').slice(0, 12);
  return { tag: `agenthub/egress:${digest}`, context };
}

type ImageBuild = {
  readonly context: Buffer;
  readonly limits: BuildLimits;
  readonly engine: Engine;
};

async function provideImage(
  tag: string,
  { context, limits, engine }: ImageBuild,
  signal: AbortSignal,
): Promise<void> {
  if (await engine.findImage(tag)) return;
  const image = { tag, labels: { [managedLabel]: 'true', [baseLabel]: 'egress' } };
  const bounds = { ...limits, network: 'none' };
  await build({ engine, context, image, limits: bounds }, () => {}, signal);
  if (await engine.findImage(tag)) return;
  throw new HubError('HUB_IMAGE_BUILD_FAILED', `the image ${tag} was built, but is gone again`);
}

/** Body of the request that creates the forwarder's container. The broker admits exactly this body. */
export const bodyOf = (owner: ContainerOwner, image: string) => ({
  Image: image,
  User: '65532:65532',
  AttachStdin: true,
  AttachStdout: true,
  AttachStderr: true,
  OpenStdin: true,
  // Stdin stays open without a connection: the next run of the hub attaches again.
  StdinOnce: false,
  Tty: false,
  Labels: { ...ownLabels(owner), ...composeLabelsOf(owner, { server: '.egress' }) },
  HostConfig: {
    ...hardening,
    Memory: memoryBytes,
    MemorySwap: memoryBytes,
    PidsLimit: pids,
    // No CPU limit: one thread does all the work, and a throttled one would delay all servers.
    NetworkMode: forwarderName(owner),
    // The container is in the networks of all servers, and must not route between them.
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
