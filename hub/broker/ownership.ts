import { HubError, isObject } from '#core';
import type { EngineSocket } from './engine-socket.ts';
import { refusal, unknownObject } from './refusal.ts';
import { type HubIdentity, hubLabel, managedLabel, nameLabel } from './schema.ts';
import { show } from './target.ts';

/** For each kind of object: its inspect path, and the field with its id. */
const objectKinds = {
  container: { path: (name: string) => `/containers/${name}/json`, id: 'Id' },
  network: { path: (name: string) => `/networks/${name}`, id: 'Id' },
  volume: { path: (name: string) => `/volumes/${name}`, id: 'Name' },
} as const;

/**
 * Returns the engine's id of a container, network or volume with this hub's label. Rejects with
 * HUB_BROKER_UNKNOWN for any other object, as if it did not exist. Calls use the id, because a name may pass to
 * another object in the meantime. A volume has no id but its name.
 */
export async function findOwned(
  engine: EngineSocket,
  kind: keyof typeof objectKinds,
  name: string,
  hubId: string,
): Promise<string> {
  const { path, id: key } = objectKinds[kind];
  const { status, body } = await engine.getJson(path(name));
  if (status === 200 && isObject(body)) {
    const config = kind === 'container' ? body['Config'] : body;
    const id = body[key];
    if (isObject(config) && isOurs(config['Labels'], hubId) && typeof id === 'string') return id;
  }
  throw unknownObject(kind, name);
}

/** Rejects with HUB_BROKER_UNKNOWN unless a hub built this image. Any hub will do: hubs share images. */
export async function checkBuilt(engine: EngineSocket, reference: string): Promise<void> {
  const { status, body } = await engine.getJson(`/images/${reference}/json`);
  const config = isObject(body) ? body['Config'] : undefined;
  const labels = isObject(config) ? config['Labels'] : undefined;
  if (status !== 200 || !isObject(labels) || labels[managedLabel] !== 'true')
    throw unknownObject('image', reference);
}

/**
 * Rejects with HUB_BROKER_REFUSED unless this hub created the volume or it does not exist yet; the engine then
 * creates it with the hub's labels. The hub may have had another id when it created the volume, so the name on
 * the volume's label counts too. The volume's own name proves nothing: volumes of "agenthub-test" also begin
 * with "agenthub-". Volumes with driver options are refused: no hub sets them, and they can turn a volume into
 * any folder.
 */
export async function checkVolume(
  engine: Pick<EngineSocket, 'getJson'>,
  name: string,
  { hubId, hubName }: HubIdentity,
): Promise<void> {
  const { status, body } = await engine.getJson(`/volumes/${name}`);
  if (status === 404) return;
  const found = status === 200 && isObject(body) ? body : {};
  const labels = isObject(found['Labels']) ? found['Labels'] : {};
  const isOurs = labels[hubLabel] === hubId || labels[nameLabel] === hubName;
  if (labels[managedLabel] !== 'true' || !isOurs) {
    const owner = labels[nameLabel] ?? labels[hubLabel];
    const state =
      typeof owner === 'string' && labels[managedLabel] === 'true'
        ? `belongs to the hub ${show(owner)}`
        : 'was not made for a server';
    throw refusal(`the volume ${show(name)}: it exists and ${state}. ${volumeRemedy(name)}`);
  }
  const options = found['Options'] ?? {};
  if (found['Driver'] !== 'local' || !isObject(options) || Object.keys(options).length > 0)
    throw refusal(
      `the volume ${show(name)}: it has options of its driver (${show(options)}), which no hub gives it. ${volumeRemedy(name)}`,
    );
}

/** Name and size of each volume that carries this hub's id or name on its labels. */
export async function ownVolumes(
  engine: Pick<EngineSocket, 'getJson'>,
  { hubId, hubName }: HubIdentity,
): Promise<readonly { readonly Name: unknown; readonly UsageData: unknown }[]> {
  const { status, body } = await engine.getJson('/system/df?type=volume');
  if (status !== 200 || !isObject(body))
    throw new HubError(
      'HUB_ENGINE_REFUSED',
      `the engine did not report volume sizes to the broker (status ${status})`,
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

const volumeRemedy = (name: string) =>
  `Choose another name in "volumes", or remove this volume with its data (docker volume rm ${name})`;

function isOurs(labels: unknown, hubId: string): boolean {
  return isObject(labels) && labels[hubLabel] === hubId;
}
