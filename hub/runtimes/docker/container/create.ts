import { type Log, HubError } from '#core';
import type { LaunchSpec } from '#runtimes';
import type { Engine } from '../engine/engine.ts';
import { EngineError, isRefusal } from '../engine/errors.ts';
import { type ContainerOwner, hubLabel, labelsOf, managedLabel } from './labels.ts';
import { type CreateBody, nameOf } from './options.ts';

type Needs = { readonly engine: Engine; readonly log: Log; readonly owner: ContainerOwner };

/** Timeout in ms for the removal of a stale container that the engine is already removing. */
const removalMs = 10_000;

/** Creates a container. Replaces a leftover of an earlier run of this hub. */
export async function createContainer(
  name: string,
  body: CreateBody,
  spec: LaunchSpec,
  needs: Needs,
): Promise<string> {
  const { engine } = needs;
  try {
    return await engine.createContainer(name, body);
  } catch (error) {
    if (!isRefusal(error, 409)) throw toLaunchError(error, spec);
  }
  await removeStale(name, spec, needs);
  try {
    return await engine.createContainer(name, body);
  } catch (error) {
    throw isRefusal(error, 409) ? taken(error.words, spec, error) : toLaunchError(error, spec);
  }
}

/** Advice for a name that is taken by an object of another hub or program. */
const remedy =
  'Give this hub a HUB_NAME of its own, rename the server, or remove what has the name';

/** Removes a container of this name that an earlier run of this hub left behind. */
async function removeStale(name: string, spec: LaunchSpec, { engine, log, owner }: Needs) {
  const other = await engine
    .findContainer(name)
    .catch(unlessForeign(`container name ${name}`, spec));
  if (other && other.labels[hubLabel] !== owner.hubId)
    throw taken(
      `the container name ${name} is taken by ${ownerOf(other.labels)} (image ${other.image}, id ` +
        `${other.id.slice(0, 12)}). ${remedy}`,
      spec,
    );
  if (other) {
    log.info({ container: name }, 'replacing a container that was left behind');
    await engine.removeContainer(other.id);
    await engine.waitForContainer(other.id, removalMs).catch(() => undefined); // Creating the new one reports the conflict.
  }
}

/** Creates the network of a server. Replaces a leftover of an earlier run of this hub. */
export async function createNetwork(spec: LaunchSpec, needs: Needs): Promise<string> {
  const { engine, owner } = needs;
  const name = nameOf(owner, spec);
  const labels = labelsOf(owner, spec);
  try {
    await engine.createNetwork(name, labels);
    return name;
  } catch (error) {
    if (!isRefusal(error, 409)) throw error;
  }
  const other = await engine.findNetwork(name).catch(unlessForeign(`network name ${name}`, spec));
  if (other && other.labels[hubLabel] !== owner.hubId)
    throw taken(`the network name ${name} is taken by ${ownerOf(other.labels)}. ${remedy}`, spec);
  // The engine refuses to remove a network with a container.
  await removeStale(name, spec, needs);
  if (other) await engine.removeNetwork(other.id);
  await engine.createNetwork(name, labels);
  return name;
}

/** Errors in the spec for which the engine answers 404 or 500 instead of 400. */
const mistakes = /OCI runtime|executable file|unable to find user|Cannot mkdir/i;

/** Converts a refusal because of the spec to an error for the operator. Returns other errors unchanged. */
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

/** The broker answers 403 for objects that this hub did not create. */
function unlessForeign(what: string, spec: LaunchSpec): (error: unknown) => never {
  return error => {
    if (!isRefusal(error, 403)) throw error;
    const message = `the ${what} is taken by something that this hub has not made. ${remedy}`;
    throw taken(message, spec, error);
  };
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
