import { join } from 'node:path';
import { type Clock, HubError, within } from '#core';
import { hardening, openStreams } from '../container/hardening.ts';
import { type ContainerOwner, composeLabelsOf, hubLabel, ownLabels } from '../container/labels.ts';
import type { Engine } from '../engine/engine.ts';
import { isRefusal } from '../engine/errors.ts';
import type { BuildLimits } from '../engine/images.ts';
import { readBuildContext } from '../image/build-context.ts';
import { buildTimeoutMs } from '../image/images.ts';
import { build } from '../image/make.ts';
import { ownImageOf } from '../image/package-image.ts';

export type ForwarderOptions = {
  readonly owner: ContainerOwner;
  readonly imagesDir: string;
  readonly buildLimits: BuildLimits;
};

/**
 * Name of the forwarder's container, and of its network to the outside. No server has this name, as server names have
 * no dot.
 */
export const forwarderName = ({ hubName }: Pick<ContainerOwner, 'hubName'>) => `${hubName}-.egress`;

const memoryBytes = 256 * 2 ** 20;
const pids = 64;

/**
 * Returns the container of the forwarder: a new one that is not started, or that of an earlier run of this hub. The
 * signal ends the build of its image, for which the engine may have to pull the base image.
 */
export async function provideForwarder(
  { owner, imagesDir, buildLimits }: ForwarderOptions,
  { engine, clock }: { readonly engine: Engine; readonly clock: Clock },
  signal: AbortSignal,
): Promise<{ readonly id: string; readonly isRunning: boolean }> {
  const name = forwarderName(owner);
  const { context, ...image } = await forwarderImage(imagesDir);
  const found = await engine.findContainer(name).catch((error: unknown) => {
    throw isRefusal(error, 403) ? taken(name, error) : error;
  });
  if (found) {
    if (found.labels[hubLabel] !== owner.hubId) throw taken(name);
    // Compared by tag, not by image id: another hub may have rebuilt the image from the same files.
    if (found.state.isRunning && found.image === image.tag)
      return { id: found.id, isRunning: true };
    await engine.removeContainer(found.id);
  }
  await within(buildTimeoutMs, { clock, signal }, ending =>
    provideImage({ context, image, limits: { ...buildLimits, network: 'none' }, engine }, ending),
  );
  if (!(await engine.findNetwork(name))) await engine.createNetwork(name, ownLabels(owner));
  return { id: await engine.createContainer(name, bodyOf(owner, image.tag)), isRunning: false };
}

/** Returns the image of the forwarder with its build context. The tag changes with its files. */
export async function forwarderImage(imagesDir: string) {
  const context = await readBuildContext(join(imagesDir, 'egress'));
  return { ...ownImageOf('egress', context), context };
}

type ImageBuild = Parameters<typeof build>[0] & { readonly engine: Pick<Engine, 'findImage'> };

async function provideImage(work: ImageBuild, signal: AbortSignal): Promise<void> {
  const { engine, image } = work;
  if (await engine.findImage(image.tag)) return;
  await build(work, () => {}, signal);
  if (await engine.findImage(image.tag)) return;
  throw new HubError(
    'HUB_IMAGE_BUILD_FAILED',
    `the image ${image.tag} was built, but is gone again`,
  );
}

/** Body of the request that creates the forwarder's container. The broker admits exactly this body. */
export const bodyOf = (owner: ContainerOwner, image: string) => ({
  Image: image,
  User: '65532:65532',
  ...openStreams,
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
