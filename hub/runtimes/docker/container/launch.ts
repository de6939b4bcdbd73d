import { HubError, messageOf } from '#core';
import {
  type DockerTarget,
  type Instance,
  type LaunchEvents,
  type LaunchSpec,
  throwIfCancelled,
} from '#runtimes';
import type { DockerParts } from '../parts.ts';
import { deliveryOf } from '../secrets/delivery.ts';
import { declaredVolumes } from '../volumes/declared.ts';
import { refuseForeignVolumes } from '../volumes/foreign.ts';
import { createNoNetworkHint, createProxyHint } from '../egress/hint.ts';
import type { Way } from '../egress/way.ts';
import { createAttachment } from './attach.ts';
import { createContainer, toLaunchError } from './create.ts';
import { createInstance } from './instance.ts';
import { digestLabel, hubLabel, shortId } from './labels.ts';
import { type Image, createOptions, nameOf, networkNameOf, userOf } from './options.ts';

/** Returns the target of a launch spec. Throws HUB_INTERNAL if it is not for the Docker runtime. */
export function targetOf(spec: LaunchSpec): DockerTarget {
  if (spec.target.kind === 'docker') return spec.target;
  throw new HubError('HUB_INTERNAL', `${spec.server} is not a server for the Docker runtime`);
}

/**
 * Creates and starts a container; if that fails, removes all objects it created. `signal` also aborts if the engine
 * takes too long.
 */
export async function launch(
  spec: LaunchSpec,
  image: Image,
  report: LaunchEvents,
  signal: AbortSignal,
  parts: DockerParts,
): Promise<Instance> {
  const { engine, names, owner } = parts;
  const target = targetOf(spec);
  const name = nameOf(owner, spec);
  throwIfCancelled(spec, signal);
  const networkName = networkNameOf(owner, spec);
  const held = target.network === 'none' ? [name] : [...new Set([name, networkName])];
  const running = held.find(names.has);
  if (running !== undefined)
    throw new HubError('HUB_CONTAINER_NAME_TAKEN', `${running} runs already. Stop it first`);

  if (target.volumeFolders) await requireFolders(spec, parts);
  await using made = names.hold(...held);
  const { network } = target;
  let way: Way | undefined;
  if (network !== 'none') {
    const member = await parts.egress.createNetwork(spec, network);
    made.add(`network ${networkName}`, () => parts.egress.leave(networkName));
    throwIfCancelled(spec, signal);
    way = await parts.egress.join(networkName, member);
    throwIfCancelled(spec, signal);
  }
  // Called without the signal: an aborted call may still create a container, whose id would be unknown.
  const { scratch, volumes } = await parts.imageVolumes.placesOf(spec, target, image);
  throwIfCancelled(spec, signal);
  const whole = { ...target, volumes: [...target.volumes, ...volumes] };
  await refuseForeignVolumes(spec, whole, parts);
  await parts.volumeBound.check(spec, whole);
  logReplacedUser(spec, target, image, parts);
  const planned = await parts.secretDelivery.plan(spec, whole, image);
  throwIfCancelled(spec, signal);
  const body = createOptions(owner, planned.spec, planned.target, image, scratch, way);
  const id = await createContainer(name, body, spec, parts);
  made.add(`container ${name}`, () => engine.removeContainer(id));
  throwIfCancelled(spec, signal);

  // Reports the container id, at the same time as the attach call.
  const named = report.created?.(shortId(id));
  const attachment = createAttachment(await engine.attach(id), spec, hearsOf(spec, report));
  // The container may exit before the engine answers the start call.
  const created = Promise.withResolvers<AsyncDisposable>();
  const { secrets, line } = planned;
  const container = { id, image, spec, secrets, target: whole, attachment };
  const instance = createInstance({ ...container, created: created.promise }, report, parts);
  try {
    await named;
    await engine.startContainer(id, signal);
    throwIfCancelled(spec, signal);
    if (line) attachment.preface(line);
  } catch (error) {
    attachment.end({ reason: messageOf(error) });
    created.resolve(new AsyncDisposableStack());
    throw toLaunchError(error, spec);
  }
  created.resolve(made.move());
  return instance;
}

/**
 * The first major version of the engine that can mount a folder of a volume. Older ones would mount the whole volume.
 */
const firstWithFolders = 26;

async function requireFolders({ server }: LaunchSpec, { engine }: DockerParts): Promise<void> {
  const { version } = await engine.version();
  if (Number.parseInt(version, 10) >= firstWithFolders) return;
  throw new HubError(
    'HUB_LAUNCH_INVALID',
    `${server} gets a folder of a volume, which needs Docker Engine ${firstWithFolders} or newer: older ones would give it the whole volume. ` +
      `The engine at ${engine.address} is ${version}. Update it`,
    { data: { server } },
  );
}

function hearsOf(spec: LaunchSpec, report: LaunchEvents) {
  const create = targetOf(spec).network === 'none' ? createNoNetworkHint : createProxyHint;
  return create(spec, report);
}

function logReplacedUser(
  spec: LaunchSpec,
  target: DockerTarget,
  image: Image,
  { log }: Pick<DockerParts, 'log'>,
): void {
  const user = userOf(target, image);
  if (target.user === undefined && user !== image.user && image.user !== '')
    log.info(
      { server: spec.server, image: image.reference, imageUser: image.user, user },
      'the user of the image may be root, so the container runs as another user. Set "user" to a number to change it',
    );
}

/**
 * Adopts the container of a handle if it is still what the spec would launch; otherwise removes it and resolves with
 * undefined. When `late` aborts, the engine has taken too long: the container is left for a later adoption.
 */
export async function adopt(
  spec: LaunchSpec,
  handle: string,
  report: LaunchEvents,
  { signal, late }: { readonly signal: AbortSignal; readonly late: AbortSignal },
  parts: DockerParts,
): Promise<Instance | undefined> {
  const { engine, owner, names, images } = parts;
  const target = targetOf(spec);
  const name = nameOf(owner, spec);
  const [id = '', startedAt = ''] = handle.split(' ');
  const found = await engine.findContainer(id);
  late.throwIfAborted();
  const networkName = networkNameOf(owner, spec);
  const { network } = target;
  const held = network === 'none' ? [name] : [...new Set([name, networkName])];
  if (found?.labels[hubLabel] !== owner.hubId || held.some(names.has)) return undefined;
  await using made = names.hold(...held);
  using _adoption = network === 'none' ? undefined : parts.egress.beginAdoption();
  const image = await images.find(target.image);
  const member = network === 'none' ? undefined : await parts.egress.findNetwork(spec, network);
  const isSame =
    // Without a member, the network may lead to the outside, as those of earlier versions of the hub do.
    (member !== undefined || network === 'none') &&
    found.name === name &&
    found.state.isRunning &&
    found.state.startedAt === startedAt &&
    spec.digest !== undefined &&
    found.labels[digestLabel] === spec.digest &&
    found.imageId === image?.id;
  late.throwIfAborted();
  if (isSame && member && !signal.aborted) await parts.egress.join(networkName, member);
  late.throwIfAborted();
  const socket = isSame && !signal.aborted ? await engine.attach(id) : undefined;
  if (late.aborted) socket?.destroy();
  late.throwIfAborted();
  if (network !== 'none') made.add(`network ${networkName}`, () => parts.egress.leave(networkName));
  made.add(`container ${name}`, () => engine.removeContainer(id));
  throwIfCancelled(spec, signal);
  if (!image || !socket) return undefined;
  const options = { ...spec, isTakenOver: true };
  const attachment = createAttachment(socket, options, hearsOf(spec, report));
  const volumes = [...target.volumes, ...declaredVolumes(spec, target, image)];
  const created = Promise.resolve(made.move());
  // How the process received its secrets at launch, whatever the hub would choose now.
  const secrets = deliveryOf(spec, found.command);
  const container = {
    id,
    image,
    spec,
    secrets,
    target: { ...target, volumes },
    attachment,
    created,
    startedAt: Date.parse(startedAt),
  };
  return createInstance(container, report, parts);
}
