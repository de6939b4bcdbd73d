import { type Log, HubError, messageOf } from '#core';
import type { DockerTarget, LaunchSpec } from '#runtimes';
import type { Engine } from './engine.ts';
import { EngineError, isRefusal } from './engine-error.ts';
import { hubLabel, labelsOf, managedLabel } from './labels.ts';
import { type CreateBody, type Owner, nameOf } from './options.ts';

type Needs = { readonly engine: Engine; readonly log: Log; readonly owner: Owner };

/** How long a stale container of ours may take to be gone, where the engine removes it already. */
const removalMs = 10_000;

/** Creates a container, in the place of one that an earlier run of this hub has left. */
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

/** Two hubs on one engine differ by their names; what else has the name is not the hub's to remove. */
const remedy =
  'Give this hub a HUB_NAME of its own, rename the server, or remove what has the name';

/** Removes the container of this name that an earlier run of this hub has left. */
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
    await engine.waitForContainer(other.id, removalMs).catch(() => undefined);
  }
}

/** Makes the network of a server that may have one, in the place of one that was left behind. */
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
  // The engine removes no network that a container is on.
  await removeStale(name, spec, needs);
  if (other) await engine.removeNetwork(other.id);
  await engine.createNetwork(name, labels);
  return name;
}

/** Mistakes in a spec that the engine answers with 404 or 500, as if they were its own. */
const mistakes = /OCI runtime|executable file|unable to find user|Cannot mkdir/i;

/** What the engine finds wrong with a spec, as the operator's error. Other failures stay as they are. */
export function toLaunchError(error: unknown, spec: LaunchSpec): unknown {
  if (!(error instanceof EngineError)) return error;
  const data = { server: spec.server };
  if (error.status === 404 && /no such image/i.test(error.words))
    return new HubError('HUB_IMAGE_MISSING', `${spec.server}: ${error.words}`, {
      cause: error,
      data,
    });
  const absent = /bind source path does not exist: (.+)$/.exec(error.words)?.[1];
  if (absent !== undefined)
    return new HubError(
      'HUB_LAUNCH_INVALID',
      `${spec.server} mounts ${absent}, which does not exist on the engine's machine. Create it, or correct "mounts"`,
      { cause: error, data },
    );
  if (error.status !== 400 && !mistakes.test(error.words)) return error;
  return new HubError(
    'HUB_LAUNCH_INVALID',
    `${spec.server} cannot be started as it is configured: ${error.words}`,
    { cause: error, data },
  );
}

/** The broker shows a hub nothing of what it has not made. */
function unlessForeign(what: string, spec: LaunchSpec): (error: unknown) => never {
  return error => {
    if (!isRefusal(error, 403)) throw error;
    throw taken(
      `the ${what} is taken by something that this hub has not made. ${remedy}`,
      spec,
      error,
    );
  };
}

const taken = (message: string, spec: LaunchSpec, cause?: unknown) =>
  new HubError('HUB_CONTAINER_NAME_TAKEN', message, { cause, data: { server: spec.server } });

/** Removes what is no longer wanted, and answers whether that could be done. Never rejects. */
export async function tidyUp(log: Log, what: string, work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    log.warn({ problem: messageOf(error) }, `could not remove ${what}; it is tried again`);
    return false;
  }
}

/** The target of a spec that this driver was given. */
export function targetOf(spec: LaunchSpec): DockerTarget {
  if (spec.target.kind === 'docker') return spec.target;
  throw new HubError('HUB_INTERNAL', `${spec.server} is no server for the Docker runtime`);
}

function ownerOf(labels: Readonly<Record<string, string>>): string {
  const hub = labels[hubLabel];
  if (hub !== undefined) return `another hub (${hubLabel}=${hub})`;
  const project = labels['com.docker.compose.project'];
  if (project !== undefined) return `the compose project "${project}"`;
  return labels[managedLabel] === undefined ? 'something that no hub made' : 'another hub';
}
