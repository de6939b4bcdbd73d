import { type Log, HubError } from '#core';
import type { LaunchSpec } from '#runtimes';
import type { Engine } from '../engine/engine.ts';
import { EngineError, isRefusal } from '../engine/errors.ts';
import { type ContainerOwner, hubLabel, labelsOf, managedLabel } from './labels.ts';
import { nameOf, networkNameOf } from './options.ts';

export type CreateNeeds = {
  readonly engine: Engine;
  readonly log: Log;
  readonly owner: ContainerOwner;
};

/** Timeout in ms for the removal of a stale container that the engine is already removing. */
const removalMs = 30_000;

/** Creates an object. If its name is taken, removes the leftover of an earlier run of this hub, and retries. */
async function createOver<T>(
  create: () => Promise<T>,
  removeStale: () => Promise<void>,
): Promise<T> {
  try {
    return await create();
  } catch (error) {
    if (!isRefusal(error, 409)) throw error;
  }
  await removeStale();
  return await create();
}

/** Creates a container and returns its id. Replaces a leftover of an earlier run of this hub. */
export async function createContainer(
  name: string,
  body: object,
  spec: LaunchSpec,
  needs: CreateNeeds,
): Promise<string> {
  try {
    return await createOver(
      () => needs.engine.createContainer(name, body),
      () => removeStale(name, spec, needs),
    );
  } catch (error) {
    throw isRefusal(error, 409) ? taken(error.words, spec, error) : toLaunchError(error, spec);
  }
}

/** Creates the network of a server and returns its name. Replaces a leftover of an earlier run of this hub. */
export async function createNetwork(
  spec: LaunchSpec,
  needs: CreateNeeds & { readonly removeNetwork: (id: string) => Promise<void> },
  isolated: Parameters<Engine['createNetwork']>[2],
): Promise<string> {
  const { engine, owner } = needs;
  const name = networkNameOf(owner, spec);
  await createOver(
    () => engine.createNetwork(name, labelsOf(owner, spec), isolated),
    async () => {
      const other = await findOwn('network', name, spec, needs);
      // The engine refuses to remove a network while a container is in it.
      await removeStale(nameOf(owner, spec), spec, needs);
      if (other) await needs.removeNetwork(other.id);
    },
  );
  return name;
}

/** Removes a container of this name that an earlier run of this hub left behind. */
async function removeStale(name: string, spec: LaunchSpec, needs: CreateNeeds): Promise<void> {
  const { engine, log } = needs;
  const other = await findOwn('container', name, spec, needs);
  if (!other) return;
  log.info({ container: name }, 'replacing a container that was left behind');
  await engine.removeContainer(other.id);
  // An earlier removal of the container may still be running, and the name is taken until it ends.
  await engine.waitForRemoval(other.id, removalMs).catch(() => undefined); // Creating the new container reports the conflict.
}

/** Finds an object by its name. Rejects with HUB_CONTAINER_NAME_TAKEN if this hub did not create it. */
async function findOwn(
  kind: 'container' | 'network',
  name: string,
  spec: LaunchSpec,
  { engine, owner }: CreateNeeds,
) {
  const remedy = name === nameOf(owner, spec) ? otherName : otherNetwork;
  const refuse = (by: string, cause?: unknown) =>
    taken(`the ${kind} name ${name} is taken by ${by}. ${remedy}`, spec, cause);
  const find = kind === 'container' ? engine.findContainer : engine.findNetwork;
  const other = await find(name).catch((error: unknown) => {
    // The broker answers 403 for objects that this hub did not create.
    if (!isRefusal(error, 403)) throw error;
    throw refuse('something that this hub has not made', error);
  });
  if (!other || other.labels[hubLabel] === owner.hubId) return other;
  const { id } = other;
  const detail = 'image' in other ? ` (image ${String(other.image)}, id ${id.slice(0, 12)})` : '';
  throw refuse(`${ownerOf(other.labels)}${detail}`);
}

/** Advice for a name that is taken by an object of another hub or program. */
const otherName =
  'Give this hub a HUB_NAME of its own, rename the server, or remove the other object';
/** Advice for a network name of an agent that is taken. */
const otherNetwork =
  'Give the networks of the agents of this hub a DOCKER_NETWORK of their own, or remove the other network';

/** Messages of the engine about mistakes in the spec for which it answers 404 or 500 instead of 400. */
const mistakes = /OCI runtime|executable file|unable to find user|Cannot mkdir/i;

/** Converts a refusal that is due to the launch spec to an error for the operator. Returns other errors unchanged. */
export function toLaunchError(error: unknown, { server }: LaunchSpec): unknown {
  if (!(error instanceof EngineError)) return error;
  const { status, words } = error;
  const options = { cause: error, data: { server } };
  if (status === 404 && /no such image/i.test(words))
    return new HubError('HUB_IMAGE_MISSING', `${server}: ${words}`, options);
  const invalid = (problem: string) =>
    new HubError('HUB_LAUNCH_INVALID', `${server} ${problem}`, options);
  const absent = /bind source path does not exist: (.+)$/.exec(words)?.[1];
  if (absent !== undefined)
    return invalid(
      `mounts ${absent}, which does not exist on the engine's machine. Create it, or correct "mounts"`,
    );
  const isOfSpec = status === 400 || mistakes.test(words);
  return isOfSpec ? invalid(`cannot be started as it is configured: ${words}`) : error;
}

const taken = (message: string, spec: LaunchSpec, cause?: unknown) =>
  new HubError('HUB_CONTAINER_NAME_TAKEN', message, { cause, data: { server: spec.server } });

function ownerOf(labels: Readonly<Record<string, string>>): string {
  const hub = labels[hubLabel];
  if (hub !== undefined) return `another hub (${hubLabel}=${hub})`;
  const project = labels['com.docker.compose.project'];
  if (project !== undefined) return `the compose project "${project}"`;
  return labels[managedLabel] === undefined ? 'something that no hub made' : 'another hub';
}
