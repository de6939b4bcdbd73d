import { HubError, isObject } from '#core';
import type { Engine } from './engine.ts';
import { refusal, unknownObject } from './refusal.ts';
import { type Owner, hubLabel, managedLabel, nameLabel } from './schema.ts';
import { show } from './target.ts';

/** Where the engine tells of each kind of object, what its labels stand in, and what it is known by. */
const places = {
  container: { path: (name: string) => `/containers/${name}/json`, id: 'Id' },
  network: { path: (name: string) => `/networks/${name}`, id: 'Id' },
  volume: { path: (name: string) => `/volumes/${name}`, id: 'Name' },
} as const;

/**
 * The engine's own id of a container, network or volume, if it carries this hub's label; else it does not
 * exist. The id, not the name, goes to the engine: a name could have changed hands since. A volume has none.
 */
export async function findOwned(
  engine: Engine,
  kind: keyof typeof places,
  name: string,
  hubId: string,
): Promise<string> {
  const { path, id: key } = places[kind];
  const { status, body } = await engine.ask(path(name));
  if (status === 200 && isObject(body)) {
    const config = kind === 'container' ? body['Config'] : body;
    const id = body[key];
    if (isObject(config) && isOurs(config['Labels'], hubId) && typeof id === 'string') return id;
  }
  throw unknownObject(kind, name);
}

/**
 * An image must have been built by a hub for a package, whichever hub that was: they share them. Throws
 * HUB_BROKER_UNKNOWN for any other.
 */
export async function checkBuilt(engine: Engine, reference: string): Promise<void> {
  const { status, body } = await engine.ask(`/images/${reference}/json`);
  const config = isObject(body) ? body['Config'] : undefined;
  const labels = isObject(config) ? config['Labels'] : undefined;
  if (status !== 200 || !isObject(labels) || labels[managedLabel] !== 'true')
    throw unknownObject('image', reference);
}

/**
 * A volume must have been made by this hub, or not be there yet: the engine then makes it, with our
 * labels. The hub that made it may have had another id, as one that was started in another way has; its name is
 * then on the volume. That the volume's own name begins with the hub's says nothing: that of
 * "agenthub-test" begins with "agenthub-" too. No hub gives a volume options of its driver, which can make it any folder.
 */
export async function checkVolume(
  engine: Pick<Engine, 'ask'>,
  name: string,
  { hubId, hubName }: Owner,
): Promise<void> {
  const { status, body } = await engine.ask(`/volumes/${name}`);
  if (status === 404) return;
  const found = status === 200 && isObject(body) ? body : {};
  const labels = isObject(found['Labels']) ? found['Labels'] : {};
  const isOurs = labels[hubLabel] === hubId || labels[nameLabel] === hubName;
  if (labels[managedLabel] !== 'true' || !isOurs) {
    const owner = labels[nameLabel] ?? labels[hubLabel];
    const whose =
      typeof owner === 'string' && labels[managedLabel] === 'true'
        ? `belongs to the hub ${show(owner)}`
        : 'was not made for a server';
    throw refusal(`the volume ${show(name)}: it exists and ${whose}. ${another(name)}`);
  }
  const options = found['Options'] ?? {};
  if (found['Driver'] !== 'local' || !isObject(options) || Object.keys(options).length > 0)
    throw refusal(
      `the volume ${show(name)}: it has options of its driver (${show(options)}), which no hub gives it. ${another(name)}`,
    );
}

/** The name and the size of each volume that carries this hub's label or was made by a hub of its name. */
export async function ownVolumes(
  engine: Pick<Engine, 'ask'>,
  { hubId, hubName }: Owner,
): Promise<readonly { readonly Name: unknown; readonly UsageData: unknown }[]> {
  const { status, body } = await engine.ask('/system/df?type=volume');
  if (status !== 200 || !isObject(body))
    throw new HubError(
      'HUB_ENGINE_REFUSED',
      `the engine did not tell the sizes of volumes to the broker (status ${status})`,
    );
  const volumes = Array.isArray(body['Volumes']) ? body['Volumes'].filter(isObject) : [];
  const isOwn = (labels: unknown) =>
    isObject(labels) &&
    labels[managedLabel] === 'true' &&
    (labels[hubLabel] === hubId || labels[nameLabel] === hubName);
  return volumes
    .filter(({ Labels }) => isOwn(Labels))
    .map(({ Name, UsageData }) => ({ Name, UsageData }));
}

const another = (name: string) =>
  `Name another in "volumes", or remove this one with all that it holds (docker volume rm ${name})`;

function isOurs(labels: unknown, hubId: string): boolean {
  return isObject(labels) && labels[hubLabel] === hubId;
}
